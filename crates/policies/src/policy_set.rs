//! Policy sets and the engine that runs them: the library's front door.
//!
//! In: policy documents. Out: for a [`Request`](ephor_engine::Request), the results of every rule
//! that matches. A set (`set`) is immutable; `engine` evaluates it on requests, [`phases`] in the
//! order of Kyverno's phases, [`verdicts`] as a server does.
//!
//! - `background`: what controllers do after a request: objects that rules generate, and other
//!   objects that they change
//! - `engine`: a policy set with everything that it needs to decide
//! - `native`: native policies of a set, as an API server evaluates them
//! - [`outcomes`]: results of policies in parts that may be shared with other requests
//! - [`phases`]: the policies of a set in the order of its schedule: changes, verdicts, generated
//!   objects; check requests and deletions
//! - `result_cache`: a request that agrees with a former one in all that results
//!   depend on gets the same results
//! - `results`: the results of a request: for each policy, what its rules did
//! - `schedule`: in which order the policies of a set are evaluated on a request
//! - `set`: policies, compiled and indexed
//! - [`verdicts`]: verdicts of Kyverno's policies on a request as it is, within limits

mod background;
mod engine;
mod native;
pub mod outcomes;
pub mod phases;
mod result_cache;
mod results;
mod schedule;
mod set;
pub mod verdicts;

pub use engine::{Engine, RuleValues};
pub use result_cache::CacheFigures;
pub use results::{Outcome, PolicyOutcome};
pub use set::{PolicyError, PolicySet};
