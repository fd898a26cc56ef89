//! `ephor`: a Kyverno-compatible policy engine.
#![forbid(unsafe_code)]

pub mod api;
pub mod document;
pub mod functions;
pub mod value;
