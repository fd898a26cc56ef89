//! Repairing tests and the files that they name: deprecated fields are moved, duplicates are
//! removed, entries are sorted.
//!
//! In: a document that has passed the strict check. Out: the document as it should be, and a line
//! on each repair. Fields that Kyverno no longer reads are moved first (`removed`). Semantics:
//! `docs/reference/cli.md`.
//!
//! - `removed`: fields of tests that older releases of Kyverno read and 1.19.1 refuses.

mod removed;

use crate::inputs::strict::{self, InJson, Object};
use crate::inputs::{user, values};
use ephor_value::{Map, Str, Value};

use super::schema::TEST;

/// A repaired document.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The document.
    pub value: Value,
    /// What was repaired, or cannot be.
    pub warnings: Vec<String>,
}

/// Reads and repairs a test; `base` is the name of a test that has none.
///
/// # Errors
/// Kyverno's text for a document that is no test.
pub fn test(document: &Value, base: &str, compress: bool) -> Result<Repaired, InJson> {
    let (document, moved) = removed::moved(document);
    let decoded = strict::decode(&document, &TEST).map_err(InJson)?;
    let mut fields = decoded.as_map().cloned().unwrap_or_default();
    let mut warnings = identify(&mut fields, "Test");
    warnings.extend(moved);
    let name = fields.remove("name").and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    let own = decoded.text_at(&["metadata", "name"]).to_owned();
    if !name.is_empty() {
        warnings.push("name is deprecated, moving it into `metadata.name`".into());
    } else if own.is_empty() {
        warnings.push("name is not set".into());
    }
    let name = match (name.is_empty(), own.is_empty()) {
        (false, _) => name,
        (true, false) => own,
        (true, true) => base.to_owned(),
    };
    let mut metadata = metadata(&fields);
    metadata.insert("name", Value::from(name));
    fields.insert("metadata", Value::Map(metadata));
    for (key, text) in [("policies", "test has no policies"), ("resources", "test has no resources")] {
        if list(&fields, key).is_empty() {
            warnings.push(text.into());
        }
        let items = distinct(&list(&fields, key));
        fields.insert(key, Value::list(items));
    }
    if let Some(payload) = fields.remove("jsonPayload").filter(|v| !v.is_null())
        && list(&fields, "jsonPayloads").is_empty()
    {
        fields.insert("jsonPayloads", Value::list(vec![payload]));
    }
    let mut results: Vec<Map> = list(&fields, "results").iter().filter_map(|v| v.as_map().cloned()).collect();
    for result in &mut results {
        for (key, what) in [("resources", "resources"), ("generatedResources", "generated resources")] {
            let given = list(result, key);
            let items = distinct(&given);
            if items.len() < given.len() {
                warnings.push(format!("test results contains duplicate {what}"));
                result.insert(key, Value::list(items));
            }
        }
    }
    let mut results = if compress { compressed(results) } else { results };
    results.sort_by_cached_key(order);
    let results = results.into_iter().map(|r| {
        let mut shown = without_empty(&r);
        shown.insert(
            "kind",
            r.get("kind").filter(|k| !k.is_null()).cloned().unwrap_or_else(|| Value::from("")),
        );
        Value::Map(shown)
    });
    fields.insert("results", Value::list(results.collect()));
    let mut globals = list(&fields, "globalContextEntries");
    for entry in &globals {
        let given = |key: &str| entry.get(key).is_some_and(|v| !is_empty(v));
        if !["data", "resources", "resourceFiles"].into_iter().any(given) {
            let name = entry.text_at(&["name"]);
            warnings.push(format!("globalContextEntries entry {name} has no data source"));
        }
    }
    globals.sort_by_key(|entry| entry.text_at(&["name"]).to_owned());
    fields.insert("globalContextEntries", Value::list(globals));
    Ok(Repaired { value: Value::Map(without_empty(&fields)), warnings })
}

/// Reads and repairs a user information file.
///
/// # Errors
/// The document is something else.
pub fn user_info(document: &Value) -> Result<Repaired, InJson> {
    auxiliary(document, &user::FILE, "UserInfo")
}

/// Reads and repairs a values file.
///
/// # Errors
/// The document is something else.
pub fn values(document: &Value) -> Result<Repaired, InJson> {
    auxiliary(document, &values::FILE, "Values")
}

/// Reads and repairs a file that a test names.
fn auxiliary(document: &Value, object: &'static Object, kind: &str) -> Result<Repaired, InJson> {
    let decoded = strict::decode(document, object).map_err(InJson)?;
    let mut fields = decoded.as_map().cloned().unwrap_or_default();
    let warnings = identify(&mut fields, kind);
    let metadata = metadata(&fields);
    fields.insert("metadata", Value::Map(metadata));
    Ok(Repaired { value: Value::Map(without_empty(&fields)), warnings })
}

/// Sets version and kind where they are missing.
fn identify(fields: &mut Map, kind: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let wanted = [("apiVersion", "api version", "cli.kyverno.io/v1alpha1"), ("kind", "kind", kind)];
    for (key, what, value) in wanted {
        if fields.get(key).and_then(Value::as_str).unwrap_or_default().is_empty() {
            warnings.push(format!("{what} is not set, setting `{value}`"));
            fields.insert(key, Value::from(value));
        }
    }
    warnings
}

/// Metadata without what a cluster writes.
fn metadata(fields: &Map) -> Map {
    let given = fields.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    let written = ["creationTimestamp", "generation", "uid"];
    let own = given.iter().filter(|(k, _)| !written.contains(&&***k));
    without_empty(&own.map(|(k, v)| (k.clone(), v.clone())).collect())
}

fn list(fields: &Map, key: &str) -> Vec<Value> {
    fields.get(key).and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default()
}

fn distinct(items: &[Value]) -> Vec<Value> {
    let mut unique: Vec<Value> = Vec::new();
    for item in items {
        if !unique.iter().any(|u| u.strict_eq(item)) {
            unique.push(item.clone());
        }
    }
    unique
}

fn is_empty(value: &Value) -> bool {
    value.is_empty() || value.as_bool() == Some(false)
}

fn without_empty(fields: &Map) -> Map {
    fields.iter().filter(|(_, v)| !is_empty(v)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

const LISTS: [&str; 3] = ["resources", "resourceSpecs", "generatedResources"];

/// Merges results that differ in their lists alone.
fn compressed(results: Vec<Map>) -> Vec<Map> {
    let mut merged: Vec<Map> = Vec::new();
    for result in results {
        let scalars = |m: &Map| {
            let fields = without_empty(m);
            Value::Map(
                fields
                    .iter()
                    .filter(|(k, _)| !LISTS.contains(&&***k))
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect(),
            )
        };
        match merged.iter_mut().find(|m| scalars(m).strict_eq(&scalars(&result))) {
            Some(same) => {
                for key in LISTS {
                    let mut all = list(same, key);
                    all.extend(list(&result, key));
                    if !all.is_empty() {
                        same.insert(key, Value::list(distinct(&all)));
                    }
                }
            }
            None => merged.push(result),
        }
    }
    merged
}

/// The order of results.
fn order(result: &Map) -> impl Ord + use<> {
    let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let sorted = |key: &str| {
        let mut all: Vec<Str> = list(result, key)
            .iter()
            .filter_map(|v| match v {
                Value::Str(s) => Some(s.clone()),
                _ => None,
            })
            .collect();
        all.sort();
        (all.len(), all)
    };
    (
        ["policy", "rule", "result", "kind", "generatedResource", "cloneSourceResource"].map(text),
        sorted("resources"),
        sorted("generatedResources"),
    )
}
