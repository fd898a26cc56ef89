//! Variants of a policy on pods for the controllers of pods.
//!
//! In: the spec of a policy. Out: specs for the controllers' kinds, rewritten as text the way
//! Kyverno 1.19.1 does it, in messages and names too. Semantics: `docs/semantics/cel-policies.md`,
//! "Controllers of pods".

use super::changing;
use ephor_document::decode_json;
use ephor_ir::expressions::View;
use ephor_value::replace::replace_where;
use ephor_value::{Map, Str, Value, print};

/// A variant.
pub struct Variant {
    /// What Kyverno calls it.
    pub name: &'static str,
    /// The rewritten spec.
    pub spec: Value,
    /// What its expressions see.
    pub view: View,
}

/// The controllers with a pod template at `spec.template`: name, group, version.
const DIRECT: [(&str, &str, &str); 5] = [
    ("daemonsets", "apps", "v1"),
    ("deployments", "apps", "v1"),
    ("jobs", "batch", "v1"),
    ("replicasets", "apps", "v1"),
    ("statefulsets", "apps", "v1"),
];

const DIRECT_PREFIX: &str = "spec.template";
const CRON_PREFIX: &str = "spec.jobTemplate.spec.template";

/// Rewrites a spec for controllers whose template is at a path.
pub type Rewriting = fn(&Value, &str) -> Value;

/// Rewrites all of a spec.
pub fn all(spec: &Value, prefix: &str) -> Value {
    decode_json(&rewrite(&print::json(spec), prefix)).unwrap_or_else(|_| spec.clone())
}

/// Rewrites conditions and merges of a spec that changes objects.
pub fn changes(spec: &Value, prefix: &str) -> Value {
    let Value::Map(mut m) = spec.clone() else { return spec.clone() };
    if let Some(conditions) = m.get("matchConditions").and_then(Value::as_list) {
        let moved =
            conditions.iter().map(|c| with_text(c, &["expression"], &|t| changing::expression(t, prefix)));
        let moved = Value::list(moved.collect());
        m.insert("matchConditions", moved);
    }
    if let Some(mutations) = m.get("mutations").and_then(Value::as_list) {
        let path = ["applyConfiguration", "expression"];
        let moved = mutations.iter().map(|c| with_text(c, &path, &|t| changing::merge(t, prefix)));
        let moved = Value::list(moved.collect());
        m.insert("mutations", moved);
    }
    Value::Map(m)
}

/// The value with the text at a path replaced.
fn with_text(v: &Value, path: &[&str], change: &dyn Fn(&str) -> String) -> Value {
    let Some((first, rest)) = path.split_first() else {
        return v.as_str().map_or_else(|| v.clone(), |t| change(t).into());
    };
    match (v, v.get(first)) {
        (Value::Map(m), Some(inner)) => {
            let mut m = m.clone();
            m.insert(*first, with_text(inner, rest, change));
            Value::Map(m)
        }
        _ => v.clone(),
    }
}

/// Whether a spec is about pods alone, so that it can have variants.
pub fn is_about_pods(spec: &Value) -> bool {
    spec.get("matchConstraints").and_then(only_pods).is_some()
}

/// The variants of a spec; none when it is not about pods alone.
pub fn variants(spec: &Value, rewriting: Rewriting) -> Vec<Variant> {
    let Some(constraints) = spec.get("matchConstraints") else { return Vec::new() };
    let Some(rule) = only_pods(constraints) else { return Vec::new() };
    let wanted = spec.at(&["autogen", "podControllers", "controllers"]).and_then(Value::as_list);
    let wanted: Vec<&str> = match wanted {
        Some(list) => list.iter().filter_map(Value::as_str).collect(),
        None => vec!["daemonsets", "deployments", "jobs", "replicasets", "statefulsets", "cronjobs"],
    };
    let mut out = Vec::new();
    let direct: Vec<(&str, &str, &str)> =
        DIRECT.into_iter().filter(|(name, ..)| wanted.contains(name)).collect();
    if !direct.is_empty() {
        out.push(variant(spec, constraints, rule, &direct, Some(DIRECT_PREFIX), rewriting));
    }
    if wanted.contains(&"cronjobs") {
        out.push(variant(
            spec,
            constraints,
            rule,
            &[("cronjobs", "batch", "v1")],
            Some(CRON_PREFIX),
            rewriting,
        ));
    }
    let others: Vec<(&str, &str, &str)> = wanted.iter().filter_map(|name| named(name)).collect();
    if !others.is_empty() {
        out.push(variant(spec, constraints, rule, &others, None, rewriting));
    }
    out
}

