//! Tests of policies: expected results for objects, declared in files.
//!
//! In: folders with test files. Out: for each test its rows, one an object that an expected result
//! reads. [`find`] looks for files, [`mod@file`] reads them, [`run`] evaluates a test, [`rows`]
//! compares; [`mod@format`] turns rows into text. Semantics: `docs/reference/test.md`.
//!
//! - [`coverage`]: coverage: which rules, conditions and leaves of patterns tests reach.
//! - [`error`]: why a test ends without results.
//! - [`mod@file`]: test files: documents with the expected results of policies.
//! - [`mod@format`]: rows as text: table, JSON, YAML, Markdown, JUnit.
//! - [`load`]: loading what a test names.
//! - [`mocks`]: mocked API calls and global context entries of a test file.
//! - `objects`: comparing objects with files that hold the expected ones.
//! - [`repair`]: repairing tests and the files that they name: deprecated fields are moved,
//!   duplicates are removed, entries are sorted.
//! - `responses`: the response of each policy of a test to each object.
//! - `schema`: what a test file may hold.
//! - [`selector`]: `--test-case-selector`: which expected results of a test are checked.
//! - `world`: the external data of a test: objects of a cluster, answers to calls, global context
//!   entries.
//! - [`find`]: finding test files.
//! - [`rows`]: expected results against actual ones: one row for each object that is compared.
//! - [`run`]: running a test.

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
pub(crate) mod schema;
pub mod selector;
mod world;
