//! Questions: predicates on what two sides say of one request.
//!
//! [`compare`](crate::compare()) answers each of them with the same procedure.
//! It searches for a request for which the predicate does not hold, or proves that there is none.
//! A question has two forms: one for the sides as a whole, and one for a unit and those that may
//! cover it; the second implies the first (`docs/internals/equivalence.md`, "Units").
//!
//! | question | holds when |
//! |---|---|
//! | [`EQUIVALENT`] | both sides give the same verdict, with the same consequence |
//! | [`EQUIVALENT_BUT_FOR_ERRORS`] | the same, where an error is a violation as any other |
//! | [`IMPLIES`] | the new side denies what the old one denies |

use std::fmt;

use crate::model::answer::DifferenceKind;
use crate::model::verdict::Judgement;

/// A question about two sides.
#[derive(Clone, Copy)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// Whether the new side, too, is compared with the old one.
    pub(crate) goes_both_ways: bool,
    /// Whether two violations differ in how grave they are.
    differ: fn(&Judgement, &Judgement) -> bool,
    /// Whether a violation is covered by what another unit says.
    covers: fn(&Judgement, &Judgement) -> bool,
}

/// Whether both sides say the same of every request.
pub const EQUIVALENT: Question = Question {
    name: "equivalent",
    goes_both_ways: true,
    differ: |old, new| old.verdict != new.verdict,
    covers: |own, other| other.verdict >= own.verdict,
};

/// Whether both sides deny the same requests; an error denies as any violation does.
pub const EQUIVALENT_BUT_FOR_ERRORS: Question = Question {
    name: "equivalent but for errors",
    goes_both_ways: true,
    differ: |_, _| false,
    covers: |_, other| other.verdict.is_violation(),
};

/// Whether the new side denies what the old one denies.
pub const IMPLIES: Question = Question { name: "implies", goes_both_ways: false, ..EQUIVALENT };

/// What is known of the sides as a whole.
#[derive(Clone, Copy)]
pub(crate) struct Consequences {
    /// Whether what follows from violations is known.
    pub are_known: bool,
    /// Whether both sides do nothing but generate objects: what generates nothing denies nothing.
    pub only_generate: bool,
}

impl Question {
    /// How the judgements of both sides of one request differ, but for the objects behind them.
    pub(crate) fn difference(
        &self,
        [old, new]: [&Judgement; 2],
        consequences: Consequences,
    ) -> Option<DifferenceKind> {
        let Consequences { are_known, only_generate } = consequences;
        let is_violation = |one: &Judgement| one.verdict.is_violation() && !only_generate;
        match (is_violation(old), is_violation(new)) {
            (true, false) => Some(DifferenceKind::Weaker),
            (false, true) => Some(DifferenceKind::Stricter),
            (true, true) if are_known && old.effect != new.effect => Some(DifferenceKind::Action),
            (true, true) if (self.differ)(old, new) => Some(DifferenceKind::Errors),
            _ => None,
        }
    }

    /// Whether a violation of a unit is covered by what another one says; `by_effect`: by what
    /// follows from it.
    pub(crate) fn covers(&self, own: &Judgement, other: &Judgement, by_effect: bool) -> bool {
        if by_effect { other.effect >= own.effect } else { (self.covers)(own, other) }
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
