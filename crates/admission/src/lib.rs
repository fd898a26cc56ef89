//! Answers to AdmissionReviews, and the webhook configurations that bring them.
//!
//! - [`admit`]: answering AdmissionReviews: what a webhook returns to an API server
//! - [`background`]: work that requests cause for controllers
//! - [`native`]: Kyverno's policies → Kubernetes' own: what Kyverno hands over to the API server
//! - [`redact`]: values of Secrets: they leave the process in answers to the API server alone
//! - [`registration`]: the webhook configurations that policies need
//! - [`settings`]: the settings of operators: the ConfigMap of Kyverno
//! - [`webhooks`]: dynamic admission control: what an API server does with a request because of
//!   webhooks
#![forbid(unsafe_code)]

pub mod admit;
pub mod background;
pub mod native;
pub mod redact;
pub mod registration;
pub mod settings;
pub mod webhooks;
