//! Resource files of a run.
//!
//! In: resource arguments. Out: their objects, and warnings about arguments without objects.
//! Only the first argument has to be there. Semantics: `docs/reference/cli.md`, resource sources.

use std::sync::Arc;

use ephor_document::{self, Document, LoadError};
use ephor_engine::Profile;
use ephor_sources::files::Reading;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, dotted, follow, parse};

use crate::inputs::identity::identity;

/// The objects of resource arguments.
#[derive(Clone, Debug, Default)]
pub struct Resources {
    /// In order.
    pub documents: Vec<Document>,
    /// Objects with the identity of an earlier one, where only that counts.
    pub duplicates: Vec<Document>,
    /// Blocks of Kyverno about arguments that cannot be read.
    pub failed: Vec<String>,
    /// What changes nothing, for standard error.
    pub warnings: Vec<String>,
    /// Files and documents that are left out because they hold no objects, with their places.
    pub others: Vec<String>,
}

/// What counts as a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// How arguments are read.
    pub reading: Reading,
    /// Documents that are no objects are left out instead of ending the run.
    pub skips_others: bool,
    /// Of objects with one identity the first one counts.
    pub is_unique: bool,
}

impl Resources {
    /// Adds what follows.
    pub fn append(&mut self, more: Resources) {
        self.documents.extend(more.documents);
        self.duplicates.extend(more.duplicates);
        self.failed.extend(more.failed);
        self.warnings.extend(more.warnings);
        self.others.extend(more.others);
    }
}

/// Why the objects of a run cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct InputError {
    /// Kyverno's text.
    pub text: String,
    /// Where it is, and that it stops the run.
    pub place: Option<String>,
}

impl InputError {
    /// An argument that has to be there, of resources that are named `what`.
    pub(super) fn of(what: &str, cause: &str) -> InputError {
        InputError { text: format!("failed to load {what} ({cause})"), place: None }
    }

    /// A document that is no Kubernetes object.
    pub(super) fn at(what: &str, error: &LoadError) -> InputError {
        let place = format!("{}:{}: this document stops the run", error.source, super::line_of(error));
        InputError { place: Some(place), ..InputError::of(what, &error.to_string()) }
    }
}

/// Reads the objects of resource arguments; errors name them `what`.
///
/// # Errors
/// The first argument cannot be read, or a document is no Kubernetes object.
#[cfg(feature = "test-files")]
pub fn read(
    arguments: &[String],
    profile: Profile,
    what: &'static str,
    choice: Choice,
) -> Result<Resources, InputError> {
    super::objects::ObjectStream::open(arguments, profile, what, choice)?.rest()
}

/// Names and namespaces of objects that YAML does not read as text: Kyverno puts an object with
/// such a namespace into `default`.
pub(super) fn words(documents: &[Document]) -> Vec<String> {
    let mut out = Vec::new();
    // Items of a list share its text, which is read once.
    let mut last: Option<(&Arc<str>, Value)> = None;
    for d in documents {
        let is_text = |key| matches!(d.value.at(&["metadata", key]), None | Some(Value::Str(_)));
        if is_text("name") && is_text("namespace") && d.value.text_at(&["metadata", "namespace"]) != "default"
        {
            continue;
        }
        if !last.as_ref().is_some_and(|(text, _)| Arc::ptr_eq(text, &d.text)) {
            let is_read = d.text.lines().any(has_word);
            let whole =
                if is_read { ephor_document::yaml_value(&d.text).unwrap_or_default() } else { Value::Null };
            last = Some((&d.text, whole));
        }
        let Some((_, whole)) = last.as_ref().filter(|(_, whole)| !whole.is_null()) else { continue };
        let item = d.item.map(|at| vec![PathPart::Key("items".into()), PathPart::Index(at)]);
        for key in ["name", "namespace"] {
            let path = item.iter().flatten().cloned().chain(parse(&format!("metadata.{key}")));
            out.extend(misread(d, whole, &path.collect::<Path>()));
        }
    }
    out
}

/// Whether a line has a name or a namespace that is no text without quotes.
fn has_word(line: &str) -> bool {
    ["name:", "namespace:"].iter().flat_map(|key| line.split(key).skip(1)).any(|rest| {
        let end = |c: char| matches!(c, ',' | '}' | '#') || c.is_whitespace();
        let word = rest.trim_start().split(end).next().unwrap_or_default();
        !word.is_empty() && !ephor_document::reads_as_text(word)
    })
}

/// The warning about the value at a path that is no text.
fn misread(d: &Document, whole: &Value, path: &[PathPart]) -> Option<String> {
    let (value, depth) = follow(whole, path);
    let kind = match value {
        _ if depth < path.len() => return None,
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "a number",
        _ => return None,
    };
    let at = ephor_document::locate::locate(&d.text, path)?;
    let word: String = d.text.lines().nth(at.line - 1)?.chars().skip(at.col - 1).take(at.len).collect();
    let (line, field) = (d.line + at.line - 1, dotted(path));
    Some(format!("{}:{line}:{}: {field}: `{word}` is {kind} in YAML; write it in quotes", d.source, at.col))
}

/// The global context entries among objects.
pub fn global_entries(documents: &[Document]) -> Vec<Value> {
    let is_global = |v: &&Value| {
        v.text_at(&["kind"]) == "GlobalContextEntry" && v.text_at(&["apiVersion"]).starts_with("kyverno.io/")
    };
    documents.iter().map(|d| &d.value).filter(is_global).cloned().collect()
}

/// Separates duplicates: objects with the identity of an earlier one; the first one counts. Objects
/// without a name are never the same.
pub fn without_duplicates(documents: Vec<Document>) -> (Vec<Document>, Vec<Document>) {
    let mut seen = std::collections::HashSet::new();
    documents
        .into_iter()
        .partition(|d| d.value.text_at(&["metadata", "name"]).is_empty() || seen.insert(identity(&d.value)))
}

#[cfg(test)]
mod tests {
    use ephor_document::ResourceOptions;

    use super::*;

    #[test]
    fn a_name_that_yaml_reads_as_something_else_is_named_at_its_place() {
        let of = |text: &str| {
            words(&ephor_document::resources("r.yaml", text, ResourceOptions::default()).unwrap_or_default())
        };
        let pod = |metadata: &str| format!("apiVersion: v1\nkind: Pod\nmetadata: {metadata}\n");
        for (metadata, says) in [
            (
                "{name: a, namespace: n}",
                "r.yaml:3:32: metadata.namespace: `n` is a boolean in YAML; write it in quotes",
            ),
            (
                "{name: a, namespace: 12}",
                "r.yaml:3:32: metadata.namespace: `12` is a number in YAML; write it in quotes",
            ),
            (
                "{name: on, namespace: a}",
                "r.yaml:3:18: metadata.name: `on` is a boolean in YAML; write it in quotes",
            ),
        ] {
            assert_eq!(of(&pod(metadata)), [says]);
        }
        for metadata in [
            "{name: a, namespace: 'n'}",
            "{name: n1}",
            "{name: a, namespace: default}",
            "{name: a, labels: {name: y}}",
        ] {
            assert_eq!(of(&pod(metadata)), [""; 0], "{metadata}");
        }
        let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n- {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: y}}\n";
        assert_eq!(
            of(list),
            ["r.yaml:5:62: items[1].metadata.namespace: `y` is a boolean in YAML; write it in quotes"]
        );
    }
}
