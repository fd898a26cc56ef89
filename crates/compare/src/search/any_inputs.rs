//! Comparisons in which external data may be anything.
//!
//! In: two sides. Out: their comparison, when they are equal for any answers of lookups, as long
//! as both get the same; or why they may not be. The data are fields that have any of the values
//! that rules distinguish (`inputs`, `inputs::unify`).

use std::collections::BTreeSet;

use crate::Options;
use crate::admitted::view::without_answers;
use crate::inputs::context_entries::with_inputs;
use crate::inputs::dependencies::external;
use crate::inputs::unify::with_answers;
use crate::model::answer::{Answer, Comparison, Difference, Universe};
use crate::search::procedure::of_sides;
use crate::sides::side::Side;
use ephor_value::clock;

/// How a reason begins that is about external data.
pub const DOUBT: &str = "they may differ for some data of ";

/// What is known where external data may be anything.
pub(crate) enum SymbolicResult {
    /// They are equal.
    Equal(Box<Comparison>),
    /// It is not known whether they are; with what was found of data on which they are not. A
    /// cluster may never have these.
    Other(Option<String>),
}

/// Whether sides are equal for any answers of lookups. Those objects on which they differ in files
/// only are of the comparison without it.
pub(crate) fn compare_for_any_inputs(sides: [&Side; 2], options: Options) -> SymbolicResult {
    let mut doubt = None;
    if let Some(([old, new], names)) = with_inputs(sides) {
        let found = of_sides(&old, &new, options, None);
        let is_proved = found.answer.is_proved();
        if is_proved && found.differences.is_empty() {
            let relative_to: BTreeSet<String> = found.relative_to.into_iter().chain(names).collect();
            let relative_to: Vec<String> = relative_to.into_iter().collect();
            let answer = Answer::ProvedRelative(relative_to.clone());
            return SymbolicResult::Equal(Box::new(Comparison { answer, relative_to, ..found }));
        }
        doubt = doubt_of(&found, &names);
    }
    let Some(([old, new], assumptions)) = with_answers(sides) else { return SymbolicResult::Other(doubt) };
    // What cannot be proved so is tested without.
    let now = clock::now();
    let deadline = options.deadline.map(|end| now + end.saturating_duration_since(now) / 2);
    let mut found = of_sides(&old, &new, Options { deadline, ..options }, None);
    let names: BTreeSet<String> =
        sides.into_iter().flat_map(Side::policies).flat_map(|policy| external(policy)).collect();
    let found_doubt = doubt_of(&found, &names);
    if found_doubt.is_some() || !found.reasons.is_empty() {
        return SymbolicResult::Other(found_doubt.or(doubt));
    }
    let relative_to: BTreeSet<String> =
        found.relative_to.into_iter().chain(names).chain(assumptions).collect();
    found.relative_to = relative_to.into_iter().collect();
    found.differences.iter_mut().for_each(|one| one.object = without_answers(&one.object));
    if found.answer.is_proved() {
        found.answer = Answer::ProvedRelative(found.relative_to.clone());
    }
    SymbolicResult::Equal(Box::new(found))
}

/// What differences in clusters say where external data may be anything.
fn doubt_of(found: &Comparison, names: &BTreeSet<String>) -> Option<String> {
    let is_apart =
        |one: &Difference| one.universe == Universe::Files || one.environment.operation == "DELETE";
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let why = || format!("{DOUBT}{}", names.join(", "));
    (!found.differences.iter().all(is_apart)).then(why)
}
