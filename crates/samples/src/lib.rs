//! What tests and `ephor conformance` take their cases from.
//!
//! In: the environment, and bytes of property tests. Out: the folder of recorded suites ([`data`]),
//! and choices ([`Tape`]).
//!
//! - `tape`: choices taken from bytes, so that a property test can shrink what is built of them.
//! - [`value`]: generated values.
//! - [`data`]: where recorded suites lie.

#![forbid(unsafe_code)]

pub mod data;
mod tape;
pub mod value;

pub use tape::Tape;
