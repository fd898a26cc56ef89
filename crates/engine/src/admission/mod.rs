//! Admission: what an API server does with a request because of its policies.
//!
//! In: policies with their bindings, the `request` of an AdmissionReview, and the [`ClusterView`]
//! around it. Out: the mutated object, and an [`AdmissionOutcome`]: whether the request is allowed,
//! warnings for the client and audit annotations. Policies run in the order of their names,
//! bindings of a policy in the order of theirs. Semantics: `docs/semantics/admission.md`.
//!
//! - `answer`: what follows for a request: whether it is allowed, warnings, audit annotations
//! - `binding_row`: what a result of a native policy says in addition to its status and message
//! - [`bound`]: policies of the Kubernetes API with their bindings
//! - [`cause`]: causes of a denial, as `status.details.causes` of an answer has them
//! - [`change`]: applying message literals to objects
//! - `cluster_view`: the cluster around a request
//! - [`crossing`]: how a CEL value crosses into an object
//! - `error`: why native policies cannot be evaluated, and why message literals change nothing
//! - `go_text`: values of CEL as Go prints them, in messages of merges
//! - [`literal`]: names of message literals, `Object{…}` and `JSONPatch{…}`, and what is data
//! - `mutate`: policies that change the object
//! - [`offline`]: admission policies outside of a cluster, as Kyverno runs them
//! - `on_request`: admission policies on the requests of commands, as an API server of a release
//!   runs them
//! - `params`: parameters: which objects a policy is evaluated with
//! - `plan`: from a policy with its bindings to calls
//! - [`review`]: a request as admission sees it
//! - `validate`: policies that validate
//! - [`warnings`]: the `Warning` headers for a client

mod answer;
mod binding_row;
pub mod bound;
pub mod cause;
pub mod change;
mod cluster_view;
pub mod crossing;
mod error;
mod go_text;
pub mod literal;
mod mutate;
pub mod offline;
pub(crate) mod on_request;
mod params;
mod plan;
pub mod review;
mod validate;
pub mod warnings;

pub use answer::{AdmissionOutcome, Denial, answer};
pub use binding_row::BindingRow;
pub use bound::BoundPolicy;
pub use cause::Cause;
pub use cluster_view::{ClusterView, converted};
pub use error::{BindingError, JsonError, LiteralError, NoJson, WrongName};
pub use mutate::{Mutated, Passes, mutate};
pub use review::Review;
pub use validate::{conditions, seen_request, validate, verdict};
