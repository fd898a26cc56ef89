//! Kyverno's policies → Kubernetes' own: what Kyverno hands over to the API server.
//!
//! In: a ClusterPolicy with one `validate.cel` rule, a ValidatingPolicy or a MutatingPolicy, with
//! its defaults, and the exceptions from it. Out: a policy of `admissionregistration.k8s.io` and
//! its binding, or why there is none, in the reference's words. Objects own nothing and have no
//! status; an owner is named when the policy has a `uid`. Semantics: `docs/semantics/admission.md`, "Handing
//! policies over".
//!
//! - `cluster_policy`: ClusterPolicies with one rule in CEL
//! - `outcome`: what is known besides a policy that is handed over, what it becomes, and why it does
//!   not
//! - `parts`: parts of the documents of native policies
//! - `refusals`: why a ClusterPolicy cannot be handed over: what Kubernetes' policies cannot say
//! - `resources`: kinds of filters → resources of rules
//! - `reviews`: ValidatingPolicies and MutatingPolicies

mod cluster_policy;
mod outcome;
mod parts;
mod refusals;
mod resources;
mod reviews;

pub use outcome::{Known, Native, NativeError, SkipReason};
pub use refusals::NativeRefusal;
pub use resources::UnknownKind;

use ephor_value::Value;

/// Whether a policy is of a kind that can be handed over.
pub fn is_candidate(policy: &Value) -> bool {
    converter(policy).is_some()
}

type Converter = fn(&Value, &Known<'_>) -> Result<Native, NativeError>;

fn converter(policy: &Value) -> Option<Converter> {
    let api_version = policy.text_at(&["apiVersion"]);
    match policy.text_at(&["kind"]) {
        "ClusterPolicy" => Some(cluster_policy::native),
        "ValidatingPolicy" if api_version.starts_with("policies.kyverno.io/") => Some(reviews::validating),
        "MutatingPolicy" if api_version.starts_with("policies.kyverno.io/") => Some(reviews::mutating),
        _ => None,
    }
}

/// What a policy becomes.
///
/// # Errors
/// The policy has no native form.
pub fn native(policy: &Value, known: &Known<'_>) -> Result<Native, NativeError> {
    match converter(policy) {
        Some(convert) => convert(policy, known),
        None => Err(NativeError::Kind(policy.text_at(&["kind"]).into())),
    }
}
