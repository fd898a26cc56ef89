//! What policies do: explained rules and findings for their authors, and what an upgrade of Kyverno
//! changes for operators.
#![forbid(unsafe_code)]

use ephor_policies::{kinds as policy_kinds, load, policy_set, subjects, violation};

pub mod explain;
pub mod lint;
pub mod upgrade;
