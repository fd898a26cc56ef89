//! Answering AdmissionReviews: what a webhook returns to an API server.
//!
//! In: loaded policies, data about the cluster, and a review as it came. Out: an [`Answer`] with
//! what led to it. Nothing here listens, logs or counts; `serve` does. Semantics:
//! `docs/reference/serve.md`.

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
