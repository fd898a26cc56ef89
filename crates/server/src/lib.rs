//! The webhook server.
//!
//! - [`play`]: a page on loopback, and answers to its questions.
//! - [`serve`]: the admission webhook server.
#![forbid(unsafe_code)]

pub mod play;
pub mod serve;
