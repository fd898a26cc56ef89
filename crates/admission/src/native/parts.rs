//! Parts of the documents of native policies.

use ephor_kubernetes::Kinds;
use ephor_lower::policy::NO_REPORTS;
use ephor_value::{Map, Str, Value};

use super::outcome::Native;

/// The group of native policies.
const GROUP: &str = "admissionregistration.k8s.io";

/// A policy and its binding, named after the policy that they come from, in the newest version that
/// the server has.
pub(super) fn named(
    of: &Value,
    prefix: &str,
    kind: &str,
    spec: Map,
    mut binding: Map,
    kinds: &Kinds,
) -> Native {
    let version = kinds.newest_version(GROUP, kind).map_or_else(|| "v1".into(), |v| v.to_string());
    let name = format!("{prefix}-{}", of.text_at(&["metadata", "name"]));
    binding.insert("policyName", name.as_str().into());
    let bound = format!("{name}-binding");
    Native {
        policy: object(of, (&version, kind), &name, spec),
        binding: object(of, (&version, &format!("{kind}Binding")), &bound, binding),
    }
}

fn object(of: &Value, (version, kind): (&str, &str), name: &str, spec: Map) -> Value {
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
        ("apiVersion", format!("{GROUP}/{version}").into()),
        ("kind", kind.into()),
        ("metadata", Value::Map(metadata)),
        ("spec", Value::Map(spec)),
    ]))
}

pub(super) fn map<const N: usize>(entries: [(&str, Value); N]) -> Map {
    entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect()
}

/// Copies the members that are there and not empty.
pub(super) fn copy(from: &Value, into: &mut Map, keys: &[(&str, &str)]) {
    for (own, name) in keys {
        let empty = |v: &Value| v.is_null() || matches!(v, Value::List(l) if l.is_empty());
        if let Some(v) = from.get(own).filter(|v| !empty(v)) {
            into.insert(*name, v.clone());
        }
    }
}

pub(super) fn texts(of: impl IntoIterator<Item = impl AsRef<str>>) -> Value {
    Value::list(of.into_iter().map(|t| Value::from(t.as_ref())).collect())
}
