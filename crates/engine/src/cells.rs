//! Cells of expressions that are evaluated once.
//!
//! In: an expression that gives the same each time, and the environment. Out: what it gives, with
//! everything else that evaluating it does: the cost on the meter, and the memory that it takes of
//! the rule's. Where either would exceed its limit, the expression is evaluated again and ends
//! where it would have ended. Semantics: `docs/internals/ir.md`, "Evaluated once".

use std::borrow::Cow;
use std::cell::OnceCell;

use ephor_ir::optimise::hoist::MAX_CELLS;
use ephor_value::{Fault, Value, budget};

use super::eval::{Env, Evaluated};

/// The cells of an expression; they take memory when the first one is read.
pub(super) struct Cells {
    count: usize,
    cells: OnceCell<Box<[Cached<Value>]>>,
}

/// The cached result of an expression.
pub(super) struct Cached<T>(OnceCell<CachedResult<T>>);

/// A result with what evaluating it used.
#[derive(Clone, Debug)]
pub(super) struct CachedResult<T> {
    pub result: Result<T, Fault>,
    cost: u64,
    bytes: u64,
}

impl<T> CachedResult<T> {
    /// A result to cache. That of the evaluation that computes a composed variable is none, for it
    /// used what later ones do not.
    pub(super) fn of(result: Result<T, Fault>, before: &Used, after: &Used) -> Option<CachedResult<T>> {
        let cost = after.cost.checked_sub(before.cost)?;
        let bytes = before.bytes.checked_sub(after.bytes)?;
        (before.computed == after.computed).then_some(CachedResult { result, cost, bytes })
    }

    /// Uses what evaluating it again would use; false = that is more than is left, and it is to be
    /// evaluated.
    ///
    /// # Errors
    /// The evaluation must end.
    pub(super) fn pay(&self, env: &Env<'_, '_>) -> Result<bool, Fault> {
        if !env.affords(self.cost) || budget::left() < self.bytes {
            return Ok(false);
        }
        env.charge(self.cost)?;
        budget::take(usize::try_from(self.bytes).unwrap_or(usize::MAX))?;
        Ok(true)
    }
}

/// What was used at some point of an evaluation.
pub(super) struct Used {
    /// The cost on the meter.
    pub cost: u64,
    /// What is left of the memory.
    pub bytes: u64,
    /// How many composed variables were computed.
    pub computed: usize,
}

impl Cells {
    pub(super) fn new(count: u32) -> Cells {
        // A file may declare any number; what has no cell is evaluated each time.
        Cells { count: count.min(MAX_CELLS) as usize, cells: OnceCell::new() }
    }

    pub(super) fn get(&self, at: u32) -> Option<&Cached<Value>> {
        self.cells.get_or_init(|| (0..self.count).map(|_| Cached::default()).collect()).get(at as usize)
    }
}

impl<T> Default for Cached<T> {
    fn default() -> Cached<T> {
        Cached(OnceCell::new())
    }
}

impl Cached<Value> {
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

impl<T: Clone> Cached<T> {
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

impl<T> Cached<T> {
    /// The cached result, with its cost added; `None` = the expression is to be evaluated.
    fn known(&self, env: &Env<'_, '_>) -> Result<Option<&Result<T, Fault>>, Fault> {
        let Some(known) = self.0.get() else { return Ok(None) };
        Ok(known.pay(env)?.then_some(&known.result))
    }

    /// Evaluates the expression, and caches its result.
    fn first<R>(
        &self,
        env: &Env<'_, '_>,
        evaluate: impl FnOnce() -> Result<R, Fault>,
        copy: impl FnOnce(&R) -> T,
    ) -> Result<R, Fault> {
        let before = env.used();
        let result = evaluate();
        if result.as_ref().is_err_and(Fault::ends) {
            return result;
        }
        if let Some(known) =
            CachedResult::of(result.as_ref().map(copy).map_err(Clone::clone), &before, &env.used())
        {
            // An evaluation inside of this one found the same.
            let _ = self.0.set(known);
        }
        result
    }
}
