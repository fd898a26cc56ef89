//! Keys and values by the schema of the document.

use ephor_api::schema::kinds as policy_kinds;
use ephor_value::Value;
use ephor_value::place::{PathPart, follow};

use super::item::{CompletionItem, CompletionKind};
use crate::cursor::{Cursor, Style};
use crate::fields::{FieldInfo, Written, choices, field, fields, names_of_kinds};
use crate::index::Index;
use crate::text::Text;

/// The keys that the mapping at the cursor may still get.
pub(super) fn keys(index: &Index, text: &Text, document: &Value, at: &Cursor) -> Vec<CompletionItem> {
    let (present, followed) = follow(document, &at.path);
    let present = present.as_map().filter(|_| followed == at.path.len());
    let own = text.slice(at.word);
    let is_new = |field: &FieldInfo| {
        field.name == own || present.is_none_or(|map| map.get(field.name.as_str()).is_none())
    };
    let has_colon = text.as_str().get(at.word.end..).is_some_and(|rest| rest.starts_with(':'));
    let all = match at.path.is_empty() && document.text_at(&["kind"]).is_empty() {
        true => start(),
        false => fields(index, document, &at.path),
    };
    let offered = all.into_iter().filter(is_new).map(|field| {
        let behind = match (has_colon, field.written()) {
            (true, _) => "",
            (false, Written::Scalar) => ": ",
            // The value is on the next line, for which the editor knows the indentation.
            (false, _) => ":",
        };
        CompletionItem {
            insert: format!("{}{behind}", field.name),
            detail: Some(detail(&field)),
            note: field.note.map(Into::into),
            ..CompletionItem::new(field.name.as_str(), CompletionKind::Field, at.word)
        }
    });
    offered.collect()
}

/// The fields that every document begins with.
fn start() -> Vec<FieldInfo> {
    let one = |name: &str, kind: &str| FieldInfo {
        name: name.into(),
        kind: kind.into(),
        is_required: true,
        default: None,
        choices: Vec::new(),
        note: None,
    };
    vec![one("apiVersion", "text"), one("kind", "text"), one("metadata", "object"), one("spec", "object")]
}

/// The type of a field, and whether it has to be there.
pub(crate) fn detail(field: &FieldInfo) -> String {
    let required = if field.is_required { ", required" } else { "" };
    let default = field.default.as_ref().map(|text| format!(", default {text}")).unwrap_or_default();
    format!("{}{required}{default}", field.kind)
}

/// The values that the schema lists for the value at the cursor.
pub(super) fn values(index: &Index, document: &Value, at: &Cursor) -> Vec<CompletionItem> {
    let path = &at.path;
    let mut texts = choices(index, document, path);
    if texts.is_empty() {
        texts = field(index, document, path).map(|field| field.choices).unwrap_or_default();
    }
    let mut kind = CompletionKind::Value;
    if texts.is_empty() {
        texts = of_kinds(index, document, path);
        kind = CompletionKind::Kind;
    }
    let typed = at.value.as_ref().map_or("", |value| value.before.trim_start());
    let span = match &at.value {
        Some(value) if value.style != Style::Block => {
            crate::span::Span { start: value.start, end: at.word.end.max(value.start) }
        }
        _ => at.word,
    };
    let is_close = |text: &&String| text.to_lowercase().contains(&typed.to_lowercase()) || typed.is_empty();
    texts.iter().filter(is_close).map(|text| CompletionItem::new(text.as_str(), kind, span)).collect()
}

/// Kinds and versions.
fn of_kinds(index: &Index, document: &Value, path: &[PathPart]) -> Vec<String> {
    let keys: Vec<&str> = path
        .iter()
        .filter_map(|part| match part {
            PathPart::Key(key) => Some(&**key),
            PathPart::Index(_) => None,
        })
        .collect();
    match keys.as_slice() {
        ["kind"] => {
            let of_policies = policy_kinds().map(|(_, kind, _)| kind.to_string());
            let mut all: Vec<String> = of_policies.chain(names_of_kinds(index)).collect();
            all.dedup();
            all
        }
        ["apiVersion"] => versions(index, document.text_at(&["kind"])),
        [.., "resources", "kinds"] => names_of_kinds(index),
        [.., "resourceRules" | "excludeResourceRules", "resources"] => {
            let mut all: Vec<String> = index.kinds().all().iter().map(|r| r.plural.to_string()).collect();
            all.sort();
            all.dedup();
            all
        }
        [.., "resourceRules" | "excludeResourceRules", "operations"] => {
            ["CREATE", "UPDATE", "DELETE", "CONNECT", "*"].iter().map(ToString::to_string).collect()
        }
        [.., "resourceRules" | "excludeResourceRules", "apiGroups"] => {
            let mut all: Vec<String> = index.kinds().all().iter().map(|r| r.group.to_string()).collect();
            all.sort();
            all.dedup();
            all.retain(|group| !group.is_empty());
            all
        }
        [.., "generate" | "targets", "kind"] => names_of_kinds(index),
        _ => Vec::new(),
    }
}

/// The versions of a kind; all of policies where there is none yet.
fn versions(index: &Index, kind: &str) -> Vec<String> {
    let joined = |group: &str, version: &str| match group {
        "" => version.to_string(),
        _ => format!("{group}/{version}"),
    };
    let mut out: Vec<String> = policy_kinds()
        .filter(|(_, own, _)| kind.is_empty() || *own == kind)
        .flat_map(|(group, _, versions)| versions.into_iter().map(move |version| joined(group, version)))
        .collect();
    let of_kinds = index.kinds().named(kind).map(|r| joined(&r.group, &r.version));
    out.extend(of_kinds);
    let mut known = std::collections::BTreeSet::new();
    out.retain(|version| known.insert(version.clone()));
    out
}
