//! How much a comparison may do, and of what.

use crate::model::question::{EQUIVALENT, Question};
use ephor_value::clock::Instant;

/// How much a comparison may do.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many objects are evaluated at most for one unit.
    pub objects: usize,
    /// How many evaluations there are at most in all.
    pub evaluations: usize,
    /// When the comparison ends at the latest, with the best answer so far.
    pub deadline: Option<Instant>,
    /// The question about the sides.
    pub question: Question,
    /// The kinds of objects that are compared.
    pub kinds: KindFilter,
    /// Whether a rule that the other side has, too, is covered without a read objects.
    pub same_rules: bool,
    /// Whether only a proof matters that is relative to nothing: the comparison ends at the first
    /// thing that prevents one, and differences are as they were met.
    pub proof_only: bool,
}

/// Which kinds of objects are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindFilter {
    /// All that a side selects.
    All,
    /// This one alone.
    Only(&'static str),
    /// All but this one.
    Without(&'static str),
}

impl KindFilter {
    pub(crate) fn has(self, kind: &str) -> bool {
        match self {
            KindFilter::All => true,
            KindFilter::Only(one) => one == kind,
            KindFilter::Without(one) => one != kind,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            objects: 20_000,
            evaluations: 600_000,
            deadline: None,
            question: EQUIVALENT,
            kinds: KindFilter::All,
            same_rules: true,
            proof_only: false,
        }
    }
}
