//! Policy sets and the engine that runs them: the library's front door.
//!
//! In: policy documents. Out: for a [`Request`](ephor_engine::Request), the results of every rule
//! that matches. A set (`set`) is immutable; `engine` evaluates it on requests, [`phases`] in the
//! order of Kyverno's phases, [`verdicts`] as a server does.

mod background;
mod engine;
mod native;
pub mod outcomes;
pub mod phases;
mod result_cache;
mod results;
mod set;
mod stages;
pub mod verdicts;

pub use engine::{Engine, RuleValues};
pub use result_cache::CacheFigures;
pub use results::{Outcome, PolicyOutcome};
pub use set::{PolicyError, PolicySet};
