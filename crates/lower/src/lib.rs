//! Policy objects → rules of the IR, one file per part of a policy.
//!
//! In: checked policy documents with their defaults. Out: [`ephor_ir::Rule`]s. Everything that is
//! constant is computed here: expressions are parsed, sets hashed, wildcards compiled, quantities
//! and durations read. After lowering nothing knows which language a rule came from.
//!
//! - [`admission`]: `ValidatingAdmissionPolicy`, `MutatingAdmissionPolicy` and their bindings →
//!   policies of the IR
//! - [`background`]: what of a rule decides when it has work for controllers
//! - [`binding`]: context entries → bindings
//! - [`cel_policy`]: the policies of `policies.kyverno.io` → rules with expressions
//! - `compiler`: compiling the CEL expressions of one policy
//! - [`condition`]: condition blocks → conditions of the IR
//! - [`constraints`]: `matchConstraints` and `matchResources` → constraints
//! - [`generate`]: generate bodies → `Generation`s
//! - [`images`]: `verifyImages` bodies → `ImageChecks`
//! - `late`: lowering at run time: the one implementation of `Late`
//! - [`manifests`]: `validate.manifests` → `Manifests`
//! - [`matcher`]: `match` and `exclude` blocks → matchers
//! - [`mutate`]: mutate bodies → `Mutation`s
//! - [`policy`]: ClusterPolicies, Policies and PolicyExceptions → the IR
//! - [`query`]: expression texts → queries
//! - [`mod@reference`]: references `$(…)`: a string of a document that takes the value of another
//!   place of it
//! - [`rule`]: rules of ClusterPolicies and Policies → rules of the IR
//! - [`template`]: documents with variables and references → templates
//! - `validate_cel`: `validate.cel` of rules → validations
#![forbid(unsafe_code)]

pub mod admission;
pub mod background;
pub mod binding;
pub mod cel_policy;
mod compiler;
pub mod condition;
pub mod constraints;
pub mod generate;
pub mod images;
mod late;
pub mod manifests;
pub mod matcher;
pub mod mutate;
pub mod policy;
pub mod query;
pub mod reference;
pub mod rule;
pub mod template;
mod validate_cel;

pub use late::LATE;
