//! What an evaluation may use: time, memory, and variables that data bring in.
//!
//! In: the deadline of a request ([`until`]), the beginning of a rule ([`spend`]), and what is done
//! meanwhile: steps ([`step`]), bytes of results ([`take`]), other bounds ([`refuse`]). Out: a
//! fault that ends the expression, and the reason why, which stays until the rule ends: whatever
//! absorbs the fault (a default value, an anchor, a precondition), the result of such a rule is
//! none. Comparisons, which cannot fail, are cut short; what they say counts for nothing either.
//! Outside of rules nothing is bounded, and nothing is cut short.
//!
//! Kyverno 1.19.1 has no such bounds for ClusterPolicies; there Go's memory and stack, or the
//! timeout of the webhook, end an evaluation.
//!
//! A step costs a counter. The clock is read once in `PERIOD` steps, and never without a deadline.

use std::cell::{Cell, RefCell};

use super::clock::{self, Instant};
use super::{Fault, Str};

/// Steps between two reads the clock.
const PERIOD: u32 = 1024;

/// Bytes that the results of all functions and texts of one rule may have together.
const RULE_BYTES: u64 = 256 << 20;

/// Why an evaluation ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The deadline has passed.
    Time,
    /// A bound on sizes was exceeded: the text for the rule's result.
    Size(Box<str>),
}

impl Excess {
    /// The fault of an evaluation that exceeds a bound.
    pub fn text(self) -> Str {
        match self {
            Excess::Time => Fault::INTERRUPTED.into(),
            Excess::Size(text) => text.into(),
        }
    }
}

thread_local! {
    /// Steps until the clock is read; 0 from the moment on when the rule that runs has exceeded
    /// something.
    static STEPS: Cell<u32> = const { Cell::new(u32::MAX) };
    /// Steps that the last rule left of its period.
    static LEFT: Cell<u32> = const { Cell::new(0) };
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Whether a rule was interrupted since the deadline was set.
    static INTERRUPTED: Cell<bool> = const { Cell::new(false) };
    /// Whether a rule runs.
    static RUNS: Cell<bool> = const { Cell::new(false) };
    /// Bytes that it may still make.
    static BYTES: Cell<u64> = const { Cell::new(u64::MAX) };
    /// What it has exceeded.
    static EXCESS: RefCell<Option<Excess>> = const { RefCell::new(None) };
}

/// One step of an evaluation: an item of a list, a call of a function.
///
/// # Errors
/// A bound is exceeded.
#[inline]
pub fn step() -> Result<(), Fault> {
    let left = STEPS.get();
    if left > 0 {
        STEPS.set(left - 1);
        return Ok(());
    }
    look()
}

/// As many steps at once, for work without steps of its own.
///
/// # Errors
/// As [`step`].
#[inline]
pub fn steps(count: usize) -> Result<(), Fault> {
    let left = STEPS.get();
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    if left > count {
        STEPS.set(left - count);
        return Ok(());
    }
    look()
}

/// Spends a step of a comparison that cannot fail; `false` ends it, and its result then counts for
/// nothing.
#[inline]
pub fn spend_step() -> bool {
    let left = STEPS.get();
    if left > 0 {
        STEPS.set(left - 1);
        return true;
    }
    look().is_ok()
}

/// Whether some item passes a test, a step for each.
pub fn any<T>(items: impl IntoIterator<Item = T>, mut test: impl FnMut(T) -> bool) -> bool {
    for item in items {
        if !spend_step() {
            return false;
        }
        if test(item) {
            return true;
        }
    }
    false
}

/// Reads the clock.
///
/// # Errors
/// As [`step`].
#[cold]
pub fn look() -> Result<(), Fault> {
    if !RUNS.get() {
        STEPS.set(u32::MAX);
        return Ok(());
    }
    if let Some(excess) = excess() {
        return Err(fault(&excess));
    }
    match DEADLINE.get() {
        None => STEPS.set(u32::MAX),
        Some(at) if clock::now() < at => STEPS.set(PERIOD),
        Some(_) => {
            INTERRUPTED.set(true);
            return Err(exceed(Excess::Time));
        }
    }
    Ok(())
}

/// Takes bytes of a result off what the rule may make.
///
/// # Errors
/// They are too many.
#[inline]
pub fn take(bytes: usize) -> Result<(), Fault> {
    match BYTES.get().checked_sub(bytes as u64) {
        Some(rest) => {
            BYTES.set(rest);
            Ok(())
        }
        None => short_of_bytes(),
    }
}

/// Bytes that the rule may still make.
pub fn left() -> u64 {
    BYTES.get()
}

