//! What users read: objects and results as text.
//!
//! - [`diagnostic`]: errors with the place in the user's file;
//! - [`table`]: the result table.

pub mod diagnostic;
pub mod diff;
pub mod formats;
pub mod policy_report;
pub mod table;
