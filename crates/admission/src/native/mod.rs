//! Kyverno's policies → Kubernetes' own: what Kyverno hands over to the API server.
//!
//! In: a ClusterPolicy with one `validate.cel` rule, a ValidatingPolicy or a MutatingPolicy, with
//! its defaults, and the exceptions from it. Out: a policy of `admissionregistration.k8s.io` and
//! its binding, or why there is none, in the reference's words. Objects own nothing and have no
//! status; an owner is named when the policy has a `uid`. Semantics: `docs/semantics/admission.md`,
//! "Handing policies over".

mod cluster_policy;
mod refusals;
mod resources;
mod reviews;

pub use refusals::NativeRefusal;
pub use resources::UnknownKind;

use ephor_kubernetes::Kinds;
use ephor_lower::cel_policy::Failed;
use ephor_lower::policy::NO_REPORTS;
use ephor_value::time::Time;
use ephor_value::{Map, Str, Value};

/// What is known besides the policy.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    /// PolicyExceptions of both groups.
    pub exceptions: &'k [Value],
    /// The kinds that the server has.
    pub kinds: &'k Kinds,
    /// Exceptions that end before this are none.
    pub now: Time,
    /// Whether variants for pod controllers stand in the way also where no controllers are named.
    /// Kyverno's controllers do not count those: what they create the API server sees as pods.
    pub keeps_variants: bool,
}

/// Why a policy has no native form; the texts are Kyverno's.
#[derive(Debug, thiserror::Error)]
pub enum NativeError {
    /// Policies of its kind have none.
    #[error(
        "kind {0} cannot become a native policy: only ClusterPolicy, ValidatingPolicy and MutatingPolicy can"
    )]
    Kind(Box<str>),
    /// It says what Kubernetes' policies cannot.
    #[error(transparent)]
    Refused(NativeRefusal),
    /// It does not want one, or has something that Kubernetes' policies of this kind cannot have.
    #[error("skip generating {kind}: {why}.")]
    Skipped {
        /// The kind.
        kind: &'static str,
        /// Why.
        why: SkipReason,
    },
    /// It is about a kind of objects that is not known.
    #[error(transparent)]
    UnknownKind(UnknownKind),
    /// Its conditions do not compile.
    #[error("{0}")]
    Conditions(#[source] Failed),
}

/// Why a policy of CEL has no native form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    /// It does not want one.
    #[error("not enabled")]
    NotEnabled,
    /// It mutates as server-side apply does.
    #[error(
        "useServerSideApply is enabled, which mutates atomic fields that a native MutatingAdmissionPolicy rejects"
    )]
    ServerSideApply,
    /// It has variants for pod controllers.
    #[error("pod controllers autogen is enabled")]
    Variants,
}

/// A policy of Kubernetes and the binding that puts it into force.
#[derive(Clone, Debug)]
pub struct Native {
    /// `ValidatingAdmissionPolicy` or `MutatingAdmissionPolicy`.
    pub policy: Value,
    /// Its binding.
    pub binding: Value,
}

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

/// A policy and its binding, named after the policy that they come from.
fn named(of: &Value, prefix: &str, kind: &str, spec: Map, mut binding: Map) -> Native {
    let name = format!("{prefix}-{}", of.text_at(&["metadata", "name"]));
    binding.insert("policyName", name.as_str().into());
    let bound = format!("{name}-binding");
    Native {
        policy: object(of, kind, &name, spec),
        binding: object(of, &format!("{kind}Binding"), &bound, binding),
    }
}

fn object(of: &Value, kind: &str, name: &str, spec: Map) -> Value {
    let mut labels = map([("app.kubernetes.io/managed-by", "kyverno".into())]);
    let label = of.at(&["metadata", "labels"]).and_then(|l| l.get(NO_REPORTS)).and_then(Value::as_str);
    if label == Some("true") {
        labels.insert(NO_REPORTS, "true".into());
    }
    let mut metadata = map([("labels", Value::Map(labels)), ("name", name.into())]);
    let uid = of.text_at(&["metadata", "uid"]);
    if !uid.is_empty() {
        let owner = map([
            ("apiVersion", of.text_at(&["apiVersion"]).into()),
            ("kind", of.text_at(&["kind"]).into()),
            ("name", of.text_at(&["metadata", "name"]).into()),
            ("uid", uid.into()),
        ]);
        metadata.insert("ownerReferences", Value::list(vec![Value::Map(owner)]));
    }
    Value::Map(map([
        ("apiVersion", "admissionregistration.k8s.io/v1".into()),
        ("kind", kind.into()),
        ("metadata", Value::Map(metadata)),
        ("spec", Value::Map(spec)),
    ]))
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Map {
    entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect()
}

/// Copies the members that are there and not empty.
fn copy(from: &Value, into: &mut Map, keys: &[(&str, &str)]) {
    for (own, name) in keys {
        let empty = |v: &Value| v.is_null() || matches!(v, Value::List(l) if l.is_empty());
        if let Some(v) = from.get(own).filter(|v| !empty(v)) {
            into.insert(*name, v.clone());
        }
    }
}

fn texts(of: impl IntoIterator<Item = impl AsRef<str>>) -> Value {
    Value::list(of.into_iter().map(|t| Value::from(t.as_ref())).collect())
}
