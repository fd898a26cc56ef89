//! What policies do: explained rules and findings for their authors, and what an upgrade of Kyverno changes for operators.
#![forbid(unsafe_code)]

use ephor_admission as admission;
use ephor_analysis as analysis;
use ephor_api as api;
use ephor_document as document;
use ephor_engine as engine;
use ephor_functions as functions;
use ephor_ir as ir;
use ephor_jmespath as jmespath;
use ephor_kubernetes as kubernetes;
use ephor_lower as lower;
use ephor_matching as matching;
use ephor_policies::{kinds as policy_kinds, load, policy_set, subjects, violation};
use ephor_sources as sources;
use ephor_value as value;

pub mod explain;
pub mod lint;
pub mod upgrade;
