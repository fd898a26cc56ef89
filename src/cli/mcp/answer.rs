//! Results of calls: JSON, and what texts show of it.

use serde_json::Value as Json;

/// The result of a call.
pub(super) struct ToolAnswer {
    /// As the schema of the tool has it.
    pub result: Json,
    /// For people, and for clients without structured results.
    pub text: String,
}

/// Takes a list out of an answer.
pub(super) fn taken(answer: &mut Json, name: &str) -> Vec<Json> {
    match answer.get_mut(name).map(Json::take) {
        Some(Json::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// The items of a member that is a list.
pub(super) fn items<'j>(value: &'j Json, name: &str) -> impl Iterator<Item = &'j Json> {
    value.get(name).and_then(Json::as_array).into_iter().flatten()
}

/// A member that is a text; empty where it is none.
pub(super) fn text<'j>(value: &'j Json, name: &str) -> &'j str {
    value.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// `FILE:LINE`; empty where there is no file.
pub(super) fn place(value: &Json) -> String {
    match (text(value, "file"), value.get("line").and_then(Json::as_u64)) {
        ("", _) => String::new(),
        (file, Some(line)) => format!("{file}:{line}"),
        (file, None) => file.into(),
    }
}

/// Notes as lines.
pub(super) fn noted(notes: &[String]) -> String {
    notes.iter().map(|note| format!("note: {note}\n")).collect()
}
