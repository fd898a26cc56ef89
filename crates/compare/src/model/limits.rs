//! The limits of a comparison, all in one file.
//!
//! Each says what happens beyond it. None decides whether an answer is true: beyond a limit an
//! answer is "tested" with the limit as its reason, never "proved".

/// Statements about items of lists, more of which are not distinguished.
pub(crate) const MOST_ITEMS: usize = 16;

/// Lists of so many items are tried where longer ones are too many.
pub(crate) const SOME_ITEMS: usize = 4;

/// More objects with what surrounds them are not looked at for one unit, unless these are more
/// alone.
pub(crate) const MOST_CASES: usize = 40_000;

/// Of more, values that others stand for are left out.
pub(crate) const MANY_CASES: usize = 3_000;

/// How many objects that show a difference are evaluated by both sides.
pub(crate) const MOST_WITNESSES: usize = 64;

/// Where nothing can be proved, one object of so many is evaluated, and fewer by the other factors
/// for the next kinds and operations, and for all others.
pub(crate) const SPARSE: [usize; 3] = [20, 4, 10];

/// For so many kinds and operations the second of these factors counts.
pub(crate) const NEXT: usize = 3;

/// So many objects are looked at where nothing can be proved, roughly.
pub(crate) const MOST_EXPLORED: usize = 120_000;

/// A unit has so many of them in any case.
pub(crate) const FEWEST: usize = 40;

/// More units share the objects that these have.
pub(crate) const FEW_UNITS: usize = 3;

/// Why a comparison that was cut short is no proof.
pub(crate) const TIME_LIMIT: &str = "the time limit was reached";

/// How many objects there are at most when they do not stand for all others.
pub(crate) const SOME: usize = 2_000;
