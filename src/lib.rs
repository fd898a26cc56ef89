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

#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod cli;

pub use ephor_engine::{Profile, Request, RuleOutcome, Status};
pub use ephor_policies::{Engine, Outcome, PolicyError, PolicyOutcome, PolicySet};
