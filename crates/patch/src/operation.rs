//! JSON patches: texts → operations, and operations → documents.
//!
//! A text that begins with `[` is JSON, every other one YAML. All operations are checked before the
//! first one is run. Texts of errors are the reference's.

use ephor_document::spelling::{read, spelled, spelling};
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};
use serde::{Deserialize, Serialize};

/// A list of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JsonPatch {
    /// The operations in order.
    pub operations: Box<[Operation]>,
    /// Whether a value may be written otherwise than the same value in a document: the patch was
    /// given as JSON, with characters that documents escape.
    pub spelled: bool,
    /// The operations with numbers as they are written, where some are written otherwise than
    /// documents write them: `5.0`, `1e3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Box<[Operation]>>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Operation {
    /// Where, as a JSON pointer.
    pub path: Str,
    /// What.
    pub action: Action,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Sets a member or inserts an item.
    Add(Value),
    /// Removes a member or an item.
    Remove,
    /// Sets what is there.
    Replace(Value),
    /// Takes a value from the place it names to the path.
    Move(Str),
    /// Copies a value from the place it names.
    Copy(Str),
    /// Fails unless the value is there.
    Test(Option<Value>),
}

impl Action {
    /// The name of the operation.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Add(_) => "add",
            Action::Remove => "remove",
            Action::Replace(_) => "replace",
            Action::Move(_) => "move",
            Action::Copy(_) => "copy",
            Action::Test(_) => "test",
        }
    }
}

impl Operation {
    /// The operation as a JSON object.
    pub fn to_value(&self) -> Value {
        let mut m = Map::new();
        m.insert("op", Value::from(self.action.name()));
        match &self.action {
            Action::Move(from) | Action::Copy(from) => {
                m.insert("from", Value::Str(from.clone()));
            }
            _ => {}
        }
        m.insert("path", Value::Str(self.path.clone()));
        match &self.action {
            Action::Test(None) => {}
            Action::Add(v) | Action::Replace(v) | Action::Test(Some(v)) => {
                m.insert("value", v.clone());
            }
            _ => {}
        }
        Value::Map(m)
    }
}

/// Why a text is no patch, in the words of the patch library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// It begins like JSON and is none.
    #[error("failed to decode patches: invalid state detected")]
    NoJson,
    /// It is no YAML.
    #[error("failed to convert patchesJSON6902 to JSON: {0}")]
    NoYaml(#[from] ephor_document::yaml::YamlError),
    /// It is no list, but of this JSON type.
    #[error("failed to decode patches: json: cannot unmarshal {0} into Go value of type jsonpatch.Patch")]
    NoList(&'static str),
    /// An item is no object, but of this JSON type.
    #[error("failed to decode patches: json: cannot unmarshal {0} into Go value of type jsonpatch.Operation")]
    NoObject(&'static str),
    /// An operation lacks something.
    #[error("failed to decode patches: {0}")]
    Operation(#[from] InvalidOperation),
}

/// An operation that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid operation {operation}: {why}")]
pub struct InvalidOperation {
    /// The operation as JSON.
    pub operation: Box<str>,
    /// What is wrong with it.
    #[source]
    pub why: Defect,
}

/// What is wrong with an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Defect {
    /// It has none of the known names.
    #[error("unsupported operation")]
    Unsupported,
    /// It has no path.
    #[error("failed to decode 'path': operation missing path field: missing value")]
    NoPath,
    /// It has no place to take a value from.
    #[error("failed to decode 'from': operation, missing from field: missing value")]
    NoFrom,
    /// It has no value.
    #[error("failed to decode 'value': operation, missing value field: missing value")]
    NoValue,
    /// A field is no text.
    #[error("failed to decode '{field}': json: cannot unmarshal {found} into Go value of type string")]
    NoText {
        /// The field.
        field: &'static str,
        /// The JSON type that it has.
        found: &'static str,
    },
}

/// Reads a patch.
///
/// # Errors
/// The text does not parse, is no list of operations, or an operation lacks something.
pub fn decode(text: &str) -> Result<JsonPatch, OperationError> {
    let is_json = text.starts_with('[');
    let parsed = if is_json {
        ephor_document::json::parse(text)
            .or_else(|e| without_large(text).ok_or(e))
            .map_err(|_| OperationError::NoJson)?
    } else {
        ephor_document::yaml_value(text)?
    };
    let items: &[Value] = match &parsed {
        Value::List(items) => items,
        Value::Null => &[],
        other => {
            return Err(OperationError::NoList(other.json_type()));
        }
    };
    if let Some(other) = items.iter().find(|item| !matches!(item, Value::Map(_) | Value::Null)) {
        return Err(OperationError::NoObject(other.json_type()));
    }
    let operations = items.iter().map(operation).collect::<Result<Box<[Operation]>, _>>()?;
    // Text that came through YAML was written anew, with documents' escapes.
    let special = |o: &Operation| match &o.action {
        Action::Add(v) | Action::Replace(v) => v.any_text(&|s| s.contains(['<', '>', '&'])),
        _ => false,
    };
    let spelled = is_json && operations.iter().any(special);
    let written = if is_json { written(text) } else { None };
    Ok(JsonPatch { operations, spelled, written })
}

/// The operations of a JSON text in their [`spelling`], if a number among them is not written as
/// documents write it.
fn written(text: &str) -> Option<Box<[Operation]>> {
    let tree = spelling(text);
    let items = tree.as_list()?;
    let is_odd = |s: &str| {
        !s.starts_with('"') && !read(&Value::from(s)).is_ok_and(|v| spelled(&v).as_str() == Some(s))
    };
    if !items.iter().any(|item| item.get("value").is_some_and(|v| v.any_text(&is_odd))) {
        return None;
    }
    let one = |item: &Value| {
        let mut members = read(&small(item)).ok()?.as_map()?.clone();
        if let Some(value) = item.get("value") {
            members.insert("value", canonical(value));
        }
        operation(&Value::Map(members)).ok()
    };
    items.iter().map(one).collect()
}

/// The value of a JSON text with null for numbers that are larger than any double: only the patched
/// object is read into doubles.
fn without_large(text: &str) -> Option<Value> {
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    read(&small(&spelling(text))).ok()
}

fn small(tree: &Value) -> Value {
    match tree {
        Value::List(items) => Value::list(items.iter().map(small).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), small(v))).collect()),
        number if read(number).is_err() => Value::Null,
        other => other.clone(),
    }
}

