//! What is recorded of images: annotations that say which were verified, by policy and rule.

use std::collections::BTreeMap;

use ephor_document::decode_json;
use ephor_ir::Policy;
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};

const PLAIN: &str = "kyverno.io/verify-images";
const SCOPED: &str = "kyverno.io/verify-images-scoped";

/// The records of an object are no JSON.
#[derive(Debug, thiserror::Error)]
#[error("failed to parse scoped image metadata: {0}")]
pub struct UnreadableRecords(#[source] Box<dyn std::error::Error + Send + Sync>);

/// What came out, to be written down.
#[derive(Debug, Default)]
pub struct Records {
    plain: BTreeMap<String, &'static str>,
    scoped: Vec<([String; 3], &'static str)>,
    /// Images with their digests, by where they are written.
    pinned: Vec<(String, String)>,
}

fn key(policy: &Policy) -> String {
    format!("{}/{}", policy.namespace.as_deref().unwrap_or_default(), policy.name)
}

fn annotation<'v>(object: &'v Value, name: &str) -> &'v str {
    object.text_at(&["metadata", "annotations", name])
}

/// What an object says about an image, for a rule; only records of the form with policies count.
///
/// # Errors
/// The annotation is no JSON.
pub fn status(
    object: &Value,
    policy: &Policy,
    rule: &str,
    image: &str,
) -> Result<Option<&'static str>, UnreadableRecords> {
    let text = annotation(object, SCOPED);
    if text.is_empty() {
        return Ok(None);
    }
    let found = decode_json(text).map_err(|e| UnreadableRecords(e.into()))?;
    Ok(match found.text_at(&["policies", &key(policy), rule, image]) {
        "pass" => Some("pass"),
        "skip" => Some("skip"),
        _ => None,
    })
}

impl Records {
    /// Whether nothing came out.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty() && self.pinned.is_empty()
    }

    /// Writes an image with its digest where it is written.
    pub fn pin(&mut self, pointer: &str, image: String) {
        self.pinned.push((pointer.to_owned(), image));
    }

    /// Records an image.
    pub fn add(&mut self, policy: &Policy, rule: &str, image: &str, status: &'static str) {
        self.plain.insert(image.into(), status);
        self.scoped.push(([key(policy), rule.into(), image.into()], status));
    }

    /// Adds those of another rule.
    pub fn extend(&mut self, more: Records) {
        self.plain.extend(more.plain);
        self.scoped.extend(more.scoped);
        self.pinned.extend(more.pinned);
    }

    /// The object with the records.
    pub fn on(&self, object: &Value) -> Value {
        let plain: Map =
            self.plain.iter().map(|(image, status)| (Str::from(&**image), Value::from(*status))).collect();
        let mut policies = decode_json(annotation(object, SCOPED))
            .ok()
            .and_then(|v| v.get("policies").and_then(Value::as_map).cloned())
            .unwrap_or_default();
        for (path, status) in &self.scoped {
            insert(&mut policies, path, status);
        }
        let scoped: Map = [("version", Value::Int(1)), ("policies", Value::Map(policies))]
            .into_iter()
            .map(|(k, v)| (Str::from(k), v))
            .collect();
        let mut object = object.clone();
        for (pointer, image) in &self.pinned {
            let steps: Vec<&str> = pointer.split('/').filter(|s| !s.is_empty()).collect();
            object = written(&object, &steps, image);
        }
        if self.plain.is_empty() {
            return object;
        }
        if let Value::Map(top) = &mut object {
            if !matches!(top.get("metadata"), Some(Value::Map(_))) {
                top.insert("metadata", Value::Map(Map::new()));
            }
            if let Some(Value::Map(metadata)) = top.get_mut("metadata") {
                let mut all =
                    metadata.get("annotations").and_then(Value::as_map).cloned().unwrap_or_default();
                all.insert(PLAIN, Value::from(json(&Value::Map(plain))));
                all.insert(SCOPED, Value::from(json(&Value::Map(scoped))));
                metadata.insert("annotations", Value::Map(all));
            }
        }
        object
    }
}

/// The value with a text at a place that is there.
fn written(value: &Value, steps: &[&str], text: &str) -> Value {
    let Some((first, rest)) = steps.split_first() else { return Value::from(text) };
    match value {
        Value::Map(m) => {
            let mut m = m.clone();
            if let Some(inner) = m.get(first).map(|inner| written(inner, rest, text)) {
                m.insert(*first, inner);
            }
            Value::Map(m)
        }
        Value::List(items) => {
            let at = first.parse::<usize>().ok();
            let items = items.iter().enumerate();
            let items = items.map(|(i, v)| if Some(i) == at { written(v, rest, text) } else { v.clone() });
            Value::list(items.collect())
        }
        other => other.clone(),
    }
}

fn insert(map: &mut Map, path: &[String], status: &str) {
    match path {
        [] => {}
        [last] => {
            map.insert(last.as_str(), Value::from(status));
        }
        [first, rest @ ..] => {
            if !matches!(map.get(first.as_str()), Some(Value::Map(_))) {
                map.insert(first.as_str(), Value::Map(Map::new()));
            }
            if let Some(Value::Map(inner)) = map.get_mut(first.as_str()) {
                insert(inner, rest, status);
            }
        }
    }
}
