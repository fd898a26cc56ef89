//! Calls, and the one loop that evaluates them.
//!
//! In: a plan, which is the calls of a policy in order, and a [`Subject`] that they are evaluated
//! on. Out: their [`Results`]. Every policy is evaluated here: a rule of Kyverno is one call, a
//! native policy one for each of its bindings and parameters, a cleanup policy one for each object.
//! The loop does what all calls share: does the rule match, the budget and what happens when it is
//! exceeded, the results, what a call leaves to the next, and the end of the policy.
//! What is read and what is done to it is the subject's: `run` for requests, `admission::validate`
//! and `admission::mutate` for requests as an API server has them, `cleanup` for stored objects.

use ephor_value::budget::{self, Excess};

use super::outcome::RuleOutcome;
use super::results::{Results, RuleEffect, RuleRun};

/// What comes before the body of a call.
pub(super) enum CallMatch {
    /// The rule matches.
    Match,
    /// It does not: there is no result.
    Miss,
    /// It cannot be evaluated, and this is its result.
    Broken(RuleOutcome),
    /// The policy cannot be evaluated, and this is its last result.
    Settled {
        /// The result.
        result: RuleOutcome,
        /// Whether it takes the place of those before it.
        is_all: bool,
    },
}

/// What calls are evaluated on.
pub(super) trait Subject {
    /// A call: one evaluation of a rule.
    type Call;

    /// Whether a call is evaluated: whether its rule matches.
    fn enter(&mut self, call: &Self::Call) -> CallMatch;

    /// Evaluates conditions and body of a call whose rule matches.
    fn evaluate(&mut self, call: &Self::Call) -> RuleRun;

    /// What counts of a call that has exceeded a bound; `None` = nothing of the whole policy but
    /// the results so far.
    fn exceeded(&mut self, call: &Self::Call, run: RuleRun, excess: Excess) -> Option<RuleRun>;

    /// Takes over what a call leaves to the next, and to the end of the policy.
    fn leave(&mut self, _: &Self::Call, _: RuleEffect, _: &mut Results) {}

    /// Whether the results so far end the policy.
    fn is_over(&self, _: &[RuleOutcome]) -> bool {
        false
    }

    /// Does what is left to do when all calls are through.
    fn finish(&mut self, _: &mut Results) {}
}

/// The one loop: each call of a plan, in order.
pub(super) fn calls<S: Subject>(plan: impl IntoIterator<Item = S::Call>, subject: &mut S) -> Results {
    let mut out = Results::default();
    for call in plan {
        match subject.enter(&call) {
            CallMatch::Match => {}
            CallMatch::Miss => continue,
            CallMatch::Broken(result) => {
                out.rules.push(result);
                continue;
            }
            CallMatch::Settled { result, is_all } => {
                if is_all {
                    out.rules.clear();
                }
                out.rules.push(result);
                return out;
            }
        }
        let (run, excess) = budget::spend(|| subject.evaluate(&call));
        let run = match excess {
            None => Some(run),
            Some(excess) => subject.exceeded(&call, run, excess),
        };
        let Some(RuleRun { results, effect }) = run else {
            // What was changed so far has no effect without the rest.
            return Results { object: None, ..out };
        };
        subject.leave(&call, effect, &mut out);
        // Most policies give one result.
        match out.rules.is_empty() {
            true => out.rules = results,
            false => out.rules.extend(results),
        }
        if subject.is_over(&out.rules) {
            break;
        }
    }
    subject.finish(&mut out);
    out
}
