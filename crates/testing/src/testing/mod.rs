//! Tests of policies: expected results for objects, declared in files.
//!
//! In: folders with test files. Out: for each test its rows, one an object that an expected result
//! looks at. [`find`] looks for files, [`mod@file`] reads them, [`run`] evaluates a test, [`rows`]
//! compares; [`mod@format`] turns rows into text. Semantics: `docs/reference/test.md`.

pub mod coverage;
pub mod error;
pub mod file;
pub mod find;
pub mod format;
pub mod load;
pub mod mocks;
mod objects;
pub mod repair;
mod responses;
pub mod rows;
pub mod run;
mod schema;
pub mod selector;
mod world;
