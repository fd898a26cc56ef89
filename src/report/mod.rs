//! What users read: objects and results as text.
//!
//! - [`diagnostic`]: errors with the place in the user's file;
//! - [`yaml`]: values as YAML, in the two styles of the reference;
//! - [`table`]: the result table.

pub mod diagnostic;
pub mod diff;
pub mod formats;
mod natural;
pub mod policy_report;
mod scalar;
pub mod table;
pub mod yaml;
