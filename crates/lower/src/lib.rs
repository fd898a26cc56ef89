//! Policy objects → rules of the IR, one file per part of a policy.
//!
//! In: checked policy documents with their defaults. Out: [`ephor_ir::Rule`]s. Everything that is
//! constant is computed here: expressions are parsed, sets hashed, wildcards compiled, quantities
//! and durations read. After lowering nothing knows which language a rule came from.
#![forbid(unsafe_code)]

pub mod admission;
pub mod binding;
pub mod cel_policy;
mod compiler;
pub mod condition;
pub mod constraints;
pub mod generate;
pub mod images;
mod late;
pub mod manifests;
pub mod matcher;
pub mod mutate;
pub mod policy;
pub mod query;
pub mod reference;
pub mod rule;
pub mod template;
mod validate_cel;

pub use late::LATE;
