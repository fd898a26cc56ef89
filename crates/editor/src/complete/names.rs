//! Names of policies, rules, objects and files.

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use ephor_value::Value;
use ephor_value::place::{PathPart, follow};

use super::item::{CompletionItem, CompletionKind};
use crate::cursor::{Cursor, Style};
use crate::entry::Role;
use crate::index::Index;
use crate::span::Span;

/// Names that the value at the cursor could be.
pub(super) fn complete(index: &Index, file: &str, document: &Value, at: &Cursor) -> Vec<CompletionItem> {
    let keys: Vec<&str> = at
        .path
        .iter()
        .filter_map(|part| match part {
            PathPart::Key(key) => Some(&**key),
            PathPart::Index(_) => None,
        })
        .collect();
    let is_test = document.text_at(&["kind"]) == "Test";
    let names: BTreeSet<String> = match keys.as_slice() {
        ["policies"] if is_test => files_with(index, file, |role| role == Role::Policy),
        ["resources" | "targetResources" | "paramResources"] if is_test => {
            files_with(index, file, |role| role == Role::Object)
        }
        ["results", "policy"] if is_test => policies(index),
        ["results", "rule"] if is_test => rules(index, sibling(document, &at.path, "policy")),
        ["results", "resources"] if is_test => objects(index, None),
        [.., "exceptions", "policyName"] => policies(index),
        [.., "exceptions", "ruleNames"] => {
            let above = at.path.get(..at.path.len().saturating_sub(1)).unwrap_or_default();
            rules(index, sibling(document, above, "policyName"))
        }
        ["spec", "policyName"] | [.., "policyRefs", "name"] => policies(index),
        [.., "configMap", "name"] => objects(index, Some("ConfigMap")),
        [.., "configMap" | "metadata", "namespace"] | [.., "resources", "namespaces"] => {
            objects(index, Some("Namespace"))
        }
        _ => BTreeSet::new(),
    };
    let span = match &at.value {
        Some(value) if value.style != Style::Block => {
            Span { start: value.start, end: at.word.end.max(value.start) }
        }
        _ => at.word,
    };
    names.into_iter().map(|name| CompletionItem::new(name, CompletionKind::Name, span)).collect()
}

/// The text of another field of the mapping that has the field at a path.
fn sibling<'d>(document: &'d Value, path: &[PathPart], key: &str) -> &'d str {
    let above = path.get(..path.len().saturating_sub(1)).unwrap_or_default();
    follow(document, above).0.text_at(&[key])
}

fn policies(index: &Index) -> BTreeSet<String> {
    let parts = index.parts(Role::Policy).filter(|(.., part)| part.is_policy());
    parts.map(|(.., part)| part.name().to_string()).filter(|name| !name.is_empty()).collect()
}

fn rules(index: &Index, policy: &str) -> BTreeSet<String> {
    let policy = policy.rsplit('/').next().unwrap_or(policy);
    let parts = index.parts(Role::Policy).filter(|(.., part)| policy.is_empty() || part.name() == policy);
    let rules = parts.flat_map(|(.., part)| {
        part.value.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default().iter()
    });
    rules.map(|rule| rule.text_at(&["name"]).to_string()).filter(|name| !name.is_empty()).collect()
}

fn objects(index: &Index, kind: Option<&str>) -> BTreeSet<String> {
    let parts = index.parts(Role::Object).filter(|(.., part)| kind.is_none_or(|kind| part.kind() == kind));
    parts.map(|(.., part)| part.name().to_string()).filter(|name| !name.is_empty()).collect()
}

/// Files in the folder of a file and around it that have something, relative to the file.
fn files_with(index: &Index, file: &str, is_wanted: impl Fn(Role) -> bool) -> BTreeSet<String> {
    let folder = FilePath::new(file).parent().unwrap_or(FilePath::new(""));
    let above = folder.parent().unwrap_or(folder);
    let relative = |name: &str| {
        let path = FilePath::new(name);
        match path.strip_prefix(folder) {
            Ok(below) => Some(below.to_string_lossy().into_owned()),
            Err(_) => Some(format!("../{}", path.strip_prefix(above).ok()?.to_string_lossy())),
        }
    };
    let has = |parts: &[crate::entry::Part]| parts.iter().any(|part| is_wanted(part.role));
    let files = index.files().filter(|(name, state)| &***name != file && has(&state.good.parts));
    files.filter_map(|(name, _)| relative(name)).collect()
}
