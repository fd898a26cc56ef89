//! What an evaluation may use: time, memory, and variables that data bring in.
//!
//! In: the deadline of a request ([`until`]), the beginning of a rule ([`spend`]), and what is done meanwhile: steps
//! ([`step`]), bytes of results ([`take`]), substitutions ([`refuse`]). Out: a fault that ends the expression, and
//! the reason why, which stays until the rule ends: whatever absorbs the fault (a default value, an anchor, a
//! precondition), the result of such a rule is none. Kyverno 1.19.1 has no such bounds for ClusterPolicies; Go's memory and
//! its stack, or the timeout of the webhook, end an evaluation there.
//!
//! A step costs a counter. The clock is read once in [`PERIOD`] steps, and never without a deadline.

use std::cell::{Cell, RefCell};
use std::time::Instant;

use super::Fault;

/// Steps between two looks at the clock.
const PERIOD: u32 = 1024;

/// Bytes that the results of all functions and texts of one rule may have together.
const RULE_BYTES: u64 = 256 << 20;

/// Why an evaluation must not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excess {
    /// The deadline has passed.
    Time,
    /// A bound on sizes was exceeded: the text for the rule's result.
    Size(Box<str>),
}

thread_local! {
    /// Steps until the clock is read; 0 from the moment on when something was exceeded.
    static STEPS: Cell<u32> = const { Cell::new(u32::MAX) };
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Bytes that the rule may still make.
    static BYTES: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Whether a rule runs, so that what is exceeded has to be remembered until it ends.
    static RUNS: Cell<bool> = const { Cell::new(false) };
    static EXCESS: RefCell<Option<Excess>> = const { RefCell::new(None) };
}

/// One step of an evaluation: an item of a list, a call of a function.
///
/// # Errors
/// The evaluation must not go on.
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

/// Whether a comparison may go on that cannot fail; its result counts for nothing when it may not.
#[inline]
pub fn goes_on() -> bool {
    step().is_ok()
}

/// Reads the clock.
///
/// # Errors
/// As [`step`].
#[cold]
pub fn look() -> Result<(), Fault> {
    if let Some(excess) = EXCESS.with_borrow(Clone::clone) {
        STEPS.set(0);
        return Err(fault(&excess));
    }
    match DEADLINE.get() {
        None => STEPS.set(u32::MAX),
        Some(at) if Instant::now() < at => STEPS.set(PERIOD),
        Some(_) => return Err(exceed(Excess::Time)),
    }
    Ok(())
}

/// Takes bytes of a result off what the rule may make.
///
/// # Errors
/// They are too many.
#[inline]
pub fn take(bytes: usize) -> Result<(), Fault> {
    let left = BYTES.get();
    match left.checked_sub(bytes as u64) {
        Some(rest) => {
            // Outside of a rule nothing is counted.
            if left != u64::MAX {
                BYTES.set(rest);
            }
            Ok(())
        }
        None => Err(exceed(Excess::Size(Fault::TOO_LARGE.into()))),
    }
}

/// Ends the rule that runs: a bound was exceeded.
#[cold]
pub fn refuse(text: &str) -> Fault {
    exceed(Excess::Size(text.into()))
}

#[cold]
fn exceed(excess: Excess) -> Fault {
    let fault = fault(&excess);
    if RUNS.get() || excess == Excess::Time {
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

/// What was exceeded since the rule began.
pub fn excess() -> Option<Excess> {
    // As long as steps are left, nothing was.
    if STEPS.get() > 0 { None } else { EXCESS.with_borrow(Clone::clone) }
}

/// Whether the deadline has passed and something noticed: what was being evaluated has no result.
pub fn is_interrupted() -> bool {
    excess() == Some(Excess::Time)
}

/// Puts back what was there before when it goes, also when a panic unwinds.
struct Restore {
    deadline: Option<Instant>,
    excess: Option<Excess>,
}

impl Drop for Restore {
    fn drop(&mut self) {
        DEADLINE.set(self.deadline);
        let excess = self.excess.take();
        STEPS.set(0);
        EXCESS.with_borrow_mut(|known| *known = excess);
    }
}

/// Does something that ends at a deadline; `None` = whenever it is ready.
pub fn until<T>(deadline: Option<Instant>, work: impl FnOnce() -> T) -> T {
    let excess = EXCESS.with_borrow_mut(Option::take);
    let _restore = Restore { deadline: DEADLINE.replace(deadline), excess };
    STEPS.set(0);
    work()
}

/// Ends a rule when it goes.
struct Ends;

impl Drop for Ends {
    fn drop(&mut self) {
        RUNS.set(false);
        BYTES.set(u64::MAX);
        // Time that is up stays up.
        EXCESS.with_borrow_mut(|known| known.take_if(|e| *e != Excess::Time));
    }
}

/// Runs a rule within its own budget, and tells what it exceeded. A rule inside of a rule shares its budget.
pub fn spend<T>(rule: impl FnOnce() -> T) -> (T, Option<Excess>) {
    if RUNS.replace(true) {
        return (rule(), excess());
    }
    BYTES.set(RULE_BYTES);
    let ends = Ends;
    let result = rule();
    let excess = excess();
    drop(ends);
    (result, excess)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn passed() -> Option<Instant> {
        Some(Instant::now())
    }

    #[test]
    fn a_deadline_that_has_passed_ends_the_work_and_nothing_behind_it() {
        until(passed(), || {
            assert!(step().is_err() && step().is_err());
            assert!(is_interrupted());
        });
        assert!(step().is_ok() && !is_interrupted());
    }

    #[test]
    fn a_deadline_is_noticed_within_a_period() {
        until(Some(Instant::now() + Duration::from_millis(20)), || {
            assert!(step().is_ok());
            let mut steps = 0u64;
            while step().is_ok() {
                steps += 1;
            }
            assert!(is_interrupted() && steps > 0);
        });
    }

    #[test]
    fn what_a_rule_exceeds_ends_that_rule_only() {
        let (fault, excess) = spend(|| take(usize::MAX).and_then(|()| step()));
        assert_eq!(excess, Some(Excess::Size(Fault::TOO_LARGE.into())));
        assert!(fault.is_err_and(|f| f.ends() && f.is_final()));
        assert_eq!(spend(step), (Ok(()), None));
        let many = spend(|| (0..1 << 20).try_for_each(|_| take(1 << 10)));
        assert!(many.0.is_err() && many.1.is_some(), "small results count together");
        assert!(take(1 << 40).is_ok(), "outside of rules nothing is counted");
    }

    #[test]
    fn a_rule_that_is_interrupted_is_so_for_those_who_asked_for_it() {
        until(passed(), || {
            let (result, excess) = spend(step);
            assert!(result.is_err());
            assert_eq!(excess, Some(Excess::Time));
            assert!(is_interrupted());
        });
    }
}