/// `<resource>.<version>.<group>`; names without a group have no effect.
fn named(text: &str) -> Option<(&str, &str, &str)> {
    let (resource, rest) = text.split_once('.')?;
    let (version, group) = rest.split_once('.').filter(|(_, group)| !group.is_empty())?;
    Some((resource, group, version))
}

/// The one rule of constraints that select pods and nothing else.
fn only_pods(constraints: &Value) -> Option<&Value> {
    let list = |v: &'_ Value, key: &str| v.get(key).and_then(Value::as_list).map_or(0, <[Value]>::len);
    let [rule] = constraints.get("resourceRules")?.as_list()? else { return None };
    let is = |key: &str, wanted: &str| matches!(rule.get(key).and_then(Value::as_list), Some([one]) if one.as_str() == Some(wanted));
    let plain = is("apiGroups", "") && is("apiVersions", "v1") && is("resources", "pods");
    let selects = constraints.get("objectSelector").is_some_and(|s| {
        list(s, "matchExpressions") > 0
            || s.get("matchLabels").and_then(Value::as_map).is_some_and(|m| !m.is_empty())
    });
    let open = list(rule, "resourceNames") == 0 && list(constraints, "excludeResourceRules") == 0;
    (plain && open && !selects).then_some(rule)
}

fn variant(
    spec: &Value,
    constraints: &Value,
    rule: &Value,
    targets: &[(&str, &str, &str)],
    prefix: Option<&str>,
    rewriting: Rewriting,
) -> Variant {
    let mut groups: Vec<(&str, &str)> = targets.iter().map(|(_, g, v)| (*g, *v)).collect();
    groups.sort_unstable();
    groups.dedup();
    let texts = |all: Vec<&str>| Value::list(all.into_iter().map(Value::from).collect());
    let rules = groups.into_iter().map(|(group, version)| {
        let mut names: Vec<&str> =
            targets.iter().filter(|(_, g, v)| (*g, *v) == (group, version)).map(|(n, ..)| *n).collect();
        names.sort_unstable();
        let mut m = Map::new();
        m.insert("apiGroups", texts(vec![group]));
        m.insert("apiVersions", texts(vec![version]));
        m.insert("resources", texts(names));
        m.insert("operations", rule.get("operations").cloned().unwrap_or_default());
        Value::Map(m)
    });
    let mut matching = Map::new();
    matching.insert("resourceRules", Value::list(rules.collect()));
    if let Some(selector) = constraints.get("namespaceSelector") {
        matching.insert("namespaceSelector", selector.clone());
    }
    let mut rewritten = match prefix {
        None => spec.clone(),
        Some(prefix) => rewriting(spec, prefix),
    };
    if let Value::Map(m) = &mut rewritten {
        m.insert(Str::from("matchConstraints"), Value::Map(matching));
    }
    let view = if prefix.is_some() { View::Request } else { View::PodTemplates };
    let name = match prefix {
        Some(CRON_PREFIX) => "cronjobs",
        Some(_) => "defaults",
        None => "extract",
    };
    Variant { name, spec: rewritten, view }
}

/// Puts the prefix in front of what is read from pods.
pub fn rewrite(text: &str, prefix: &str) -> String {
    let mut out = text.to_string();
    for field in ["spec", "metadata"] {
        for object in ["object", "oldObject"] {
            let to = format!("{object}.{prefix}.{field}");
            out = replaced(&out, &format!("{object}.{field}"), &to);
        }
    }
    out
}

/// Replaces all occurrences but those that read the namespace.
fn replaced(text: &str, from: &str, to: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    replace_where(text, from, to, |_, after| {
        after.strip_prefix(".namespace").is_none_or(|tail| tail.starts_with(is_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_from_the_pod_is_read_from_its_template() {
        let rewritten = |text| rewrite(text, DIRECT_PREFIX);
        assert_eq!(rewritten("object.spec is bad"), "object.spec.template.spec is bad");
        assert_eq!(rewritten("oldObject.metadata.name"), "oldObject.spec.template.metadata.name");
        assert_eq!(rewritten("request.object.spec"), "request.object.spec.template.spec");
    }

    #[test]
    fn the_namespace_stays_that_of_the_controller() {
        assert_eq!(
            rewrite("object.metadata.namespace == 'a'", CRON_PREFIX),
            "object.metadata.namespace == 'a'"
        );
        assert_eq!(
            rewrite("object.metadata.namespaceFoo", DIRECT_PREFIX),
            "object.spec.template.metadata.namespaceFoo"
        );
    }
}
