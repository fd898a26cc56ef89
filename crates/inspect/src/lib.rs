//! What policies do: explained rules and findings for their authors, and what an upgrade of Kyverno
//! changes for operators.
//!
//! - [`explain`]: what the engine makes of a policy, as text for its author.
//! - [`lint`]: what there is to say about policies before they run.
//! - [`upgrade`]: what an upgrade of Kyverno changes for the policies of a cluster.
#![forbid(unsafe_code)]

pub mod explain;
pub mod lint;
pub mod upgrade;
