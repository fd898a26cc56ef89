//! Answering AdmissionReviews: what a webhook returns to an API server.
//!
//! In: loaded policies, data about the cluster, and a review as it came. Out: an [`Answer`] with
//! what led to it. Nothing here listens, logs or counts; `serve` does. Semantics: `docs/reference/serve.md`.
//!
//! - [`answer`]: answers to reviews
//! - `answering`: how a gate answers AdmissionReviews
//! - `changing`: mutation of the object of an AdmissionReview
//! - [`decision`]: decisions about requests, and when they are due
//! - `denial`: texts of refusals and warnings, as Kyverno words them
//! - [`gate`]: policies that are ready to answer AdmissionReviews
//! - `generate_changes`: changes of generate rules that a policy must not have
//! - [`incoming`]: reading AdmissionReviews
//! - [`needs`]: what policies need to know of the cluster besides the request
//! - [`online`]: checks of policies that need a cluster
//! - [`policies`]: reviews of policies themselves, and of what belongs to them
//! - [`route`]: which policies a path selects
//! - [`shadow`]: policies in audit mode that may replace others, compared with these on each
//!   request
//! - `subject`: from an AdmissionReview to the request that rules are evaluated on
//! - `type_check`: warnings of expressions that do not fit the types of the kinds that a policy is
//!   about
//! - `verdict`: validation of the object of an AdmissionReview

pub mod answer;
mod answering;
mod changing;
pub mod decision;
mod denial;
pub mod gate;
mod generate_changes;
pub mod incoming;
pub mod needs;
pub mod online;
pub mod policies;
pub mod route;
pub mod shadow;
mod subject;
mod type_check;
mod verdict;

pub use answer::Answer;
pub use decision::{Deadline, Decision};
pub use gate::{Finding, Gate};
pub use incoming::{Incoming, Undecodable};
pub use route::{Phase, Route};
