//! The engine: policies and a request → results.
//!
//! In: lowered policies, a [`Request`], a [`Profile`], and a source of data. Out: a result for
//! every rule that matches. The engine knows neither files nor languages; the order of work inside
//! a rule is match, exclude, data, preconditions, exceptions, body.
//!
//! - [`action`]: failure actions: does a failed rule block the request?
//! - [`admission`]: what an API server does with a request because of its policies
//! - `call`: calls, and the one loop that evaluates them
//! - `cells`: cells of expressions that are evaluated once
//! - [`cleanup`]: cleanup policies: which objects a run of one would delete
//! - `comprehension`: comprehensions of strict expressions (`all`, `exists`, `map`, `filter` and
//!   the like)
//! - [`condition`]: evaluating conditions
//! - [`consequences`]: what follows from a result: a denial, a warning, a failure for the audit log
//! - [`data`]: the data that a rule's expressions see, loaded when it is first mentioned
//! - `entries`: the entries of a map that a comprehension builds one by one
//! - [`error`]: why a part of a rule cannot be evaluated
//! - [`eval`]: the evaluator of expressions: the only one, for every language
//! - [`expressions`]: running rules with CEL expressions: which exceptions and conditions there
//!   are, then validations, then audit annotations
//! - [`fill`]: filling in templates
//! - [`generate`]: generate rules: objects that are created because of a request
//! - [`images`]: the image references of an object, as the variable `images` shows them
//! - [`leaf`]: comparing a scalar with a leaf of a pattern, which a trace shows
//! - `lists`: lists that expressions build: projections, flattening, functions that run an
//!   expression for each item
//! - `manifests`: rules that verify the signatures of the manifest from which an object was created
//! - `unverified`: what rules about signatures come to in a build without the feature `signatures`:
//!   an error, never a pass
//! - `matched`: a rule that matches a request, with what it is evaluated with, and what all rules
//!   do before their body runs: preconditions, exceptions, properties
//! - [`meter`]: the cost of strict evaluation, and composed variables, each with a meter of its own
//! - [`mutate`]: mutate rules: patches on the object of the request, or on other objects
//! - [`outcome`]: what rules say about a request
//! - [`pod_security`]: Pod Security Standards: `validate.podSecurity` rules
//! - [`profile`]: fidelity profiles: where Kyverno's command line and Kyverno in a cluster differ
//! - [`request`]: what the rules decide about
//! - `results`: what rules did: what one gives and leaves to the next, and what a phase gives
//! - `rule_params`: parameters of `validate.cel` rules
//! - [`run`]: requests that rules of policies are evaluated on: the rules in order, for one phase
//!   of one request
//! - [`shape`]: running shapes: does a document look like a pattern?
//! - [`shared`]: results of expressions that the rules of many policies share, cached for one
//!   request
//! - [`sorted`]: lists that `sort_by` has put in order
//! - [`strict`]: evaluating strict nodes: missing things are faults, every step has a cost
//! - [`trace`]: tracing an evaluation: which pieces of rules it reaches, and what decides it
//! - [`validate`]: validate rules: deny, pattern, anyPattern, foreach
//! - `verdict`: rules that give verdicts
//! - [`verify`]: `verifyImages` rules: signatures and attestations of images, and whether they were
//!   checked
//! - [`view`]: what expressions see: the one place that builds it
#![forbid(unsafe_code)]

pub mod action;
pub mod admission;
mod call;
mod cells;
pub mod cleanup;
mod comprehension;
pub mod condition;
pub mod consequences;
pub mod data;
mod entries;
pub mod error;
pub mod eval;
pub mod expressions;
pub mod fill;
pub mod generate;
pub mod images;
pub mod leaf;
mod lists;
#[cfg(feature = "signatures")]
mod manifests;
#[cfg(not(feature = "signatures"))]
mod unverified;
#[cfg(not(feature = "signatures"))]
use unverified as manifests;
mod matched;
pub mod meter;
pub mod mutate;
pub mod outcome;
pub mod pod_security;
pub mod profile;
pub mod request;
mod results;
mod rule_params;
pub mod run;
pub mod shape;
pub mod shared;
pub mod sorted;
pub mod strict;
pub mod trace;
pub mod validate;
mod verdict;
pub mod verify;
pub mod view;

pub use consequences::Consequence;
pub use outcome::{Effect, RuleOutcome, Status};
pub use profile::Profile;
pub use request::Request;
