//! Inputs of commands, and test files.
#![forbid(unsafe_code)]

use ephor_document as document;
use ephor_engine as engine;
use ephor_external as external;
use ephor_ir as ir;
use ephor_kubernetes as kubernetes;
use ephor_matching as matching;
use ephor_policies::{load, pitfalls, policy_set};
use ephor_report as report;
use ephor_search as search;
use ephor_sources as sources;
use ephor_value as value;

pub mod inputs;
pub mod testing;
