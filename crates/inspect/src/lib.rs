//! What policies do: explained rules and findings for their authors, and what an upgrade of Kyverno
//! changes for operators.
//!
//! - [`annotations`]: findings as the formats of code scanners have them.
//! - [`compared`]: comparisons of policies with all that output shows of them.
//! - [`explain`]: what the engine makes of a policy, as text for its author.
//! - [`lint`]: what there is to say about policies before they run.
//! - [`places`]: places in the texts of policies.
//! - [`remedy`]: changes of an object that a violated pattern says.
//! - [`results`]: results with their places: what report formats show of a run.
//! - [`upgrade`]: what an upgrade of Kyverno changes for the policies of a cluster.
#![forbid(unsafe_code)]

pub mod annotations;
pub mod compared;
pub mod explain;
pub mod lint;
pub mod places;
pub mod remedy;
pub mod results;
pub mod upgrade;
