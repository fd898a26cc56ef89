//! The recorded answers of Kyverno 1.19.1, for tests.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use ephor_samples::data;
use ephor_value::{Map, Str, Value};

/// The cases of one file, or nothing (with a printed line) where the recordings are absent.
pub fn cases(file: &str) -> Vec<Value> {
    data::recorded(&format!("engine/{file}")).unwrap().map(|path| read(&path)).unwrap_or_default()
}

/// The cases of one file of the repository's own recordings.
pub fn own_cases(file: &str) -> Vec<Value> {
    read(&data::repository().unwrap().join("conformance/reference").join(file))
}

fn read(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(parse).collect()
}

/// The policies of a case.
pub fn policies(case: &Value) -> Vec<Value> {
    match case.get("policies").and_then(Value::as_list) {
        Some(list) => list.to_vec(),
        None => case.get("policy").cloned().into_iter().collect(),
    }
}

/// JSON text as a value.
pub fn parse(json: &str) -> Value {
    convert(serde_json::from_str(json).unwrap())
}

fn convert(json: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(b),
        Json::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(i), _) => Value::Int(i),
            (None, Some(u)) => Value::UInt(u),
            _ => Value::Float(n.as_f64().unwrap()),
        },
        Json::String(s) => Value::from(s),
        Json::Array(items) => Value::List(items.into_iter().map(convert).collect()),
        Json::Object(fields) => {
            Value::Map(fields.into_iter().map(|(k, v)| (Str::from(k), convert(v))).collect::<Map>())
        }
    }
}

/// `value` without fields that are empty, at every level.
pub fn without_empty(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.iter().map(without_empty).collect()),
        Value::Map(fields) => {
            let fields = fields.iter().map(|(k, v)| (k.clone(), without_empty(v)));
            Value::Map(fields.filter(|(_, v)| !v.is_empty()).collect())
        }
        other => other.clone(),
    }
}
