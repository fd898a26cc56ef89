//! Resource files: what is done to each document before a rule sees it.
//!
//! In: the text of a file. Out: one [`Document`] per object, in written order, lists expanded into
//! their items. `kind` and `apiVersion` are required; a namespaced object without namespace is put
//! into `default`; a null under the keys that hold maps of text becomes an empty object; integers
//! become doubles when the profile requires it. Semantics: `docs/cli.md`, resource sources.

use std::sync::Arc;

use super::intern::Interner;
use super::scope::{group_of, is_cluster_scoped};
use super::split::{Part, split};
use super::{Document, Duplicates, LoadError, yaml};
use crate::value::{Map, Value, parallel};

/// Choices of the profile that concern loading.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResourceOptions {
    /// Turn integers into doubles, as the reference's command line does.
    pub float_numbers: bool,
}

/// Streams below this size are parsed by the calling thread.
const PARALLEL_FROM: usize = 64 * 1024;

/// The resources of a stream.
///
/// # Errors
/// The first document that is no Kubernetes object, with the reference's text.
pub fn resources(source: &str, text: &str, options: ResourceOptions) -> Result<Vec<Document>, LoadError> {
    let source: Arc<str> = source.into();
    let parts = split(text).map_err(|(line, message)| LoadError { source: source.clone(), line, message })?;
    let load = |strings: &mut Interner, part: &Part<'_>| load_part(&source, part, options, strings);
    let loaded: Vec<Result<Vec<Document>, LoadError>> = if text.len() < PARALLEL_FROM || parts.len() < 2 {
        let mut strings = Interner::new();
        parts.iter().map(|part| load(&mut strings, part)).collect()
    } else {
        // A table per run of neighbours: what threads share, they also contend for.
        parallel::map_with(&parts, 64, Interner::new, load)
    };
    let mut out = Vec::with_capacity(loaded.len());
    for documents in loaded {
        out.extend(documents?);
    }
    Ok(out)
}

fn load_part(
    source: &Arc<str>,
    part: &Part<'_>,
    options: ResourceOptions,
    strings: &mut Interner,
) -> Result<Vec<Document>, LoadError> {
    let fault = |message: String| LoadError { source: source.clone(), line: part.line, message };
    let value =
        yaml::parse_sharing(part.text, Duplicates::LastWins, yaml::Words::Old, strings).map_err(fault)?;
    identify(&value, part.text).map_err(fault)?;
    let text: Arc<str> = part.text.into();
    let document = |value: Value| Document {
        value: finish(value, options),
        source: source.clone(),
        line: part.line,
        text: text.clone(),
    };
    let Some((items, inherited)) = list_items(&value) else { return Ok(vec![document(value)]) };
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        let item = inherit(item, inherited);
        identify(&item, part.text).map_err(fault)?;
        out.push(document(item));
    }
    Ok(out)
}

/// Checks that the document names its kind and version.
fn identify(value: &Value, text: &str) -> Result<(), String> {
    const TARGET: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let refused = |what: String| {
        Err(format!("couldn't get version/kind; json parse error: json: cannot unmarshal {what}"))
    };
    if !matches!(value, Value::Map(_) | Value::Null) {
        return refused(format!("{} into Go value of type {TARGET}", value.json_type()));
    }
    for (key, name) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
        match value.get(key) {
            Some(Value::Str(s)) if !s.is_empty() => {}
            None | Some(Value::Str(_) | Value::Null) => {
                return Err(format!("Object '{name}' is missing in '{text}'"));
            }
            Some(other) => {
                return refused(format!("{} into Go struct field .{key} of type string", other.json_type()));
            }
        }
    }
    let version = value.text_at(&["apiVersion"]);
    if version.split('/').count() > 2 {
        return Err(format!("unexpected GroupVersion string: {version}"));
    }
    Ok(())
}

/// The version and kind that the items of a typed list may leave out.
type Inherited<'v> = Option<(&'v str, &'v str)>;

/// The items of a `List` or a typed list (`PodList`).
fn list_items(value: &Value) -> Option<(&[Value], Inherited<'_>)> {
    let kind = value.text_at(&["kind"]);
    let item_kind = kind.strip_suffix("List")?;
    let items = value.get("items")?.as_list()?;
    // A custom kind may be called `…List` and have a field `items`: its items are no objects.
    if !items.iter().all(|i| i.as_map().is_some()) {
        return None;
    }
    let api_version = value.text_at(&["apiVersion"]);
    if item_kind.is_empty() {
        return (api_version == "v1").then_some((items, None));
    }
    Some((items, Some((api_version, item_kind))))
}

/// An item with the version and kind of its typed list where it has none of its own.
fn inherit(item: &Value, from: Inherited<'_>) -> Value {
    let (Some((api_version, kind)), Value::Map(fields)) = (from, item) else { return item.clone() };
    if fields.contains_key("kind") && fields.contains_key("apiVersion") {
        return item.clone();
    }
    let mut entries = Map::new();
    entries.insert("apiVersion", fields.get("apiVersion").cloned().unwrap_or_else(|| api_version.into()));
    entries.insert("kind", fields.get("kind").cloned().unwrap_or_else(|| kind.into()));
    for (k, v) in fields.iter() {
        entries.insert(k.clone(), v.clone());
    }
    Value::Map(entries)
}

fn finish(value: Value, options: ResourceOptions) -> Value {
    let mut value = value;
    fill_null_maps(&mut value);
    default_namespace(&mut value);
    if options.float_numbers { value.with_float_numbers() } else { value }
}

/// Puts a namespaced object without namespace into `default`.
pub fn default_namespace(value: &mut Value) {
    let group = group_of(value.text_at(&["apiVersion"]));
    if is_cluster_scoped(group, value.text_at(&["kind"]))
        || !value.text_at(&["metadata", "namespace"]).is_empty()
    {
        return;
    }
    let Value::Map(object) = value else { return };
    // Metadata of another type stays as it is.
    if object.get("metadata").is_none() {
        object.insert("metadata", Value::Map(Map::new()));
    }
    if let Some(Value::Map(metadata)) = object.get_mut("metadata") {
        metadata.insert("namespace", "default".into());
    }
}

/// Makes a null under the keys that hold maps of text an empty object, at any depth.
fn fill_null_maps(value: &mut Value) {
    if !has_null_map(value) {
        return;
    }
    match value {
        Value::List(items) => items.make_mut().iter_mut().for_each(fill_null_maps),
        Value::Map(object) => {
            let keys: Vec<_> = object.keys().cloned().collect();
            for key in keys {
                if let Some(member) = object.get_mut(&key) {
                    if member.is_null() && is_text_map(&key) {
                        *member = Value::Map(Map::new());
                    } else {
                        fill_null_maps(member);
                    }
                }
            }
        }
        _ => {}
    }
}

/// Nearly every document has none, and is then left unshared and uncopied.
fn has_null_map(value: &Value) -> bool {
    match value {
        Value::List(items) => items.iter().any(has_null_map),
        Value::Map(object) => object.iter().any(|(k, v)| (v.is_null() && is_text_map(k)) || has_null_map(v)),
        _ => false,
    }
}

fn is_text_map(key: &str) -> bool {
    matches!(key, "annotations" | "labels" | "matchLabels" | "nodeSelector" | "data" | "stringData")
}
