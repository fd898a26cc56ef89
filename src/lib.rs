//! `ephor`: a Kyverno-compatible policy engine.
#![forbid(unsafe_code)]

pub mod api;
pub mod conformance;
pub mod document;
pub mod engine;
pub mod functions;
pub mod ir;
pub mod jmespath;
pub mod lower;
pub mod matching;
pub mod pattern;
pub mod sources;
pub mod value;
