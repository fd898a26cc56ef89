//! Which operations a rule is about when its match names none.
//!
//! In: a rule as it was written. Out: the operations. A rule of a ClusterPolicy is evaluated on
//! every operation; nearly all are meant for creations and updates. Deletions are selected where a
//! rule names them and its preconditions do not exclude them; operations that its preconditions
//! exclude, or on which it cannot deny anything, are not selected.

use ephor_value::{Value, wildcard};

/// The operations in their usual order.
const ALL: [&str; 3] = ["CREATE", "UPDATE", "DELETE"];

/// The operations of a rule of a ClusterPolicy.
pub fn of_rule(rule: &Value) -> Vec<&'static str> {
    let parts = ["preconditions", "validate", "context", "mutate", "generate"];
    let names_deletions = parts
        .iter()
        .filter_map(|key| rule.get(key))
        .any(|part| part.any_text(&|text| text.contains("DELETE")));
    let conditions = [rule.get("preconditions"), rule.at(&["validate", "deny", "conditions"])];
    let can_hold = |operation: &str| conditions.iter().flatten().all(|block| can_hold(block, operation));
    let of = |wanted: &[&'static str]| -> Vec<&'static str> {
        wanted.iter().copied().filter(|operation| can_hold(operation)).collect()
    };
    // What reads no object denies its deletion as well.
    let reads = |text: &str| ["object", "Object", "element", "images"].iter().any(|word| text.contains(word));
    let reads_object = parts.iter().filter_map(|key| rule.get(key)).any(|part| part.any_text(&reads));
    let denies_all = rule.at(&["validate", "deny"]).is_some() && !reads_object;
    let wanted = if names_deletions || denies_all { &ALL[..] } else { ALL.get(..2).unwrap_or_default() };
    match of(wanted) {
        none if none.is_empty() => ALL.get(..2).unwrap_or_default().to_vec(),
        some => some,
    }
}

/// Whether conditions can hold on an operation: a list of which all must hold, or `any` and `all`.
fn can_hold(block: &Value, operation: &str) -> bool {
    let list = |v: Option<&Value>| v.and_then(Value::as_list).unwrap_or_default().to_vec();
    let (any, all) = match block {
        Value::List(items) => (Vec::new(), items.to_vec()),
        _ => (list(block.get("any")), list(block.get("all"))),
    };
    let is_false = |condition: &Value| holds(condition, operation) == Some(false);
    !all.iter().any(is_false) && (any.is_empty() || !any.iter().all(is_false))
}

/// Whether a condition holds on an operation; `None` = it depends on something else.
fn holds(condition: &Value, operation: &str) -> Option<bool> {
    let key = condition.text_at(&["key"]);
    let inner = key.trim().strip_prefix("{{")?.strip_suffix("}}")?;
    let query = inner.split("||").next().unwrap_or_default().trim();
    if query != "request.operation" || inner.contains("{{") {
        return None;
    }
    let values: Vec<&str> = match condition.get("value")? {
        Value::List(items) => items.iter().map(|v| v.as_str()).collect::<Option<_>>()?,
        one => vec![one.as_str()?],
    };
    if values.iter().any(|value| value.contains("{{")) {
        return None;
    }
    let is_one = values.iter().any(|value| wildcard::matches(value, operation));
    match condition.text_at(&["operator"]) {
        "Equals" | "Equal" | "In" | "AnyIn" | "AllIn" => Some(is_one),
        "NotEquals" | "NotEqual" | "NotIn" | "AnyNotIn" | "AllNotIn" => Some(!is_one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn of(rule: &str) -> Vec<&'static str> {
        of_rule(&ephor_document::yaml_value_strict(rule).unwrap())
    }

    #[test]
    fn rules_are_about_creations_and_updates_unless_they_name_deletions() {
        assert_eq!(of("{validate: {pattern: {}}}"), ["CREATE", "UPDATE"]);
        assert_eq!(
            of(
                "{validate: {deny: {conditions: {any: [{key: '{{request.operation}}', operator: Equals, value: DELETE}, {key: a, operator: Equals, value: b}]}}}}"
            ),
            ["CREATE", "UPDATE", "DELETE"]
        );
    }

    #[test]
    fn preconditions_exclude_operations() {
        let not_deleted = "{preconditions: {all: [{key: \"{{request.operation || 'BACKGROUND'}}\", operator: NotEquals, value: DELETE}]}}";
        assert_eq!(of(not_deleted), ["CREATE", "UPDATE"]);
        assert_eq!(
            of(
                "{preconditions: [{key: '{{ request.operation }}', operator: AnyIn, value: [UPDATE, DELETE]}]}"
            ),
            ["UPDATE", "DELETE"]
        );
        assert_eq!(
            of(
                "{validate: {deny: {conditions: {all: [{key: '{{request.operation}}', operator: Equals, value: DELETE}]}}}}"
            ),
            ["DELETE"]
        );
    }
}
