//! `matchConstraints` and `matchResources` → constraints.
//!
//! In: a `MatchResources` of the Kubernetes API; a block without `matchPolicy` matches exactly
//! (defaults are `api`'s).

use ephor_ir::constraints::{AnyOf, Constraints, ResourcePath, ResourceRule, Scope};
use ephor_ir::matcher::Selector;
use ephor_value::{Str, Value};

use super::matcher::selector;

/// Lowers a block.
pub fn constraints(block: &Value) -> Constraints {
    let rules = |key: &str| list(block, key).iter().map(rule).collect();
    let labels = |key: &str| block.get(key).and_then(selector).map(exact);
    Constraints {
        rules: rules("resourceRules"),
        exclude: rules("excludeResourceRules"),
        namespace_selector: labels("namespaceSelector"),
        object_selector: labels("objectSelector"),
        equivalent: block.text_at(&["matchPolicy"]) == "Equivalent",
    }
}

/// Lowers a rule.
pub fn rule(v: &Value) -> ResourceRule {
    ResourceRule {
        operations: any_of(v, "operations"),
        groups: any_of(v, "apiGroups"),
        versions: any_of(v, "apiVersions"),
        resources: texts(v, "resources").map(path).collect(),
        scope: match v.text_at(&["scope"]) {
            "" | "*" => Scope::All,
            "Namespaced" => Scope::Namespaced,
            "Cluster" => Scope::Cluster,
            other => Scope::Unknown(other.into()),
        },
        names: texts(v, "resourceNames").map(Str::from).collect(),
    }
}

fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn texts<'v>(v: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    list(v, key).iter().filter_map(Value::as_str)
}

fn any_of(v: &Value, key: &str) -> AnyOf {
    if texts(v, key).any(|t| t == "*") {
        return AnyOf::All;
    }
    AnyOf::These(texts(v, key).map(Str::from).collect())
}

fn path(text: &str) -> ResourcePath {
    let part = |text: &str| (text != "*").then(|| Str::from(text));
    let (resource, subresource) = text.split_once('/').unwrap_or((text, ""));
    ResourcePath { resource: part(resource), subresource: part(subresource) }
}

/// The selector as the API reads it: a star is no wildcard, and no label holds one.
pub(super) fn exact(selector: Selector) -> Selector {
    Selector { valid: selector.valid && !selector.wild, wild: false, ..selector }
}
