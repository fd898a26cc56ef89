//! Rules as Kyverno writes them into a status.
//!
//! In: a rule after generation. Out: the same with the fields that Kyverno 1.19.1 writes whether
//! they have a value or not, so that tools which compare statuses find what they find there.
//! Recorded from Kyverno's own conversion of 737 policies.

use ephor_value::Value;

/// Fields that are always there, below the parts of a rule that are.
const ALWAYS: [(&[&str], &str, Empty); 13] = [
    (&["match"], "resources", Empty::Map),
    (&["match", "any", "*"], "resources", Empty::Map),
    (&["match", "all", "*"], "resources", Empty::Map),
    (&["exclude"], "resources", Empty::Map),
    (&["exclude", "any", "*"], "resources", Empty::Map),
    (&["exclude", "all", "*"], "resources", Empty::Map),
    (&["verifyImages", "*"], "validate", Empty::Map),
    (&["verifyImages", "*", "attestations", "*"], "predicateType", Empty::Text),
    (&["verifyImages", "*", "attestations", "*"], "type", Empty::Text),
    (&["validate", "manifests"], "dryRun", Empty::Map),
    (&["context", "*", "globalReference"], "name", Empty::Text),
    (&["context", "*", "apiCall"], "urlPath", Empty::Text),
    (&["context", "*", "apiCall", "service"], "caBundle", Empty::Text),
];

/// What a field without a value is written as.
#[derive(Clone, Copy)]
enum Empty {
    Map,
    Text,
}

/// A rule with the fields that are always there.
pub(super) fn written(rule: &Value) -> Value {
    ALWAYS.iter().fold(rule.clone(), |rule, (path, field, empty)| with(&rule, path, field, *empty))
}

/// A value with a field below a path, wherever the path leads to a map; `*` stands for each item of
/// a list.
fn with(value: &Value, path: &[&str], field: &str, empty: Empty) -> Value {
    match (path.split_first(), value) {
        (None, Value::Map(members)) if members.get(field).is_none_or(Value::is_null) => {
            let nothing = match empty {
                Empty::Map => Value::map([]),
                Empty::Text => "".into(),
            };
            value.with(field, nothing)
        }
        (Some((&"*", rest)), Value::List(items)) => {
            Value::list(items.iter().map(|item| with(item, rest, field, empty)).collect())
        }
        (Some((key, rest)), Value::Map(members)) => match members.get(key) {
            Some(part) => value.with(key, with(part, rest, field, empty)),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;
    use ephor_value::print::json;

    use super::*;

    fn shown(rule: &str) -> String {
        json(&written(&yaml_value(rule).unwrap()))
    }

    #[test]
    fn blocks_have_resources_and_nothing_is_added_to_parts_that_are_not_there() {
        let rule =
            "{name: r, match: {any: [{subjects: [{kind: User, name: a}]}, {resources: {kinds: [Pod]}}]}}";
        assert_eq!(
            shown(rule),
            r#"{"match":{"any":[{"resources":{},"subjects":[{"kind":"User","name":"a"}]},{"resources":{"kinds":["Pod"]}}],"resources":{}},"name":"r"}"#
        );
        assert_eq!(shown("{name: r, validate: {message: m}}"), r#"{"name":"r","validate":{"message":"m"}}"#);
    }

    #[test]
    fn images_and_data_of_rules_have_their_empty_fields() {
        assert_eq!(
            shown(
                "{verifyImages: [{attestations: [{type: t}]}], context: [{name: c, apiCall: {service: {url: u}}}]}"
            ),
            r#"{"context":[{"apiCall":{"service":{"caBundle":"","url":"u"},"urlPath":""},"name":"c"}],"verifyImages":[{"attestations":[{"predicateType":"","type":"t"}],"validate":{}}]}"#
        );
    }
}
