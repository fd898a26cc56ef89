//! `ephor`: a Kyverno-compatible policy engine.
#![forbid(unsafe_code)]

pub mod document;
pub mod functions;
pub mod report;
pub mod sources;
pub mod value;
