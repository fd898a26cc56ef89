//! `ephor`: a Kyverno-compatible policy engine.
//!
//! Policies of several languages are lowered into one rule IR, selected by one match layer and run
//! by one evaluator. A [`PolicySet`] is read from texts, files and folders; an [`Engine`] evaluates
//! it on a [`Request`] and gives an [`Outcome`], or answers AdmissionReviews, JSON with JSON.
//! [`JmesPath`] and [`Cel`] are single expressions.
//!
//! ```
//! use ephor::{Engine, PolicySet, Request};
//!
//! let policies = PolicySet::from_yaml(r#"
//! apiVersion: kyverno.io/v1
//! kind: ClusterPolicy
//! metadata: {name: no-latest}
//! spec:
//!   rules:
//!   - name: tag
//!     match: {any: [{resources: {kinds: [Pod]}}]}
//!     validate: {message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
//! "#)?;
//! let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: 'x:latest'}]}}";
//! let outcome = Engine::new(policies).check(Request::from_yaml(pod)?)?;
//! let violation = outcome.violations().next().ok_or("no violation")?;
//! assert!(violation.message.starts_with("validation error: pin the tag."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Features: `commands` (default) is the program; `network`, `signatures`, `tokens`, `x509`, `gzip`
//! and `parallel` are parts of the engine. Without the default features this is the engine alone:
//! policies that need a part which is not there are errors that name it.
//!
//! - `cli`: the command line: reads flags and calls the library.
//! - `engine`: policies that are evaluated on requests.
//! - `expressions`: JMESPath and CEL for programs: compiled once, evaluated on documents.
//! - `outcome`: what policies say about a request.
//! - `policy_set`: policies of all kinds, read and checked.
//! - `problem`: what is wrong with policies, with their places; and why something has no result.
//! - `request`: what policies are evaluated on: an operation on an object.
#![forbid(unsafe_code)]

#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod cli;
mod engine;
mod expressions;
mod outcome;
mod policy_set;
mod problem;
mod request;

pub use engine::Engine;
pub use ephor_engine::{Profile, Status};
pub use ephor_external::{self as external, ExternalData, NoData};
pub use ephor_value::Value;
pub use ephor_value::release::Release;
pub use expressions::{Cel, Environment, JmesPath};
pub use outcome::{Action, Field, Outcome, RuleResult, Severity};
pub use policy_set::{PolicyInfo, PolicySet};
pub use problem::{Error, Problem, Problems};
pub use request::{Operation, Request, User};
