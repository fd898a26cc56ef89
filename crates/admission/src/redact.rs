//! Values of Secrets: they leave the process in answers to the API server alone.
//!
//! In: a review about a Secret, and what is written about it: texts, patches, results. Out: the
//! same with the mark of Kyverno's dumps in the place of each value, as text and in base64,
//! wherever it stands. Reviews about anything else are written as they are. Semantics:
//! `docs/reference/serve.md`, "The audit log".

use base64::Engine;

use crate::admit::{Decision, Incoming};
use ephor_document::json;
use ephor_engine::RuleOutcome;
use ephor_patch::Operation;
use ephor_value::print::write_json_string;
use ephor_value::replace::replace_where;
use ephor_value::{Map, Value};

/// The replacement of a value.
const MARK: &str = "**REDACTED**";
/// The annotation in which a client keeps the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Shorter values are found only as whole texts.
const SHORT: usize = 4;

/// See the module page.
pub struct Redactor {
    /// The values in all their forms, the longest first.
    values: Vec<String>,
}

impl Redactor {
    /// For a review; `None` when it is not about Secrets.
    pub fn of(incoming: &Incoming) -> Option<Redactor> {
        let core = |key: &str| incoming.text(&[key, "group"]).is_empty();
        let is_secret = (core("kind") && incoming.text(&["kind", "kind"]) == "Secret")
            || (core("resource") && incoming.text(&["resource", "resource"]) == "secrets");
        let objects = ["object", "oldObject"].map(|key| incoming.object(key));
        (is_secret || objects.iter().any(may_hold)).then(|| Redactor::with(&objects, is_secret))
    }

    /// For a stored object; `None` when it is no Secret.
    pub fn of_object(object: &Value) -> Option<Redactor> {
        may_hold(object).then(|| Redactor::with(std::slice::from_ref(object), false))
    }

    fn with(objects: &[Value], is_secret: bool) -> Redactor {
        let mut redactor = Redactor { values: Vec::new() };
        objects.iter().for_each(|object| redactor.collect(object, is_secret));
        redactor.values.sort_by(|a, b| (b.len(), a).cmp(&(a.len(), b)));
        redactor.values.dedup();
        redactor
    }

