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
//! [`lint`](fn@lint), [`explain`](fn@explain), [`diff`](fn@diff) and [`migrate`](fn@migrate) look
//! into policies, as the commands of these names do.
//!
//! Features: `commands` (default) is the program; `authoring` has the calls that look into
//! policies; `network`, `signatures`, `tokens`, `x509`, `gzip` and `parallel` are parts of the
//! engine. Without the default features this is the engine alone: policies that need a part which
//! is not there are errors that name it.
//!
//! - `cli`: the command line: reads flags and calls the library.
//! - `diff`: whether two sets of policies mean the same.
//! - `engine`: policies that are evaluated on requests.
//! - `explain`: why policies decide as they do.
//! - `expressions`: JMESPath and CEL for programs: compiled once, evaluated on documents.
//! - `lint`: what there is to say about policies before they run.
//! - `migrate`: ClusterPolicies rewritten as policies in CEL.
//! - `outcome`: what policies say about a request.
//! - `policy_set`: policies of all kinds, read and checked.
//! - `problem`: what is wrong with policies, with their places; and why something has no result.
//! - `request`: what policies are evaluated on: an operation on an object.
#![forbid(unsafe_code)]

#[cfg(feature = "commands")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "authoring")]
mod diff;
mod engine;
#[cfg(feature = "authoring")]
mod explain;
mod expressions;
#[cfg(feature = "authoring")]
mod lint;
#[cfg(feature = "authoring")]
mod migrate;
mod outcome;
mod policy_set;
mod problem;
mod request;

#[cfg(feature = "authoring")]
pub use diff::{Comparison, Difference, Verdict, diff};
pub use engine::Engine;
pub use ephor_engine::{Profile, Status};
pub use ephor_external::{self as external, ExternalData, NoData};
pub use ephor_value::Value;
pub use ephor_value::release::Release;
#[cfg(feature = "authoring")]
pub use explain::{Decision, Explanation, explain};
pub use expressions::{Cel, Environment, JmesPath};
#[cfg(feature = "authoring")]
pub use lint::{Finding, FindingFix, FindingSeverity, lint};
#[cfg(feature = "authoring")]
pub use migrate::{MigratedPolicy, Migration, MigrationOptions, MigrationTarget, migrate};
pub use outcome::{Action, Field, Outcome, RuleResult, Severity};
pub use policy_set::{PolicyInfo, PolicySet};
pub use problem::{Error, Problem, Problems};
pub use request::{Operation, Request, User};
