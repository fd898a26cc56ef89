//! What rules test of the values that they read.
//!
//! - `by_field`: what is tested at each field
//! - `fallback_reads`: what a rule seems to read, where that is not known
//! - `summary`: the constants of a rule, and why they are not all

pub(crate) mod by_field;
pub(crate) mod fallback_reads;
pub(crate) mod summary;
