//! What the schema of a policy refuses, each part at its place and with what was probably meant.
//!
//! A document with unknown fields is repaired (fields that are close to one that exists are renamed, others are removed)
//! and checked again, so that one misspelt field does not hide what else is wrong.

use crate::api::schema::{self, Problem, SchemaError};
use crate::value::place::{Path, PathPart, dotted, follow};
use crate::value::suggest::did_you_mean;
use crate::value::{Map, Value, print};

use super::finding::Severity;
use super::subject::{Spot, Subject};

/// How often a document is repaired.
const ROUNDS: usize = 8;

/// What is left of a document after the check.
pub(super) struct Checked {
    /// The document, repaired.
    pub(super) document: Value,
    /// Whether it differs from what is written.
    pub(super) repaired: bool,
    /// Whether it fits its schema now.
    pub(super) fits: bool,
}

/// Reports what the schema refuses.
pub(super) fn check(subject: &mut Subject<'_>, written: &Value) -> Checked {
    let mut document = written.clone();
    for round in 0..ROUNDS {
        let problems = match schema::check(&document) {
            Ok(_) => return Checked { document, repaired: round > 0, fits: true },
            Err(SchemaError::UnknownFields(problems)) => problems,
            Err(error) => {
                other(subject, &document, &error);
                return Checked { document, repaired: round > 0, fits: false };
            }
        };
        let (api_version, kind) = (document.text_at(&["apiVersion"]), document.text_at(&["kind"]));
        let (api_version, kind) = (api_version.to_string(), kind.to_string());
        for problem in problems {
            let Some((PathPart::Key(name), above)) = problem.path.split_last() else { continue };
            let fields = schema::fields_at(&api_version, &kind, above);
            let meant = did_you_mean(name, &fields);
            unknown(subject, &problem.path, name, meant);
            let is_free = meant.filter(|meant| follow(&document, above).0.get(meant).is_none());
            document = renamed(&document, above, name, is_free);
        }
    }
    Checked { document, repaired: true, fits: false }
}

fn unknown(subject: &mut Subject<'_>, path: &Path, name: &str, meant: Option<&str>) {
    let above = path.split_last().map(|(_, above)| dotted(above)).filter(|above| !above.is_empty());
    let place = above.map(|above| format!(" in `{above}`")).unwrap_or_default();
    let message = format!("unknown field `{name}`{place}");
    let help = meant.map(|meant| format!("did you mean `{meant}`?"));
    subject.report("unknown-field", Severity::Error, path, Spot::Key, message, help);
}

/// The document with a member of the object at `path` renamed, or without it.
fn renamed(value: &Value, path: &[PathPart], name: &str, to: Option<&str>) -> Value {
    match (value, path.split_first()) {
        (Value::Map(fields), None) => {
            let members = fields.iter().filter_map(|(key, part)| match (**key == *name, to) {
                (false, _) => Some((key.clone(), part.clone())),
                (true, Some(to)) => Some((to.into(), part.clone())),
                (true, None) => None,
            });
            Value::Map(members.collect::<Map>())
        }
        (Value::Map(fields), Some((PathPart::Key(key), rest))) => {
            let parts = fields.iter().map(|(k, part)| match *k == *key {
                true => (k.clone(), renamed(part, rest, name, to)),
                false => (k.clone(), part.clone()),
            });
            Value::Map(parts.collect::<Map>())
        }
        (Value::List(items), Some((PathPart::Index(index), rest))) => {
            let parts = items.iter().enumerate().map(|(i, part)| match i == *index {
                true => renamed(part, rest, name, to),
                false => part.clone(),
            });
            Value::list(parts.collect())
        }
        (other, _) => other.clone(),
    }
}

fn other(subject: &mut Subject<'_>, document: &Value, error: &SchemaError) {
    if error.problems().is_empty() {
        subject.add("schema", Severity::Error, None, error.to_string(), None);
    }
    for problem in error.problems() {
        refused(subject, document, problem);
    }
}

fn refused(subject: &mut Subject<'_>, document: &Value, problem: &Problem) {
    let (value, depth) = follow(document, &problem.path);
    let is_there = depth == problem.path.len();
    let place = dotted(&problem.path);
    if problem.is_type && is_there {
        let wanted = problem.text.split_once("must be of type ").map(|(_, rest)| rest);
        let wanted = wanted.and_then(|rest| rest.split(':').next()).unwrap_or("another type");
        let found = schema_type(value);
        let written = subject.written(&problem.path).unwrap_or_default();
        let is_scalar = !matches!(value, Value::Map(_) | Value::List(_) | Value::Null);
        let (message, help) = match (value, wanted) {
            (Value::Bool(_), "string") if !matches!(&*written, "true" | "false") => (
                format!("`{place}` must be a string: `{written}` is a boolean in YAML 1.1"),
                Some(format!("quote it: \"{written}\"")),
            ),
            (_, "string") if is_scalar => {
                (format!("`{place}` must be a string, not {found}"), Some(format!("quote it: \"{written}\"")))
            }
            _ => (format!("`{place}` must be {}, not {found}", article(wanted)), None),
        };
        return subject.report("wrong-type", Severity::Error, &problem.path, Spot::Value, message, help);
    }
    if let Some((value, choices)) = problem
        .text
        .split_once("Unsupported value: ")
        .and_then(|(_, rest)| rest.split_once(": supported values: "))
    {
        let names: Vec<&str> = choices.split(", ").map(|c| c.trim_matches('"')).collect();
        let value = value.trim_matches('"');
        let help = match did_you_mean(value, &names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("write one of {}", names.join(", ")),
        };
        let message = format!("`{place}` cannot be `{value}`");
        return subject.report("schema", Severity::Error, &problem.path, Spot::Value, message, Some(help));
    }
    if problem.text.ends_with(": Required value") && !is_there {
        let Some((PathPart::Key(name), above)) = problem.path.split_last() else { return };
        let message = match above.is_empty() {
            true => format!("the field `{name}` is missing"),
            false => format!("`{}` has no field `{name}`", dotted(above)),
        };
        return subject.report("schema", Severity::Error, above, Spot::Value, message, None);
    }
    let spot = if is_there { Spot::Value } else { Spot::Key };
    subject.report("schema", Severity::Error, &problem.path, spot, problem.text.clone(), None);
}

fn schema_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::UInt(_) => "an integer",
        Value::Float(_) => "a number",
        Value::Str(_) => "a string",
        Value::List(_) => "a list",
        _ => "an object",
    }
}

fn article(wanted: &str) -> String {
    match wanted {
        "array" => "a list".to_string(),
        "object" | "integer" => format!("an {wanted}"),
        other => format!("a {other}"),
    }
}

/// The document as text that the loader reads.
pub(super) fn text(document: &Value) -> String {
    print::json(document)
}
