//! Policy sets: policies that are loaded, indexed, and run on a request.
#![forbid(unsafe_code)]

use ephor_analysis as analysis;
use ephor_api as api;
use ephor_document as document;
use ephor_engine as engine;
use ephor_external as external;
use ephor_functions as functions;
use ephor_ir as ir;
use ephor_jmespath as jmespath;
use ephor_kubernetes as kubernetes;
use ephor_lower as lower;
use ephor_matching as matching;
use ephor_sources as sources;
use ephor_value as value;

pub mod kinds;
pub mod load;
pub mod pitfalls;
pub mod policy_set;
pub mod scan;
pub mod subjects;
pub mod violation;

pub use crate::ir::facts::Severity;
pub use engine::{Profile, Request, RuleOutcome, Status};
pub use policy_set::{CacheFigures, Engine, Outcome, PolicyError, PolicyOutcome, PolicySet};
