//! The webhook server.
//!
//! - [`serve`]: the admission webhook server.
#![forbid(unsafe_code)]

pub mod serve;
