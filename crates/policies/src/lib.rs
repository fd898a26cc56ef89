//! Policy sets: policies that are loaded, indexed, and run on a request.
#![forbid(unsafe_code)]

pub mod kinds;
pub mod load;
pub mod pitfalls;
pub mod policy_set;
pub mod scan;
pub mod subjects;
pub mod violation;

pub use ephor_engine::{Profile, Request, RuleOutcome, Status};
pub use ephor_ir::facts::Severity;
pub use policy_set::{CacheFigures, Engine, Outcome, PolicyError, PolicyOutcome, PolicySet};
