//! What expressions see: the one place that builds it.
//!
//! In: a request, an object, parameters. Out: the values under their names, as
//! `ir::expressions::View` names them.
//!
//! - [`admission`]: what the expressions of admission policies see
//! - [`offline`]: what the expressions of Kubernetes' own policies see outside of a cluster
//! - [`pod_templates`]: what the expressions of generated variants see: each pod template of an
//!   object as if it were a pod
//! - [`request`]: what the expressions of `policies.kyverno.io` see: the request, or data of any
//!   form, and the libraries
//! - [`rule`]: what the expressions of rules with `validate.cel` and of `matchConditions` see

pub mod admission;
pub mod offline;
pub mod pod_templates;
pub mod request;
pub mod rule;
