//! Rules whose exclude block leaves nothing of what match selects.
//!
//! Semantics: section 5.4 of the policy object specification. The comparison is the reference's:
//! exact equality of filters where both blocks use `any`, otherwise only the legacy parts are
//! read, so mixing the two forms may be refused although something would be left.

use crate::read::{entries, is_unwritten, listed, member, texts};
use ephor_value::{Map, Value, wildcard};

/// Whether the rule is refused because it seems to match nothing.
pub fn is_empty(rule: &Value) -> bool {
    let (Some(matched), Some(excluded)) = (member(rule, "match"), member(rule, "exclude")) else {
        return false;
    };
    let (any, all) = (|block| listed(block, "any"), |block| listed(block, "all"));
    if !all(matched).is_empty() || !all(excluded).is_empty() {
        return false;
    }
    if !any(matched).is_empty() && !any(excluded).is_empty() {
        return any(matched).iter().any(|m| any(excluded).iter().any(|e| same_filter(m, e)));
    }
    !is_unwritten(excluded) && covers(excluded, matched)
}

/// Equality of decoded filters: an empty `resources` and empty texts do not count, while an empty
/// list, map or selector is something.
fn same_filter(a: &Value, b: &Value) -> bool {
    let written = |filter: &Value| {
        let mut fields = members(filter, is_unwritten);
        if let Some(resources) = fields.get("resources") {
            let resources = members(resources, |v| v.as_str() == Some(""));
            fields.insert("resources", Value::Map(resources));
        }
        Value::Map(fields)
    };
    written(a).json_eq(&written(b))
}

/// The members of an object without null ones and those that `is_nothing`.
fn members(value: &Value, is_nothing: fn(&Value) -> bool) -> Map {
    let fields = value.as_map().cloned().unwrap_or_default();
    fields
        .iter()
        .filter(|(_, v)| !v.is_null() && !is_nothing(v))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

/// Whether the legacy part of `excluded` takes everything that the legacy part of `matched`
/// selects.
fn covers(excluded: &Value, matched: &Value) -> bool {
    let contains_all = |path: &[&str]| {
        let (mut ours, theirs) = (texts(matched, path), texts(excluded, path));
        let is_limited = theirs.clone().next().is_some();
        let is_empty = ours.clone().next().is_none();
        !is_limited || !is_empty && ours.all(|one| theirs.clone().any(|other| other == one))
    };
    if !contains_all(&["roles"]) || !contains_all(&["clusterRoles"]) || !subjects_cover(excluded, matched) {
        return false;
    }
    let name = excluded.text_at(&["resources", "name"]);
    if !name.is_empty() && !wildcard::matches(name, matched.text_at(&["resources", "name"])) {
        return false;
    }
    let mut names = texts(excluded, &["resources", "names"]).peekable();
    if names.peek().is_some() {
        let ours = texts(matched, &["resources", "names"]);
        return names.any(|excluded| ours.clone().any(|name| wildcard::matches(excluded, name)));
    }
    if !contains_all(&["resources", "namespaces"]) || !contains_all(&["resources", "kinds"]) {
        return false;
    }
    let empty = Value::default();
    let (ours, theirs) =
        (matched.get("resources").unwrap_or(&empty), excluded.get("resources").unwrap_or(&empty));
    for name in ["selector", "namespaceSelector"] {
        if let (Some(ours), Some(theirs)) = (member(ours, name), member(theirs, name))
            && !selector_covers(theirs, ours)
        {
            return false;
        }
    }
    for name in ["selector", "namespaceSelector", "annotations"] {
        if member(ours, name).is_some() != member(theirs, name).is_some() {
            return false;
        }
    }
    match (member(ours, "annotations"), member(theirs, "annotations")) {
        (Some(ours), Some(theirs)) => ours.json_eq(theirs),
        _ => true,
    }
}

fn subjects_cover(excluded: &Value, matched: &Value) -> bool {
    let (ours, theirs) = (listed(matched, "subjects"), listed(excluded, "subjects"));
    theirs.is_empty()
        || !ours.is_empty() && ours.iter().all(|one| theirs.iter().any(|other| other.json_eq(one)))
}

fn selector_covers(theirs: &Value, ours: &Value) -> bool {
    let expressions = listed(theirs, "matchExpressions");
    listed(ours, "matchExpressions").iter().all(|e| expressions.iter().any(|other| other.json_eq(e)))
        && entries(ours, "matchLabels").all(|(key, value)| {
            theirs.get("matchLabels").and_then(|labels| labels.get(key)).is_some_and(|v| v.json_eq(value))
        })
}
