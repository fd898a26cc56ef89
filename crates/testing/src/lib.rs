//! Inputs of commands, and test files.
//!
//! - [`inputs`]: the inputs of a run: values of variables, the user, exceptions, resources.
//! - `json_schema`: JSON schemas of the files of the command line.
//! - `testing`: tests of policies: expected results for objects, declared in files.
#![forbid(unsafe_code)]

pub mod inputs;
#[cfg(feature = "test-files")]
pub mod json_schema;
#[cfg(feature = "test-files")]
pub mod testing;
