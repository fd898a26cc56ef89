//! Our own JSON, version 1: counts, and each result with its policy, resource and places
//! (`docs/reference/formats.md`).

use std::io::Write;

use serde_json::{Map, Value, json};

use super::WriteError;
use crate::formats::message::message;
use crate::run::{Counts, Finding, Place, ResourceName, Run};

/// The version of the form; it grows when a field changes its meaning or goes.
pub const VERSION: u64 = 1;

/// Writes the run as JSON, indented.
///
/// # Errors
/// Results cannot be read, or the document cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> Result<(), WriteError> {
    let frame = json!({
        "version": VERSION,
        "tool": {"name": "ephor", "version": env!("CARGO_PKG_VERSION")},
        "summary": summary(&run.counts()),
        "policies": run.policies,
        "resources": run.resources,
        "notes": run.notes.iter().map(|note| json!({"error": note.is_error, "text": note.text})).collect::<Vec<_>>(),
        "results": [],
    });
    write_list(&frame, run.shown().map(|finding| Ok(result(&*finding?))), out)
}

/// Writes a document, indented, whose last member is an empty list, with these items in the list.
///
/// # Errors
/// An item cannot be read, or the document cannot be written.
pub fn write_list(
    frame: &Value,
    items: impl Iterator<Item = Result<Value, WriteError>>,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let text = format!("{frame:#}");
    out.write_all(text.strip_suffix("]\n}").unwrap_or(&text).as_bytes())?;
    let mut before = "\n    ";
    let mut end = "]\n}\n";
    for item in items {
        // Line ends in texts are escaped.
        let item = format!("{:#}", item?).replace('\n', "\n    ");
        write!(out, "{before}{item}")?;
        (before, end) = (",\n    ", "\n  ]\n}\n");
    }
    out.write_all(end.as_bytes())?;
    Ok(())
}

fn summary(counts: &Counts) -> Value {
    json!({
        "pass": counts.pass,
        "fail": counts.fail,
        "warn": counts.warn,
        "error": counts.error,
        "skip": counts.skip,
        "known": counts.known,
    })
}

/// A result as a value.
pub fn result(finding: &Finding) -> Value {
    let mut out = Map::new();
    let mut text = |key: &str, value: &str| {
        if !value.is_empty() {
            out.insert(key.into(), value.into());
        }
    };
    let policy = &finding.policy;
    text("id", &finding.rule_id());
    text("policy", &policy.name);
    text("policyKind", &policy.kind);
    text("rule", &finding.rule);
    text("result", finding.status.name());
    text("severity", policy.severity.map_or("", |severity| severity.name()));
    text("category", &policy.category);
    text("title", &policy.title);
    text("message", message(finding));
    text("field", finding.field.as_deref().unwrap_or_default());
    text("template", finding.template.as_deref().unwrap_or_default());
    if finding.is_known {
        out.insert("known".into(), true.into());
    }
    if let Some(resource) = &finding.resource {
        out.insert("resource".into(), name(resource));
    }
    for (key, place) in [("place", &finding.place), ("policyPlace", &finding.decision)] {
        if let Some(place) = place {
            out.insert(key.into(), position(place));
        }
    }
    Value::Object(out)
}

fn name(resource: &ResourceName) -> Value {
    let fields = [
        ("apiVersion", &resource.api_version),
        ("kind", &resource.kind),
        ("namespace", &resource.namespace),
        ("name", &resource.name),
    ];
    let given = fields.into_iter().filter(|(_, text)| !text.is_empty());
    Value::Object(given.map(|(key, text)| (key.to_string(), text.as_str().into())).collect())
}

fn position(place: &Place) -> Value {
    let mut out = Map::from_iter([("file".to_string(), Value::from(place.file.as_str()))]);
    let numbers = [("line", place.line), ("column", place.column), ("endColumn", place.end_column())];
    out.extend(numbers.into_iter().filter(|(_, n)| *n > 0).map(|(key, n)| (key.to_string(), n.into())));
    Value::Object(out)
}
