//! Answers to AdmissionReviews, and the webhook configurations that bring them.
#![forbid(unsafe_code)]

use ephor_analysis as analysis;
use ephor_api as api;
use ephor_document as document;
use ephor_engine as engine;
use ephor_external as external;
use ephor_functions as functions;
use ephor_ir as ir;
use ephor_kubernetes as kubernetes;
use ephor_lower as lower;
use ephor_matching as matching;
use ephor_patch as patch;
use ephor_policies::{load, pitfalls, policy_set};
use ephor_sources as sources;
use ephor_value as value;

pub mod admit;
pub mod background;
pub mod native;
pub mod redact;
pub mod registration;
pub mod settings;
pub mod webhooks;