/// A tree whose texts are written as documents write them.
fn canonical(tree: &Value) -> Value {
    match tree {
        Value::Str(s) if s.starts_with('"') => read(tree).map_or_else(|_| tree.clone(), |v| spelled(&v)),
        Value::List(items) => Value::list(items.iter().map(canonical).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), canonical(v))).collect()),
        other => other.clone(),
    }
}

/// Reads an operation.
///
/// # Errors
/// It lacks something.
pub fn operation(v: &Value) -> Result<Operation, InvalidOperation> {
    let broken = |why| InvalidOperation { operation: json(v).into(), why };
    let name = v.get("op").and_then(Value::as_str).unwrap_or_default();
    if !matches!(name, "add" | "remove" | "replace" | "move" | "copy" | "test") {
        return Err(broken(Defect::Unsupported));
    }
    let text = |field: &'static str, missing| match v.get(field) {
        Some(Value::Str(s)) => Ok(s.clone()),
        None => Err(broken(missing)),
        Some(other) => Err(broken(Defect::NoText { field, found: other.json_type() })),
    };
    let path = text("path", Defect::NoPath)?;
    let value = v.get("value").map(Value::with_whole_numbers);
    let needed = || value.clone().ok_or_else(|| broken(Defect::NoValue));
    let from = || text("from", Defect::NoFrom);
    let action = match name {
        "add" => Action::Add(needed()?),
        "replace" => Action::Replace(needed()?),
        "remove" => Action::Remove,
        "move" => Action::Move(from()?),
        "copy" => Action::Copy(from()?),
        _ => Action::Test(value.filter(|value| !value.is_null())),
    };
    Ok(Operation { path, action })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn operations_are_read_from_json_and_yaml_alike() {
        let json =
            decode(r#"[{"op":"add","path":"/a","value":{"m":1}},{"op":"move","from":"/a","path":"/b"}]"#);
        let yaml = decode("- {op: add, path: /a, value: {m: 1}}\n- {op: move, from: /a, path: /b}\n");
        let shown = |p: Result<JsonPatch, OperationError>| {
            p.map(|p| p.operations.iter().map(|o| super::json(&o.to_value())).collect::<Vec<_>>())
        };
        let wanted = vec![
            r#"{"op":"add","path":"/a","value":{"m":1}}"#.to_string(),
            r#"{"from":"/a","op":"move","path":"/b"}"#.to_string(),
        ];
        assert_eq!(shown(json), Ok(wanted.clone()));
        assert_eq!(shown(yaml), Ok(wanted));
    }

    #[test]
    fn unusual_numbers_of_json_keep_their_spelling() {
        let written = |text: &str| {
            let patch = decode(text).ok()?;
            patch.written.map(|all| all.iter().map(|o| super::json(&o.to_value())).collect::<Vec<_>>())
        };
        let odd = r#"[{"op":"test","path":"/a","value":{"n":[5.0,5],"t":"\u00e4"}}]"#;
        let expected = r#"{"op":"test","path":"/a","value":{"n":["5.0","5"],"t":"\"ä\""}}"#;
        assert_eq!(written(odd), Some(vec![expected.to_string()]));
        assert_eq!(written(r#"[{"op":"test","path":"/a","value":[5,0.5,1e-7,"5.0"]}]"#), None);
        assert_eq!(written("- {op: test, path: /a, value: 5.0}"), None);
    }

    #[test]
    fn numbers_larger_than_any_double_are_for_the_patched_object_to_refuse() {
        let patch = decode(r#"[{"op":"add","path":"/a","value":[1e400,-1e400]}]"#).unwrap();
        let all: Vec<String> =
            patch.written.iter().flat_map(|all| all.iter()).map(|o| super::json(&o.to_value())).collect();
        assert_eq!(all, [r#"{"op":"add","path":"/a","value":["1e400","-1e400"]}"#]);
        assert!(decode(r#"[{"op":"add","path":"/a","value":[1e400,-1e400}]"#).is_err());
    }

    #[test]
    fn whatever_an_operation_lacks_is_named() {
        let cause = |text: &str| decode(text).unwrap_err().to_string();
        assert!(cause("- {op: bogus, path: /a}").ends_with("unsupported operation"));
        assert!(cause("- {op: add, path: /a}").ends_with("missing value field: missing value"));
        assert!(cause("- {op: copy, path: /a}").ends_with("missing from field: missing value"));
        assert!(cause("- {op: remove}").ends_with("operation missing path field: missing value"));
        assert_eq!(cause("[{"), "failed to decode patches: invalid state detected");
        assert_eq!(
            cause("{a: 1}"),
            "failed to decode patches: json: cannot unmarshal object into Go value of type jsonpatch.Patch"
        );
    }
}
