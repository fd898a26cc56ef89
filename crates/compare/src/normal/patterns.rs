//! The leaves of overlay patterns, and the anchors that decide about others.

use ephor_ir::shape::Anchor;
use ephor_value::{Map, Str, Value};

/// The leaves of a pattern, each with the way to it.
pub(crate) fn leaves(pattern: &Value) -> Vec<Value> {
    match pattern {
        Value::Map(map) if !map.is_empty() && !map.keys().any(|key| is_joined(key)) => {
            let below = |(key, value): (&Str, &Value)| {
                let key = key.clone();
                let of = move |part| Value::Map(Map::from_unique(vec![(key.clone(), part)]));
                leaves(value).into_iter().map(of)
            };
            map.iter().flat_map(below).collect()
        }
        Value::List(items) if matches!(&**items, [Value::Map(_)]) => {
            items.iter().flat_map(leaves).map(|part| Value::list(vec![part])).collect()
        }
        other => vec![other.clone()],
    }
}

/// Whether a pattern has a global anchor anywhere.
pub(crate) fn has_global_anchor(pattern: &Value) -> bool {
    match pattern {
        Value::Map(map) => map.iter().any(|(key, below)| key.starts_with("<(") || has_global_anchor(below)),
        Value::List(items) => items.iter().any(has_global_anchor),
        _ => false,
    }
}

/// Whether a pattern has an anchor that decides about all of it: a global one, or a conditional
/// one. Where that of an object, or those of all items of a list, do not hold, the rule is skipped,
/// whatever is wrong elsewhere. What the items of an existence anchor say counts for them alone;
/// and containers and volumes have names in any case.
pub(crate) fn has_deciding_anchor(pattern: &Value) -> bool {
    let Value::Map(map) = pattern else { return false };
    map.iter().any(|(key, below)| {
        let is_named = matches!(
            Anchor::parse(key).1,
            "containers" | "initContainers" | "ephemeralContainers" | "volumes"
        );
        let is_any_name =
            |key: &str, value: &Value| key == "(name)" && matches!(value.as_str(), Some("*" | "?*"));
        let decides = |item: &Value| match item.as_map().filter(|_| is_named) {
            Some(item) => {
                let rest = item.iter().filter(|(key, value)| !is_any_name(key, value));
                has_deciding_anchor(&Value::Map(
                    rest.map(|(key, value)| (key.clone(), value.clone())).collect(),
                ))
            }
            None => has_deciding_anchor(item),
        };
        key.starts_with("<(")
            || (key.starts_with('(') && key.ends_with(')'))
            || (!key.starts_with("^(")
                && match below {
                    Value::List(items) => items.iter().any(decides),
                    below => has_deciding_anchor(below),
                })
    })
}

/// Whether the value of a key decides about its siblings: all but equality and negation anchors
/// may.
pub(crate) fn is_joined(key: &str) -> bool {
    let is_anchor = key.ends_with(')') && key.contains('(');
    is_anchor && !key.starts_with("=(") && !key.starts_with("X(")
}
