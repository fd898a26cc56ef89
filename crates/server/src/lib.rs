//! The webhook server.
//!
//! - [`serve`]: the admission webhook server.
#![forbid(unsafe_code)]

use ephor_admission::{admit, redact, settings};
use ephor_policies::{kinds as policy_kinds, load, pitfalls, policy_set};

pub mod serve;
