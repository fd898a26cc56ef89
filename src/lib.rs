//! `ephor`: a Kyverno-compatible policy engine.
//!
//! Policies of several languages are lowered into one rule IR ([`ir`]), selected by one match layer
//! ([`matching`]) and run by one evaluator ([`engine`]). The command line and the server are thin
//! over this library.
//!
//! ```
//! let policies = ephor::PolicySet::from_yaml(r#"
//! apiVersion: kyverno.io/v1
//! kind: ClusterPolicy
//! metadata: {name: no-latest}
//! spec:
//!   rules:
//!   - name: tag
//!     match: {any: [{resources: {kinds: [Pod]}}]}
//!     validate: {message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
//! "#)?;
//! let outcome = ephor::Engine::new(policies).check_yaml(
//!     "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: 'x:latest'}]}}",
//! )?;
//! assert!(outcome.results().any(|(_, r)| r.status == ephor::Status::Fail));
//! # Ok::<(), ephor::PolicyError>(())
//! ```
#![forbid(unsafe_code)]

pub mod admit;
pub mod analysis;
pub mod api;
pub mod cel;
#[cfg(feature = "commands")]
pub mod cli;
#[cfg(feature = "server")]
pub mod cluster;
#[cfg(feature = "commands")]
pub mod conformance;
pub mod engine;
pub mod explain;
pub mod findings;
pub mod inputs;
pub mod ir;
pub mod jmespath;
pub mod load;
pub mod lower;
pub mod matching;
pub mod native;
pub mod pattern;
pub mod policy_set;
pub mod registration;
pub mod report;
pub mod scan;
pub mod search;
#[cfg(feature = "server")]
pub mod serve;
pub mod settings;
pub mod sources;
#[cfg(feature = "commands")]
pub mod testing;
pub mod webhooks;

pub use ephor_document as document;
pub use ephor_external as external;
pub use ephor_functions as functions;
pub use ephor_kubernetes as kubernetes;
pub use ephor_patch as patch;
pub use ephor_value as value;

pub use engine::{Profile, Request, RuleOutcome, Status};
pub use policy_set::{Engine, Outcome, PolicyError, PolicyOutcome, PolicySet};
