//! Resource files: what is done to each document before a rule sees it.
//!
//! In: the text of a file. Out: one [`Document`] per object, in written order, lists expanded into
//! their items. `kind` and `apiVersion` are required; a namespaced object without namespace is put
//! into `default`; a null under the keys that hold maps of text becomes an empty object; integers
//! become doubles when the profile requires it. Semantics: `docs/reference/cli.md`, resource
//! sources.

use std::sync::Arc;

use super::intern::Interner;
use super::scope::{group_of, is_cluster_scoped};
use super::split::{Part, split, split_from};
use super::stream::{Form, ItemText, LIST_FROM, Piece};
use super::{Document, Duplicates, LoadError, yaml};
use ephor_value::{Map, Value, parallel};

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
    let loaded = documents(source, text, options)?;
    let mut out = Vec::with_capacity(loaded.len());
    for documents in loaded {
        out.extend(documents?);
    }
    Ok(out)
}

/// The resources of a stream, and the documents that are left out because they are no Kubernetes
/// objects.
///
/// # Errors
/// The first document that is not YAML.
pub fn objects(
    source: &str,
    text: &str,
    options: ResourceOptions,
) -> Result<(Vec<Document>, Vec<LoadError>), LoadError> {
    let (mut out, mut others) = (Vec::new(), Vec::new());
    for documents in documents(source, text, options)? {
        match documents {
            Ok(documents) => out.extend(documents),
            Err(error) if error.is_no_object() => others.push(error),
            Err(error) => return Err(error),
        }
    }
    Ok((out, others))
}

/// What a piece of a stream holds.
#[derive(Debug, Default)]
pub struct PieceObjects {
    /// How many documents, lines or items have text.
    pub parts: usize,
    /// The objects of each, or why it has none.
    pub documents: Vec<Result<Vec<Document>, LoadError>>,
}

/// The objects of a piece of a stream.
///
/// # Errors
/// The piece cannot be cut into documents, or the list whose items came before is none.
pub fn read(source: &Arc<str>, piece: &Piece, options: ResourceOptions) -> Result<PieceObjects, LoadError> {
    let mut strings = Interner::new();
    let fault = |line, problem| LoadError { source: source.clone(), line, problem };
    let mut out = PieceObjects::default();
    match &piece.form {
        Form::Documents => {
            let parts = split_from(&piece.text, piece.line).map_err(|e| fault(e.line, e.into()))?;
            out.parts = parts.len();
            let documents = parts.iter().map(|part| load_part(source, part, options, &mut strings));
            out.documents = documents.collect();
        }
        Form::Lines => {
            let lines = piece.text.lines().zip(piece.line..).filter(|(text, _)| !text.trim().is_empty());
            let parts = lines.map(|(text, line)| Part { text, line });
            out.documents = parts.map(|part| load_part(source, &part, options, &mut strings)).collect();
            out.parts = out.documents.len();
        }
        Form::Items { items, head } => {
            let list = yaml::parse(&closed(head), Duplicates::LastWins);
            let list = list.map_err(|e| fault(piece.line, e.into()))?;
            let item = |item: &ItemText| {
                let text = piece.text.get(item.range.clone()).unwrap_or_default();
                load_item(source, item, text, &list, options, &mut strings)
            };
            out.documents = items.iter().map(item).collect();
            out.parts = out.documents.len();
        }
        Form::ListEnd => {
            let list = yaml::parse(&piece.text, Duplicates::LastWins);
            let list = list.map_err(|e| fault(piece.line, e.into()))?;
            if list_items(&list).is_none() {
                return Err(fault(piece.line, ListError.into()));
            }
        }
    }
    Ok(out)
}

/// A list without items of which only the beginning is known.
fn closed(head: &str) -> String {
    match head.trim_end().strip_suffix('[') {
        Some(json) => format!("{json}[]}}"),
        None => head.to_string(),
    }
}

