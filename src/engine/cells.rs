//! Cells of expressions that are evaluated once.
//!
//! In: an expression that gives the same each time, and the environment. Out: what it gives, with everything else that
//! evaluating it does: the charges on the meter, and the memory that it takes of the rule's. Where either would exceed its limit,
//! the expression is evaluated again and ends where it would have ended. Semantics: `docs/ir.md`, "Evaluated once".

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::ir::optimise::hoist::MOST_CELLS;
use crate::value::{Fault, Value, budget};

use super::eval::{Env, Evaluated};

/// The cells of an expression; they take memory when the first one is read.
pub(super) struct Cells {
    count: usize,
    cells: OnceCell<Box<[Kept<Value>]>>,
}

/// What is known of an expression that was evaluated.
pub(super) struct Kept<T>(OnceCell<Known<T>>);

struct Known<T> {
    result: Result<T, Fault>,
    charged: u64,
    bytes: u64,
}

/// What was used at some point of an evaluation.
pub(super) struct Used {
    /// What was charged on the meter.
    pub charged: u64,
    /// What is left of the memory.
    pub bytes: u64,
    /// How many composed variables were computed.
    pub computed: usize,
}

impl Cells {
    pub(super) fn new(count: u32) -> Cells {
        // A file may ask for any number; what has no cell is evaluated each time.
        Cells { count: count.min(MOST_CELLS) as usize, cells: OnceCell::new() }
    }

    pub(super) fn get(&self, at: u32) -> Option<&Kept<Value>> {
        self.cells.get_or_init(|| (0..self.count).map(|_| Kept::default()).collect()).get(at as usize)
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(OnceCell::new())
    }
}

impl Kept<Value> {
    /// What the expression gives, at its cost.
    pub(super) fn read<'a>(
        &'a self,
        env: &Env<'_, 'a>,
        evaluate: impl FnOnce() -> Evaluated<'a>,
    ) -> Evaluated<'a> {
        match self.known(env)? {
            Some(known) => known.as_ref().map(Cow::Borrowed).map_err(Clone::clone),
            None => self.first(env, evaluate, |v| (**v).clone()),
        }
    }
}

impl<T: Clone> Kept<T> {
    /// The same for a result that is no larger than a reference to it.
    pub(super) fn copied(
        &self,
        env: &Env<'_, '_>,
        evaluate: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match self.known(env)? {
            Some(known) => known.clone(),
            None => self.first(env, evaluate, T::clone),
        }
    }
}

impl<T> Kept<T> {
    /// What is kept, paid for; `None` = the expression is to be evaluated.
    fn known(&self, env: &Env<'_, '_>) -> Result<Option<&Result<T, Fault>>, Fault> {
        let Some(known) = self.0.get() else { return Ok(None) };
        if !env.affords(known.charged) || budget::left() < known.bytes {
            return Ok(None);
        }
        env.charge(known.charged)?;
        budget::take(usize::try_from(known.bytes).unwrap_or(usize::MAX))?;
        Ok(Some(&known.result))
    }

    /// Evaluates the expression, and keeps what it gives.
    fn first<R>(
        &self,
        env: &Env<'_, '_>,
        evaluate: impl FnOnce() -> Result<R, Fault>,
        kept: impl FnOnce(&R) -> T,
    ) -> Result<R, Fault> {
        let before = env.used();
        let result = evaluate();
        self.keep(&result, kept, &before, &env.used());
        result
    }

    /// Keeps a result. That of the evaluation that computes a composed variable is none to keep, for it used what later
    /// ones do not; neither is a fault that ends the evaluation.
    fn keep<R>(&self, result: &Result<R, Fault>, kept: impl FnOnce(&R) -> T, before: &Used, after: &Used) {
        let result = match result {
            Ok(v) => Ok(kept(v)),
            Err(fault) if fault.ends() => return,
            Err(fault) => Err(fault.clone()),
        };
        let used = after.charged.checked_sub(before.charged).zip(before.bytes.checked_sub(after.bytes));
        if let Some((charged, bytes)) = used.filter(|_| before.computed == after.computed) {
            // Whoever evaluated it meanwhile found the same.
            let _ = self.0.set(Known { result, charged, bytes });
        }
    }
}
