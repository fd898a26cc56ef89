//! Policy objects as users write them: schemas and defaults, generated rules, policy checks.
//!
//! Everything works on [`Value`](ephor_value::Value) trees of parsed documents. The way of a
//! document: [`schema::check`] refuses unknown fields and wrong types and fills in the defaults;
//! [`lint`] judges the policy as a whole; [`autogen`] derives the rules for pod controllers. The
//! meaning of expressions and rule bodies is known elsewhere.
//!
//! - [`admission`]: admission policies, bindings and webhook configurations as the Kubernetes API
//!   takes them: defaults and validation
//! - [`autogen`]: generated rules: rules on pods extended to the controllers that make pods
//! - [`lint`]: policy checks: what is wrong with a ClusterPolicy or Policy that fits its schema
//! - [`read`]: reading policy documents: the parts of rules and filters that several checks read
//! - [`repair`]: repairing policies: matchers, preconditions and operators of former versions
//!   become those of today
//! - [`schema`]: schemas of the policy objects of groups `kyverno.io` and `policies.kyverno.io`:
//!   unknown fields, types, defaults
#![forbid(unsafe_code)]

pub mod admission;
pub mod autogen;
pub use ephor_value::names as labels;
pub mod lint;
pub mod read;
pub mod repair;
pub mod schema;

/// Walks into documents stop at this depth: nothing that people write comes near it, and the
/// recursion stays far from the end of the stack.
pub const MAX_DEPTH: usize = 512;

#[cfg(test)]
mod corpus;
