//! Questions about two sides as a whole, each answered by one comparison.
//!
//! [`equivalent`]: do the same requests violate both, with the same consequences? [`implies`]: does
//! one deny everything that the other denies?

use crate::compare::compare_observed;
use crate::model::answer::{Answer, Comparison, Difference, DifferenceKind, Universe};
use crate::model::observer::Observer;
use crate::model::options::Options;
use crate::model::question::{EQUIVALENT, IMPLIES};
use crate::sides::side::Side;

/// Whether both sides have the same effects: violations and errors on the same requests, with the
/// same consequences.
pub fn equivalent<'s>(
    a: &'s Side,
    b: &'s Side,
    options: Options,
    observer: Option<&'s dyn Observer>,
) -> Comparison {
    compare_observed(a, b, Options { question: EQUIVALENT, ..options }, observer)
}

/// Whether no effect differs, proved or tested; also not of updates of objects that are violations
/// already.
pub fn is_equivalent(found: &Comparison) -> bool {
    let agrees = matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_) | Answer::Tested(_));
    agrees && found.existing.is_none()
}

/// Whether `b` denies every request that `a` denies; the differences are requests that it allows,
/// or only warns of.
pub fn implies<'s>(
    a: &'s Side,
    b: &'s Side,
    options: Options,
    observer: Option<&'s dyn Observer>,
) -> Comparison {
    let mut found = compare_observed(a, b, Options { question: IMPLIES, ..options }, observer);
    let counts = found.differences.len();
    let has_other_results = found.differences.iter().any(|d| d.kind == DifferenceKind::Result);
    found.differences.retain(Difference::is_weaker);
    found.existing = found.existing.filter(|side| *side == "new");
    if found.differences.len() < counts {
        // The search for a violation that is allowed ended early at what is no such thing.
        found.reasons.push(match has_other_results {
            true => "both sides change or generate objects in different ways".into(),
            false => "violations of both sides differ in their gravity".into(),
        });
    }
    let differs = found.differences.iter().any(|d| d.universe != Universe::Files);
    found.answer = match (found.answer, found.reasons.is_empty()) {
        (Answer::Incomparable(why), _) => Answer::Incomparable(why),
        _ if differs => Answer::Differs,
        (Answer::ProvedRelative(to), true) => Answer::ProvedRelative(to),
        (_, true) => Answer::Proved,
        (_, false) => Answer::Tested(found.reasons.clone()),
    };
    found
}
