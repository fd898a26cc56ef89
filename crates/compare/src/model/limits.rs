//! The limits of a comparison that several stages share.
//!
//! Each says what happens beyond it. None decides whether an answer is true: beyond a limit an
//! answer is "tested" with the limit as its reason, never "proved". A smaller number costs proofs
//! or differences that are not found, a larger one time. The answers on the working set
//! (`conformance/reference/`) are the measure: a change of a number shows there.

/// Statements about items of lists, more of which are not distinguished.
pub(crate) const MAX_ITEM_STATEMENTS: usize = 16;

/// How many items lists have together where longer ones are too many to be tried.
pub(crate) const MAX_ITEMS_SAMPLED: usize = 4;

/// More cases are not evaluated for one unit, unless the objects alone are more.
pub(crate) const MAX_CASES: usize = 40_000;

/// Of more cases, values that others stand for are left out. Finding these takes longer than it
/// saves where there are fewer.
pub(crate) const MAX_CASES_UNREDUCED: usize = 3_000;

/// How many objects that show a difference are evaluated by both sides.
pub(crate) const MAX_WITNESSES: usize = 64;

/// Why a comparison that was cut short is no proof.
pub(crate) const TIME_LIMIT: &str = "the time limit was reached";

/// How many objects are evaluated where nothing can be proved. Too few miss differences, too many
/// take the time of other units; no proof depends on them.
pub(crate) struct Sampling {
    /// Of the objects that a comparison may evaluate for a unit, one of this many is evaluated.
    one_of: usize,
    /// Fewer by this factor in the next kinds and operations, after the first ...
    next: usize,
    /// ... which are this many ...
    next_environments: usize,
    /// ... and by this factor in all others.
    rest: usize,
    /// This many objects are evaluated in all, roughly.
    explored: usize,
    /// A unit has this many objects in any case.
    pub min: usize,
    /// How many objects are built for a unit at most.
    pub max: usize,
    /// More units share the objects that this many have.
    units: usize,
}

/// How much is sampled.
pub(crate) const SAMPLING: Sampling = Sampling {
    one_of: 20,
    next: 4,
    next_environments: 3,
    rest: 10,
    explored: 120_000,
    min: 40,
    max: 2_000,
    units: 3,
};

impl Sampling {
    /// How many objects are evaluated for a unit, in the environment of this number, when this many
    /// shares were taken of what a unit may have, and this many objects were evaluated before.
    pub fn objects(&self, for_one: usize, environment: usize, share: usize, before: usize) -> usize {
        let further = match environment {
            0 | 1 => 1,
            at if at <= self.next_environments => self.next,
            _ => self.rest,
        };
        let few = (for_one / self.one_of / further / share).max(1);
        // The more was evaluated, the less is evaluated of the rest.
        few.min(self.explored.saturating_sub(before) / self.next).max(self.min.min(few))
    }

    /// Among how many the objects are shared that one unit may have.
    pub fn share(&self, units: usize) -> usize {
        (units / self.units).max(1)
    }
}
