//! Policy objects → rules of the IR, one file per part of a policy.
//!
//! In: checked policy documents with their defaults. Out: [`crate::ir::Rule`]s. Everything that is
//! constant is computed here: expressions are parsed, sets hashed, wildcards compiled, quantities
//! and durations read. After lowering nothing knows which language a rule came from.
#![forbid(unsafe_code)]

use ephor_analysis as analysis;
use ephor_api as api;
use ephor_cel as cel;
use ephor_document as document;
use ephor_functions as functions;
use ephor_ir as ir;
use ephor_jmespath as jmespath;
use ephor_kubernetes as kubernetes;
use ephor_matching as matching;
use ephor_patch as patch;
use ephor_pattern as pattern;
use ephor_value as value;

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
