//! What users read: objects and results as text.
//!
//! - [`diagnostic`]: errors with the place in the user's file;
//! - [`run`]: a run of policies on resources, and [`formats`]: the run as text, SARIF, JUnit and
//!   others;
//! - [`replayed`]: what policies would have answered to the requests of a log, counted.
//! - [`replayed_formats`]: the same as text, JSON and a page.
//! - [`roots`]: the names that build servers know files by;
//! - [`policy_report`]: the report objects of a cluster;
//! - [`table`]: the result table.
//! - [`findings`]: the results of a run, in memory or on disk.
//! - [`spool`]: bytes that are in memory while they are few.
//! - [`tally`]: how often each value comes up.
//! - [`about`]: what a run was: when, of which commit, with which policies.
//! - [`compared`]: runs one after the other: what is new, what is fixed.
//! - [`compared_formats`]: the same as text, JSON, Markdown and a page.
//! - [`diff`]: differences of two texts, line by line.
//! - [`fix`]: changes of files that mend what is reported about them.
//! - `hex`: bytes of digests as text.
//! - [`invocation`]: commands that read a part of a run.
//! - `lines`: what stands on each line of a run as JSON lines.
//! - [`lint_formats`]: findings about files in the formats of code scanners.
//! - [`shards`]: results of shards, merged into those of one run.
//! - `printable`: texts of policies and resources as terminals show them.
//! - [`formats`]: A run as text: for people, for build servers, for other programs.
#![forbid(unsafe_code)]

pub mod about;
pub mod compared;
pub mod compared_formats;
pub mod diagnostic;
pub mod diff;
pub mod findings;
pub mod fix;
pub mod formats;
mod hex;
pub mod invocation;
mod lines;
pub mod lint_formats;
pub mod policy_report;
mod printable;
pub mod replayed;
pub mod replayed_formats;
pub mod roots;
pub mod run;
pub mod shards;
pub mod spool;
pub mod table;
pub mod tally;
