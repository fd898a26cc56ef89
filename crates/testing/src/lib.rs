//! Inputs of commands, and test files.
#![forbid(unsafe_code)]

use ephor_policies::{load, pitfalls, policy_set};

pub mod inputs;
pub mod testing;
