//! Room on the stack for recursion whose depth data or policies decide.
//!
//! Kyverno 1.19.1 runs on stacks that grow; threads here have stacks of a fixed size. What recurses
//! over a value, or from a variable to the variables that it reads, goes through [`deep`], which
//! takes another segment when little is left. A value is at most as deep as JSON texts may nest;
//! longer chains of variables than [`MAX_CHAIN`] are refused.

/// How long a chain of variables may be that read one another.
pub const MAX_CHAIN: usize = 20_000;

/// What must be left for work that has no room check of its own: the highest expression, a
/// comparison of leaves.
const MIN_STACK: usize = 512 << 10;

/// The size of another segment.
const SEGMENT: usize = 4 << 20;

/// Does something that may recurse into itself.
#[inline]
pub fn deep<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(MIN_STACK, SEGMENT, work)
}