    /// Collects the values of an object, and of the items of a list.
    fn collect(&mut self, object: &Value, is_secret: bool) {
        let mut waiting = vec![(object.clone(), is_secret)];
        while let Some((object, is_secret)) = waiting.pop() {
            if is_secret || object.text_at(&["kind"]) == "Secret" {
                for text in members(&object, "data") {
                    let decoded = base64::engine::general_purpose::STANDARD.decode(text.trim());
                    if let Some(decoded) = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
                        self.add(&decoded);
                    }
                    self.add(text);
                }
                for text in members(&object, "stringData") {
                    self.add(text);
                    self.add(&base64::engine::general_purpose::STANDARD.encode(text));
                }
                let applied = object.text_at(&["metadata", "annotations", LAST_APPLIED]);
                if !applied.is_empty() {
                    self.add(applied);
                    // It has no annotation of its own.
                    waiting.extend(json::parse(applied).ok().map(|applied| (applied, true)));
                }
            }
            let items = object.get("items").and_then(Value::as_list).unwrap_or_default();
            waiting.extend(items.iter().map(|item| (item.clone(), false)));
        }
    }

    /// Adds a value as it is, without blanks around it, and as JSON has it.
    fn add(&mut self, text: &str) {
        let mut quoted = String::new();
        write_json_string(&mut quoted, text);
        let quoted = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        for form in [text, text.trim(), quoted] {
            if !form.is_empty() {
                self.values.push(form.to_string());
            }
        }
    }

    /// A text without the values.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_string();
        for value in &self.values {
            if !text.contains(value.as_str()) {
                continue;
            }
            text = match value.len() < SHORT {
                false => text.replace(value.as_str(), MARK),
                true => alone(&text, value),
            };
        }
        text
    }

    /// A value without those of Secrets: the members that hold them, and texts that contain them.
    fn value(&self, value: &Value) -> Value {
        match value {
            Value::Str(text) => self.text(text).into(),
            Value::List(items) => Value::list(items.iter().map(|v| self.value(v)).collect()),
            Value::Map(fields) => Value::Map(
                fields
                    .iter()
                    .map(|(key, v)| {
                        let v = match &**key {
                            "data" | "stringData" => marked(v),
                            LAST_APPLIED => MARK.into(),
                            _ => self.value(v),
                        };
                        (key.clone(), v)
                    })
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// An operation of a patch as it is written.
    pub fn operation(&self, operation: &Operation) -> Value {
        let mut fields = match operation.to_value() {
            Value::Map(fields) => fields,
            other => return self.value(&other),
        };
        let path: &str = &operation.path;
        let is_data = ["/data", "/stringData"]
            .iter()
            .any(|at| path.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
        let is_applied = path.ends_with(&LAST_APPLIED.replace('/', "~1"));
        if let Some(value) = fields.get("value").cloned() {
            let value = if is_data || is_applied { marked(&value) } else { self.value(&value) };
            fields.insert("value", value);
        }
        Value::Map(fields)
    }

    /// A result as it is written.
    pub fn result(&self, result: &RuleOutcome) -> RuleOutcome {
        let mut result = result.clone();
        result.message = self.text(&result.message).into();
        for (_, value) in &mut result.properties {
            *value = self.text(value).into();
        }
        result
    }
}

/// Whether an object is a Secret, or a list that may have some.
fn may_hold(object: &Value) -> bool {
    let kind = object.text_at(&["kind"]);
    kind == "Secret" || kind.ends_with("List")
}

/// The message of a denial as it is written.
pub fn message(incoming: &Incoming, decision: &Decision) -> Option<String> {
    let denial = decision.answer.denial.as_ref()?;
    Some(Redactor::of(incoming).map_or_else(|| denial.message.clone(), |r| r.text(&denial.message)))
}

/// The texts in a member of an object.
fn members<'o>(object: &'o Value, key: &str) -> impl Iterator<Item = &'o str> {
    let fields = object.get(key).and_then(Value::as_map);
    fields.into_iter().flat_map(Map::values).filter_map(Value::as_str)
}

/// Data with the mark in the place of each value.
fn marked(data: &Value) -> Value {
    match data {
        Value::Map(fields) => Value::Map(fields.keys().map(|k| (k.clone(), MARK.into())).collect::<Map>()),
        Value::Null => Value::Null,
        _ => MARK.into(),
    }
}

/// Replaces a short value where it is no part of a word.
fn alone(text: &str, value: &str) -> String {
    replace_where(text, value, MARK, |before, after| {
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::admit::incoming::decode;
    use ephor_patch::diff::diff;

    fn incoming(object: &str) -> Incoming {
        let text = format!(
            r#"{{"request":{{"uid":"u","kind":{{"group":"","version":"v1","kind":"Secret"}},"object":{object},
            "oldObject":{{"kind":"Secret","apiVersion":"v1","data":{{"a":"b2xkZXItb25l"}}}}}}}}"#
        );
        decode("application/json", text.as_bytes()).unwrap()
    }

    #[test]
    fn values_of_secrets_are_found_in_texts_in_all_their_forms() {
        let applied = r#"{\"kind\":\"Secret\",\"stringData\":{\"p\":\"applied-one\"}}"#;
        let object = format!(
            r#"{{"kind":"Secret","apiVersion":"v1","metadata":{{"annotations":{{"{LAST_APPLIED}":"{applied}"}}}},
            "data":{{"p":"aHVudGVyMg==","q":"YQ=="}},"stringData":{{"s":"plain \"one\""}}}}"#
        );
        let redactor = Redactor::of(&incoming(&object)).unwrap();
        for text in [
            "x hunter2 y",
            "aHVudGVyMg==",
            "older-one",
            "applied-one",
            "plain \"one\"",
            "{\"s\":\"plain \\\"one\\\"\"}",
            "key a.",
        ] {
            let redacted = redactor.text(text);
            assert!(redacted.contains(MARK), "{text}: {redacted}");
            assert!(!redacted.contains("one") && !redacted.contains("hunter2"), "{redacted}");
        }
        assert_eq!(redactor.text("other words stay"), "other words stay");
    }

    #[test]
    fn patches_keep_their_paths_alone() {
        let incoming = incoming(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg=="}}"#);
        let redactor = Redactor::of(&incoming).unwrap();
        let changed = json::parse(&format!(
            r#"{{"kind":"Secret","data":{{"p":"bmV3ZXI=","r":"bmV3"}},"metadata":{{"labels":{{"l":"v-hunter2","m":"n"}},"annotations":{{"{LAST_APPLIED}":"x"}}}}}}"#
        ))
        .unwrap();
        let patch: Vec<Value> =
            diff(&incoming.object("object"), &changed).iter().map(|o| redactor.operation(o)).collect();
        let text = ephor_value::print::json(&Value::list(patch));
        assert!(!["bmV3", "hunter2", "aHVu", "\"x\""].iter().any(|secret| text.contains(secret)), "{text}");
        assert!(text.contains("\"m\":\"n\"") && text.contains("/data/p"), "{text}");
    }

    #[test]
    fn reviews_about_other_objects_are_written_as_they_are() {
        let text = r#"{"request":{"uid":"u","kind":{"kind":"ConfigMap"},"object":{"kind":"ConfigMap","data":{"a":"b"}}}}"#;
        assert!(Redactor::of(&decode("application/json", text.as_bytes()).unwrap()).is_none());
    }
}
