//! What users read: objects and results as text.
//!
//! - [`yaml`]: values as YAML, in the two styles of the reference;
//! - [`table`]: the result table.

mod natural;
mod scalar;
pub mod table;
pub mod yaml;
