//! The webhook server.
#![forbid(unsafe_code)]

use ephor_admission::{admit, redact, settings};
use ephor_analysis as analysis;
use ephor_cluster as cluster;
use ephor_controllers as controllers;
use ephor_document as document;
use ephor_engine as engine;
use ephor_external as external;
use ephor_ir as ir;
use ephor_kubernetes as kubernetes;
use ephor_matching as matching;
use ephor_patch as patch;
use ephor_policies::{kinds as policy_kinds, load, pitfalls, policy_set};
use ephor_sources as sources;
use ephor_value as value;

pub mod serve;
