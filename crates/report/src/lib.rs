//! What users read: objects and results as text.
//!
//! - [`diagnostic`]: errors with the place in the user's file;
//! - [`table`]: the result table.
#![forbid(unsafe_code)]

use ephor_document as document;
use ephor_engine as engine;
use ephor_ir as ir;
use ephor_value as value;

pub mod diagnostic;
pub mod diff;
pub mod formats;
pub mod policy_report;
pub mod table;
