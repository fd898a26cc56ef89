//! The entry: two sides, compared.
//!
//! In: two [`Side`]s. Out: a [`Comparison`]. Sides that say the same whatever lookups answer are
//! the same; else lookups that both sides share become fields of the object, and `search::sides`
//! compares.

use crate::model::answer::{Answer, Comparison};
use crate::model::observer::Observer;
use crate::model::options::Options;
use crate::releases::{Servers, are_one, no_proof, on_two, served_by};
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
    let (served, parts) = match Servers::of([old, new]) {
        Servers::Two(_, changes) if !changes.is_empty() => {
            return on_two(old, new, (options, observer), &changes);
        }
        Servers::Two([_, release], _) => {
            let sides = [served_by(old, release), served_by(new, release)];
            (Some(sides), Vec::new())
        }
        Servers::Same(parts) => (None, parts),
        Servers::None => (None, Vec::new()),
    };
    if let Some([old, new]) = &served {
        let found = compare_observed_as_is(old, new, options, observer);
        // Also where nothing is known of the kinds of objects.
        let is_open = matches!(found.answer, Answer::Tested(_)) && found.differences.is_empty();
        return match is_open && are_one([old, new]) {
            true => Comparison { answer: Answer::Proved, reasons: Vec::new(), ..found },
            false => found,
        };
    }
    no_proof(compare_observed_as_is(old, new, options, observer), &parts)
}

/// The same for sides that are evaluated as they are.
fn compare_observed_as_is<'s>(
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
