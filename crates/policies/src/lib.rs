//! Policy sets: policies that are loaded, indexed, and run on a request.
//!
//! - [`by_policy`]: something that is known of each policy of a run, found for each of their
//!   results
//! - [`kinds`]: the kinds of policies and exceptions that clusters store
//! - [`load`]: policy sources → policies, ready to be evaluated
//! - [`lookups`]: whether rules read other objects than those that they are applied on
//! - [`pitfalls`]: where Kyverno 1.19.1 does what its users do not expect, and the output that it
//!   gives does not say so
//! - [`policy_set`]: policy sets and the engine that runs them: the library's front door
//! - [`scan`]: evaluating many resources: in parallel, with results in input order
//! - [`subjects`]: which resources of a cluster rules are about
//! - [`violation`]: where in an object a rule is violated
#![forbid(unsafe_code)]

pub mod by_policy;
pub mod kinds;
pub mod load;
pub mod lookups;
pub mod pitfalls;
pub mod policy_set;
pub mod scan;
pub mod subjects;
pub mod violation;

pub use ephor_engine::{Profile, Request, RuleOutcome, Status};
pub use ephor_ir::facts::Severity;
pub use policy_set::{CacheFigures, Engine, Outcome, PolicyError, PolicyOutcome, PolicySet};
