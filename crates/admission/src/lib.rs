//! Answers to AdmissionReviews, and the webhook configurations that bring them.
#![forbid(unsafe_code)]

use ephor_policies::{load, pitfalls, policy_set};

pub mod admit;
pub mod background;
pub mod native;
pub mod redact;
pub mod registration;
pub mod settings;
pub mod webhooks;
