//! Comparisons of policies with all that output shows of them.
//!
//! - [`answered`]: each difference with the places that decided, and what was accepted.
//! - [`json`]: the same for programs.

pub mod answered;
pub mod json;