#[cold]
fn short_of_bytes() -> Result<(), Fault> {
    if RUNS.get() {
        return Err(refuse(Fault::TOO_LARGE));
    }
    BYTES.set(u64::MAX);
    Ok(())
}

/// A bound was exceeded, which ends the rule that runs, if any.
#[cold]
pub fn refuse(text: &str) -> Fault {
    exceed(Excess::Size(text.into()))
}

#[cold]
fn exceed(excess: Excess) -> Fault {
    let fault = fault(&excess);
    if RUNS.get() {
        STEPS.set(0);
        EXCESS.with_borrow_mut(|known| {
            known.get_or_insert(excess);
        });
    }
    fault
}

fn fault(excess: &Excess) -> Fault {
    match excess {
        Excess::Time => Fault::Abort(Fault::INTERRUPTED.into()),
        Excess::Size(text) => Fault::Abort(text.clone()),
    }
}

/// What the rule that runs has exceeded.
fn excess() -> Option<Excess> {
    EXCESS.with_borrow(Clone::clone)
}

/// Whether a rule was interrupted since the deadline was set: it has no result.
pub fn is_interrupted() -> bool {
    INTERRUPTED.get()
}

/// Puts back the deadline that was there before when it goes, also when a panic unwinds.
struct Restore {
    deadline: Option<Instant>,
    interrupted: bool,
}

impl Drop for Restore {
    fn drop(&mut self) {
        DEADLINE.set(self.deadline);
        INTERRUPTED.set(self.interrupted);
        LEFT.set(0);
    }
}

/// Does something whose rules end at a deadline; `None` = whenever they are ready.
pub fn until<T>(deadline: Option<Instant>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore { deadline: DEADLINE.replace(deadline), interrupted: INTERRUPTED.replace(false) };
    LEFT.set(0);
    work()
}

/// Ends a rule when it goes.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        LEFT.set(STEPS.replace(u32::MAX));
        RUNS.set(false);
        BYTES.set(u64::MAX);
        EXCESS.with_borrow_mut(|known| *known = None);
    }
}

/// Runs a rule within its own budget, and returns what it exceeded. A rule inside of a rule shares
/// its budget.
pub fn spend<T>(rule: impl FnOnce() -> T) -> (T, Option<Excess>) {
    if RUNS.replace(true) {
        return (rule(), excess());
    }
    STEPS.set(LEFT.get());
    BYTES.set(RULE_BYTES);
    let ends = Ends;
    let result = rule();
    // As long as steps are left, nothing was exceeded.
    let excess = if STEPS.get() > 0 { None } else { excess() };
    drop(ends);
    (result, excess)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn passed() -> Option<Instant> {
        Some(clock::now())
    }

    #[test]
    fn a_deadline_that_has_passed_ends_the_rules_and_nothing_else() {
        until(passed(), || {
            assert!(step().is_ok() && !is_interrupted(), "no rule runs");
            let (result, excess) = spend(|| step().and(Ok(())).or_else(|_| step()));
            assert!(result.is_err(), "what is exceeded stays so");
            assert_eq!(excess, Some(Excess::Time));
            assert!(is_interrupted() && step().is_ok());
            assert_eq!(spend(step).1, Some(Excess::Time), "the next rule has no time either");
        });
        assert!(spend(step).0.is_ok() && !is_interrupted());
    }

    #[test]
    fn a_deadline_is_noticed_within_a_period() {
        until(Some(clock::now() + Duration::from_millis(20)), || {
            let (steps, excess) = spend(|| std::iter::from_fn(|| step().ok()).count());
            assert!(steps > 0);
            assert_eq!(excess, Some(Excess::Time));
        });
    }

    #[test]
    fn what_a_rule_exceeds_ends_that_rule_only() {
        let (fault, excess) = spend(|| take(usize::MAX).and_then(|()| step()));
        assert_eq!(excess, Some(Excess::Size(Fault::TOO_LARGE.into())));
        assert!(fault.is_err_and(|f| f.ends()));
        assert_eq!(spend(step), (Ok(()), None));
        let many = spend(|| (0..1 << 20).try_for_each(|_| take(1 << 10)));
        assert!(many.0.is_err() && many.1.is_some(), "small results count together");
        assert!((0..10).all(|_| take(usize::MAX / 2).is_ok()), "outside of rules nothing is counted");
    }

    #[test]
    fn a_rule_inside_of_a_rule_shares_its_budget() {
        let (inner, outer) = spend(|| spend(|| take(usize::MAX)).1);
        assert_eq!(inner, outer);
        assert!(outer.is_some());
    }
}
