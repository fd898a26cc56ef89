//! Rendering: results of resources as text, rows, reports and documents.
//!
//! In: outcomes in input order. Out: standard output, files and what the exit code depends on.
//!
//! - `about`: what a run was: when, of which commit, with which policies.
//! - `baseline`: known violations.
//! - `changes`: changed and new objects.
//! - `deletion_list`: what would be deleted, and when.
//! - `finish`: what follows all results.
//! - `generated_exceptions`: PolicyExceptions for failures.
//! - `namespaced`: entries of reports of namespaced policies.
//! - `results`: results of one resource.
//! - `sink`: what has been printed and counted so far.
//! - `texts`: texts one behind the other.

mod about;
pub(super) mod baseline;
pub(super) mod changes;
pub(super) mod deletion_list;
pub(super) mod finish;
pub(super) mod generated_exceptions;
pub(super) mod namespaced;
pub(super) mod results;
pub(super) mod sink;
pub(super) mod texts;
