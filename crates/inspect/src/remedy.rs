//! Changes of an object that a violated pattern says: the value that a field must have.
//!
//! In: an object with the text that it was read from, and the paths of the field and of the part of
//! the policy that decided. Out: a [`Fix`] of the text, where the pattern has constants. Editors
//! offer it, and reports show it.

use ephor_document::{locate, written};
use ephor_policies::load::LoadedPolicy;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, dotted, follow};

use crate::lint::{Fix, TextEdit};

/// An object in a text.
#[derive(Clone, Copy, Debug)]
pub struct WrittenObject<'o> {
    /// The text of its document.
    pub text: &'o str,
    /// Where it stands in the document; empty where it is the document.
    pub prefix: &'o [PathPart],
    /// What was read.
    pub value: &'o Value,
}

/// The change of the text that gives the field the value of the pattern, where that is a constant.
pub fn remedy(
    part: WrittenObject<'_>,
    loaded: &LoadedPolicy,
    decision: &[PathPart],
    field: &[PathPart],
) -> Option<Fix> {
    let is_pattern = decision.iter().any(|p| matches!(p, PathPart::Key(key) if &**key == "pattern"));
    let (wanted, followed) = follow(&loaded.document, decision);
    // JSON has quotes where YAML needs none.
    if !is_pattern || followed < decision.len() || part.text.trim_start().starts_with('{') {
        return None;
    }
    let Some(text) = constant(wanted) else { return whole(part, wanted, field) };
    let title = format!("set `{}` to `{text}`", dotted(field));
    let whole: Path = part.prefix.iter().chain(field).cloned().collect();
    let edit = match follow(part.value, field) {
        (Value::Map(_) | Value::List(_), followed) if followed == field.len() => return None,
        (_, followed) if followed == field.len() => replaced(part.text, &whole, &text)?,
        (_, followed) => inserted(part, field, followed, &format!(" {text}"))?,
    };
    Some(Fix { title, edits: vec![edit], is_safe: false })
}

/// The change that adds an object that is missing, where the pattern has constants for all of it.
fn whole(part: WrittenObject<'_>, wanted: &Value, field: &[PathPart]) -> Option<Fix> {
    let (_, followed) = follow(part.value, field);
    let lines = tree(wanted, 1).filter(|_| followed < field.len())?;
    let edit = inserted(part, field, followed, &lines)?;
    let title = format!("add `{}`", dotted(field));
    Some(Fix { title, edits: vec![edit], is_safe: false })
}

/// The lines below a key, from the line break behind its colon on.
fn tree(wanted: &Value, depth: usize) -> Option<String> {
    let fields = wanted.as_map().filter(|fields| !fields.is_empty() && depth < MAX_DEPTH)?;
    let line = |(key, value): (&ephor_value::Str, &Value)| {
        let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric());
        let value = constant(value).map(|text| format!(" {text}")).or_else(|| tree(value, depth + 1))?;
        is_plain.then(|| format!("\n{}{key}:{value}", "  ".repeat(depth)))
    };
    fields.iter().map(line).collect()
}

/// Levels of an object that is added at most; patterns have some.
const MAX_DEPTH: usize = 8;

/// A value of a pattern that is one value and no condition, as YAML.
fn constant(value: &Value) -> Option<String> {
    match value {
        Value::Bool(set) => Some(set.to_string()),
        Value::Int(number) => Some(number.to_string()),
        Value::Str(text) => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | ':' | '-');
            // Ranges and comparisons have these letters, too.
            let is_condition =
                text.starts_with('-') || text.split('-').all(|part| part.parse::<f64>().is_ok());
            let is_constant = !text.is_empty() && text.chars().all(is_plain) && !is_condition;
            match ephor_document::reads_as_text(text) {
                true => is_constant.then(|| text.to_string()),
                false => is_constant.then(|| format!("\"{text}\"")),
            }
        }
        _ => None,
    }
}

fn replaced(text: &str, path: &[PathPart], new: &str) -> Option<TextEdit> {
    let scalar = written::scalar(text, path)?;
    Some(TextEdit { range: scalar.range, text: new.into() })
}

/// A line, or some, with the fields that are missing; next to a field that is there.
fn inserted(part: WrittenObject<'_>, field: &[PathPart], followed: usize, new: &str) -> Option<TextEdit> {
    let (around, _) = follow(part.value, field.get(..followed)?);
    let missing: Vec<&str> = field
        .get(followed..)?
        .iter()
        .map(|part| match part {
            PathPart::Key(key) => Some(&**key),
            PathPart::Index(_) => None,
        })
        .collect::<Option<_>>()?;
    let text = part.text;
    let line_of = |key: &ephor_value::Str| {
        let path: Path = part
            .prefix
            .iter()
            .chain(field.get(..followed).unwrap_or_default())
            .cloned()
            .chain([PathPart::Key(key.clone())])
            .collect();
        let key = locate::part(text, &path)?.key?;
        let start = text.get(..key.start)?.rfind('\n').map_or(0, |at| at + 1);
        Some((start, text.get(start..key.start)?))
    };
    let lines: Vec<(usize, &str)> = around.as_map()?.iter().filter_map(|(key, _)| line_of(key)).collect();
    // A line that begins with the key, so that another one can stand before it.
    let (at, indent) = lines.iter().find(|(_, before)| before.chars().all(|c| c == ' '))?;
    let mut lines = String::new();
    for (depth, key) in missing.iter().enumerate() {
        let value = if depth + 1 == missing.len() { new } else { "" };
        let below = format!("\n{indent}{}", "  ".repeat(depth));
        lines.push_str(&format!("{indent}{}{key}:{}\n", "  ".repeat(depth), value.replace('\n', &below)));
    }
    Some(TextEdit { range: *at..*at, text: lines })
}
