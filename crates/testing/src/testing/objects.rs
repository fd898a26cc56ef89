//! Comparing objects with files that hold the expected ones.
//!
//! In: an object and a file. Out: whether the file's object of that kind and name equals it, and a
//! diff where it does not. Labels that name the generating rule, and empty parts, do not count.
//! Semantics: `docs/reference/test.md`, "Expected objects".

use ephor_document::write as yaml;
use ephor_document::{self, Document, ResourceOptions};
use ephor_report::diff;
use ephor_value::{Map, Str, Value};

use crate::inputs::identity::identity;

/// Why an object is not the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It differs: a diff for people.
    Differs(String),
    /// The file does not hold such an object.
    Missing(String),
    /// The file cannot be used.
    Unusable(String),
}

/// Compares an object with the one of its kind and name in a file; errors name the file `what`.
///
/// # Errors
/// See [`Mismatch`].
pub fn compare(object: &Value, path: &str, what: &str) -> Result<(), Mismatch> {
    let failed = |cause: String| format!("error: failed to load {what} resource ({cause})");
    let text = crate::inputs::read(path).map_err(|e| Mismatch::Unusable(failed(e.to_string())))?;
    let documents: Vec<Document> =
        ephor_document::resources(path, &text, ResourceOptions { float_numbers: true })
            .map_err(|e| Mismatch::Unusable(failed(e.to_string())))?;
    let mut object = object.clone();
    ephor_document::resource::default_namespace(&mut object);
    let wanted = identity(&object);
    let Some(expected) = documents.iter().find(|d| identity(&d.value) == wanted) else {
        let name = object.text_at(&["metadata", "name"]);
        return Err(Mismatch::Missing(failed(format!("resource with name {name} not found in manifest"))));
    };
    let (expected, got) = (comparable(&expected.value), comparable(&object));
    if expected.strict_eq(&got) {
        return Ok(());
    }
    let shown = |v: &Value| {
        let top: Map = [(Str::from("object"), v.with_whole_numbers())].into_iter().collect();
        yaml::to_string(&Value::Map(top), yaml::Style::Object)
    };
    Err(Mismatch::Differs(diff::lines(&shown(&expected), &shown(&got))))
}

/// An object as it is compared: with the label of generated objects, without those that name the
/// generating rule, without empty parts.
fn comparable(object: &Value) -> Value {
    let mut object = object.with_float_numbers();
    if let Value::Map(top) = &mut object {
        if !matches!(top.get("metadata"), Some(Value::Map(_))) {
            top.insert("metadata", Value::Map(Map::new()));
        }
        if let Some(Value::Map(metadata)) = top.get_mut("metadata") {
            let labels = metadata.get("labels").and_then(Value::as_map);
            let labels = labels.into_iter().flat_map(Map::iter);
            let labels = labels.filter(|(k, _)| !k.starts_with("generate.kyverno.io/"));
            let mut labels: Map = labels.map(|(k, v)| (k.clone(), v.clone())).collect();
            labels.insert("app.kubernetes.io/managed-by", Value::from("kyverno"));
            metadata.insert("labels", Value::Map(labels));
        }
    }
    without_empty(&object).unwrap_or_default()
}

/// A value without nulls and empty objects and lists, at any depth; `None` where nothing is left.
fn without_empty(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Map(entries) => {
            let left: Map =
                entries.iter().filter_map(|(k, v)| Some((k.clone(), without_empty(v)?))).collect();
            (!left.is_empty()).then_some(Value::Map(left))
        }
        Value::List(items) => {
            let left: Vec<Value> = items.iter().filter_map(without_empty).collect();
            (!left.is_empty()).then(|| Value::list(left))
        }
        other => Some(other.clone()),
    }
}
