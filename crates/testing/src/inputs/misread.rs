//! Names and namespaces that YAML does not read as text.
//!
//! In: objects. Out: a warning about each such word, with its place.

use std::sync::Arc;

use ephor_document::Document;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, dotted, follow, parse};

/// Names and namespaces of objects that YAML does not read as text: Kyverno puts an object with
/// such a namespace into `default`.
pub(super) fn misread(documents: &[Document]) -> Vec<String> {
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
            out.extend(warning(d, whole, &path.collect::<Path>()));
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
fn warning(d: &Document, whole: &Value, path: &[PathPart]) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use ephor_document::ResourceOptions;

    use super::*;

    #[test]
    fn a_name_that_yaml_reads_as_something_else_is_named_at_its_place() {
        let of = |text: &str| {
            misread(
                &ephor_document::resources("r.yaml", text, ResourceOptions::default()).unwrap_or_default(),
            )
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
