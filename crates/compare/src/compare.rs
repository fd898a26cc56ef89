//! The entry: two sides, compared.
//!
//! In: two [`Side`]s. Out: a [`Comparison`]. Sides that say the same whatever lookups answer are
//! the same; else lookups that both sides share become fields of the object, and `search::sides`
//! compares.

use crate::model::answer::{Answer, Comparison};
use crate::model::observer::Observer;
use crate::model::options::Options;
use crate::releases::{Servers, are_one, no_proof, served_by};
use crate::search::any_inputs::{SymbolicResult, compare_for_any_inputs};
use crate::search::procedure::of_sides;
use crate::sides::side::Side;

/// Compares two sides.
pub fn compare(old: &Side, new: &Side, options: Options) -> Comparison {
    compare_observed(old, new, options, None)
}

/// The same, with an observer of the objects that are evaluated.
pub fn compare_observed<'s>(
    old: &'s Side,
    new: &'s Side,
    options: Options,
    observer: Option<&'s dyn Observer>,
) -> Comparison {
    match Servers::of([old, new]) {
        Servers::None => compare_as_is(old, new, options, observer),
        Servers::Same(parts) => no_proof(compare_as_is(old, new, options, observer), &parts),
        Servers::Two(release, changes) if changes.is_empty() => {
            let [old, new] = [old, new].map(|side| served_by(side, release));
            let found = compare_as_is(&old, &new, options, observer);
            // Also where nothing is known of the kinds of objects.
            let is_open = matches!(found.answer, Answer::Tested(_)) && found.differences.is_empty();
            match is_open && are_one([&old, &new]) {
                true => Comparison { answer: Answer::Proved, reasons: Vec::new(), ..found },
                false => found,
            }
        }
        Servers::Two(_, changes) => no_proof(of_sides(old, new, options, observer), &changes),
    }
}

/// The same for sides that are evaluated as they are.
fn compare_as_is<'s>(
    old: &'s Side,
    new: &'s Side,
    options: Options,
    observer: Option<&'s dyn Observer>,
) -> Comparison {
    // What holds relative to external data is no proof of the kind that counts.
    if options.proof_only {
        return of_sides(old, new, options, observer);
    }
    let doubt = match compare_for_any_inputs([old, new], options) {
        SymbolicResult::Equal(found) => {
            observer.into_iter().for_each(Observer::skipped);
            return *found;
        }
        SymbolicResult::Other(doubt) => doubt,
    };
    let mut found = of_sides(old, new, options, observer);
    if let Some(doubt) = doubt {
        if let Answer::Tested(reasons) = &mut found.answer {
            reasons.push(doubt.clone());
        }
        found.reasons.push(doubt);
    }
    found
}