/// An item of a list that was cut; the dash of YAML is a blank of its first line.
fn load_item(
    source: &Arc<str>,
    item: &ItemText,
    text: &str,
    list: &Value,
    options: ResourceOptions,
    strings: &mut Interner,
) -> Result<Vec<Document>, LoadError> {
    let fault = |problem| LoadError { source: source.clone(), line: item.line, problem };
    let start = text.len() - text.trim_start().len();
    let text: Arc<str> = match text.get(start..).and_then(|rest| rest.strip_prefix('-')) {
        Some(rest) => format!("{} {rest}", text.get(..start).unwrap_or_default()).into(),
        None => text.into(),
    };
    let value = yaml::parse_sharing(&text, Duplicates::LastWins, yaml::Words::Old, strings)
        .map_err(|e| fault(e.into()))?;
    let kind = list.text_at(&["kind"]).strip_suffix("List").filter(|kind| !kind.is_empty());
    let value = inherit(&value, kind.map(|kind| (list.text_at(&["apiVersion"]), kind)));
    identify(&value, &text).map_err(|e| fault(e.into()))?;
    let is_inside = item.is_inside;
    let value = finish(value, options);
    Ok(vec![Document { value, source: source.clone(), line: item.line, text, item: None, is_inside }])
}

/// A document that is too long for an object of a cluster, has `items`, and is no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a document of more than {} MiB has `items`, but its kind is no list", LIST_FROM >> 20)]
pub struct ListError;

/// The resources of each document of a stream.
fn documents(
    source: &str,
    text: &str,
    options: ResourceOptions,
) -> Result<Vec<Result<Vec<Document>, LoadError>>, LoadError> {
    let source: Arc<str> = source.into();
    let parts =
        split(text).map_err(|e| LoadError { source: source.clone(), line: e.line, problem: e.into() })?;
    let load = |strings: &mut Interner, part: &Part<'_>| load_part(&source, part, options, strings);
    Ok(if text.len() < PARALLEL_FROM || parts.len() < 2 {
        let mut strings = Interner::new();
        parts.iter().map(|part| load(&mut strings, part)).collect()
    } else {
        // A table per run of neighbours: what threads share, they also contend for.
        parallel::map_with(&parts, 64, Interner::new, load)
    })
}

fn load_part(
    source: &Arc<str>,
    part: &Part<'_>,
    options: ResourceOptions,
    strings: &mut Interner,
) -> Result<Vec<Document>, LoadError> {
    let fault = |problem| LoadError { source: source.clone(), line: part.line, problem };
    let value = yaml::parse_sharing(part.text, Duplicates::LastWins, yaml::Words::Old, strings)
        .map_err(|e| fault(e.into()))?;
    identify(&value, part.text).map_err(|e| fault(e.into()))?;
    let text: Arc<str> = part.text.into();
    let document = |value: Value, item: Option<usize>| Document {
        value: finish(value, options),
        source: source.clone(),
        line: part.line,
        text: text.clone(),
        item,
        is_inside: false,
    };
    let Some((items, inherited)) = list_items(&value) else { return Ok(vec![document(value, None)]) };
    let mut out = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let item = inherit(item, inherited);
        identify(&item, part.text).map_err(|e| fault(e.into()))?;
        out.push(document(item, Some(at)));
    }
    Ok(out)
}

/// Why a document is no Kubernetes object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// It is no object at all, but of this type of JSON.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {0} into Go value of type \
         struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )]
    NoObject(&'static str),
    /// `kind` or `apiVersion` is no text.
    #[error(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go struct field .{field} of type string"
    )]
    NoText {
        /// The field.
        field: &'static str,
        /// The type of JSON that it has.
        found: &'static str,
    },
    /// `kind` or `apiVersion` is missing.
    #[error("Object '{name}' is missing in '{text}'")]
    Missing {
        /// The field as the message names it.
        name: &'static str,
        /// The document.
        text: Box<str>,
    },
    /// The version has more than one slash.
    #[error("unexpected GroupVersion string: {0}")]
    GroupVersion(Box<str>),
}

/// Checks that the document names its kind and version.
fn identify(value: &Value, text: &str) -> Result<(), ResourceError> {
    if !matches!(value, Value::Map(_) | Value::Null) {
        return Err(ResourceError::NoObject(value.json_type()));
    }
    for (key, name) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
        match value.get(key) {
            Some(Value::Str(s)) if !s.is_empty() => {}
            None | Some(Value::Str(_) | Value::Null) => {
                return Err(ResourceError::Missing { name, text: text.into() });
            }
            Some(other) => {
                return Err(ResourceError::NoText { field: key, found: other.json_type() });
            }
        }
    }
    let version = value.text_at(&["apiVersion"]);
    if version.split('/').count() > 2 {
        return Err(ResourceError::GroupVersion(version.into()));
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
