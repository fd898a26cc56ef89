//! Admission: what an API server does with a request because of its policies.
//!
//! In: policies with their bindings, the `request` of an AdmissionReview, and the [`ClusterView`]
//! around it. Out: the mutated object, and an [`AdmissionOutcome`]: whether the request is allowed, warnings
//! for the client and audit annotations. Policies run in the order of their names, bindings of a
//! policy in the order of theirs. Semantics: `docs/semantics/admission.md`.

mod answer;
mod binding_result;
pub mod bound;
pub mod cause;
pub mod change;
mod cluster_view;
mod error;
pub mod literal;
mod mutate;
pub mod offline;
mod params;
pub mod review;
mod steps;
mod validate;
pub mod warnings;

pub use answer::{AdmissionOutcome, Denial};
pub use binding_result::BindingResult;
pub use bound::BoundPolicy;
pub use cause::Cause;
pub use cluster_view::{ClusterView, converted};
pub use error::{BindingError, JsonError, LiteralError, NoJson, WrongName};
pub use mutate::{Mutated, Passes, mutate};
pub use review::Review;
pub use validate::{answer, conditions, seen_request, validate, verdict};
