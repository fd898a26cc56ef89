//! `match` and `exclude` blocks → matchers.

use ephor_ir::Origin;
use ephor_ir::matcher::{Filter, KindPattern, Matcher, Requirement, Selector, SetOperator, Subject};
use ephor_matching::kinds;
use ephor_value::wildcard::Wildcard;
use ephor_value::{Str, Value};

/// Lowers a block: `any` wins over `all`, `all` over the old inline form.
pub fn matcher(block: Option<&Value>, origin: &Origin) -> Matcher {
    let Some(block) = block else { return Matcher::never() };
    let filters = |key: &str| {
        block
            .get(key)
            .and_then(Value::as_list)
            .filter(|l| !l.is_empty())
            .map(|l| l.iter().enumerate().map(|(i, v)| filter(v, origin.key(key).index(i))).collect())
    };
    if let Some(any) = filters("any") {
        return Matcher::Any(any);
    }
    if let Some(all) = filters("all") {
        return Matcher::All(all);
    }
    Matcher::Any(Box::new([filter(block, origin.clone())]))
}

fn strings(v: &Value, key: &str) -> Box<[Str]> {
    let items = v.get(key).and_then(Value::as_list).unwrap_or_default();
    items.iter().filter_map(|s| s.as_str().map(Str::from)).collect()
}

fn wildcards(v: &Value, key: &str) -> Box<[Wildcard]> {
    strings(v, key).iter().map(|s| Wildcard::new(s.clone())).collect()
}

fn filter(v: &Value, origin: Origin) -> Filter {
    static NONE: Value = Value::Null;
    let r = v.get("resources").unwrap_or(&NONE);
    let annotations = r.get("annotations").and_then(Value::as_map).map_or_else(Box::default, |m| {
        m.iter()
            .map(|(k, v)| (Wildcard::new(k.clone()), Wildcard::new(v.as_str().unwrap_or_default())))
            .collect()
    });
    let name = r.text_at(&["name"]);
    // Lists of users count as soon as they are written, all others when they hold something.
    let written = |v: &Value, key: &str| v.get(key).is_some_and(|v| !v.is_null());
    let filled = |key: &str| match r.get(key) {
        Some(Value::List(l)) => !l.is_empty(),
        Some(Value::Map(m)) => !m.is_empty(),
        _ => false,
    };
    Filter {
        origin,
        has_resource: !name.is_empty()
            || ["kinds", "names", "namespaces", "annotations", "operations"].into_iter().any(filled)
            || written(r, "selector")
            || written(r, "namespaceSelector"),
        has_user: ["roles", "clusterRoles", "subjects"].iter().any(|key| written(v, key)),
        operations: strings(r, "operations"),
        kinds: strings(r, "kinds").iter().map(|k| kind(k)).collect(),
        name: (!name.is_empty()).then(|| Wildcard::new(name)),
        names: wildcards(r, "names"),
        namespaces: wildcards(r, "namespaces"),
        annotations,
        selector: r.get("selector").and_then(selector),
        namespace_selector: r.get("namespaceSelector").and_then(selector),
        roles: strings(v, "roles"),
        cluster_roles: strings(v, "clusterRoles"),
        subjects: v
            .get("subjects")
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .map(subject)
            .collect(),
    }
}

/// Compiles a kind selector.
pub fn kind(text: &str) -> KindPattern {
    let k = kinds::parse(text);
    KindPattern {
        group: Wildcard::new(k.group),
        version: Wildcard::new(k.version),
        kind: Wildcard::new(k.kind),
        subresource: Wildcard::new(k.subresource),
    }
}

fn subject(v: &Value) -> Subject {
    let name = v.text_at(&["name"]);
    let kind = v.text_at(&["kind"]);
    let name = match kind {
        "ServiceAccount" => format!("system:serviceaccount:{}:{name}", v.text_at(&["namespace"])),
        _ => name.to_string(),
    };
    Subject { kind: kind.into(), name: Wildcard::new(name) }
}

/// Lowers a label selector; `None` when it is null.
pub fn selector(v: &Value) -> Option<Selector> {
    let m = v.as_map()?;
    let labels = m.get("matchLabels").and_then(Value::as_map);
    let labels = labels
        .map(|m| m.iter().map(|(k, v)| (k.clone(), Str::from(v.as_str().unwrap_or_default()))).collect())
        .unwrap_or_default();
    let mut well_formed = true;
    let items = m.get("matchExpressions").and_then(Value::as_list).unwrap_or_default();
    let expressions = items
        .iter()
        .map(|e| {
            let operator = match e.text_at(&["operator"]) {
                "In" => SetOperator::In,
                "NotIn" => SetOperator::NotIn,
                "Exists" => SetOperator::Exists,
                "DoesNotExist" => SetOperator::DoesNotExist,
                _ => {
                    well_formed = false;
                    SetOperator::Exists
                }
            };
            Requirement { key: e.text_at(&["key"]).into(), operator, values: strings(e, "values") }
        })
        .collect();
    Some(Selector::new(labels, expressions, well_formed))
}
