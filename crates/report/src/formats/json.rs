//! Our own JSON, version 1: counts, and each result with its policy, resource and places
//! (`docs/reference/formats.md`).

use std::io::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::WriteError;
use crate::fix::FileFix;
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
    write_list(&frame, run.shown().map(|finding| Ok(pretty(&ShownFinding::of(&*finding?)))), out)
}

/// Writes a document, indented, whose last member is an empty list, with these items in the list,
/// each as [`pretty`] text.
///
/// # Errors
/// An item cannot be read, or the document cannot be written.
pub fn write_list(
    frame: &Value,
    items: impl Iterator<Item = Result<String, WriteError>>,
    out: &mut dyn Write,
) -> Result<(), WriteError> {
    let text = format!("{frame:#}");
    out.write_all(text.strip_suffix("]\n}").unwrap_or(&text).as_bytes())?;
    let mut before = "\n    ";
    let mut end = "]\n}\n";
    for item in items {
        // Line ends in texts are escaped.
        let item = item?.replace('\n', "\n    ");
        write!(out, "{before}{item}")?;
        (before, end) = (",\n    ", "\n  ]\n}\n");
    }
    out.write_all(end.as_bytes())?;
    Ok(())
}

/// Something as indented JSON.
pub fn pretty(value: &impl Serialize) -> String {
    // Neither a text nor a number can fail.
    serde_json::to_string_pretty(value).unwrap_or_default()
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
    serde_json::to_value(ShownFinding::of(finding)).unwrap_or_default()
}

/// A result; what is empty is not written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownFinding<'r> {
    #[serde(skip_serializing_if = "String::is_empty")]
    id: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    policy: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    policy_kind: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    rule: &'r str,
    result: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    severity: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    category: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    field: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    template: &'r str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    known: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<ShownName<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<ShownPlace<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy_place: Option<ShownPlace<'r>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fixes: &'r [FileFix],
}

impl ShownFinding<'_> {
    fn of(finding: &Finding) -> ShownFinding<'_> {
        let policy = &finding.policy;
        ShownFinding {
            id: finding.rule_id(),
            policy: &policy.name,
            policy_kind: &policy.kind,
            rule: &finding.rule,
            result: finding.status.name(),
            severity: policy.severity.map(|severity| severity.name()),
            category: &policy.category,
            title: &policy.title,
            message: message(finding),
            field: finding.field.as_deref().unwrap_or_default(),
            template: finding.template.as_deref().unwrap_or_default(),
            known: finding.is_known,
            resource: finding.resource.as_ref().map(ShownName::of),
            place: finding.place.as_ref().map(ShownPlace::of),
            policy_place: finding.decision.as_ref().map(ShownPlace::of),
            fixes: finding.fix.as_deref().map_or(&[], std::slice::from_ref),
        }
    }
}

/// An object; what is empty is not written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownName<'r> {
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'r str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'r str,
}

impl ShownName<'_> {
    fn of(resource: &ResourceName) -> ShownName<'_> {
        let ResourceName { api_version, kind, namespace, name, .. } = resource;
        ShownName { api_version, kind, namespace, name }
    }
}

/// A place; what is not known is not written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownPlace<'r> {
    file: &'r str,
    #[serde(skip_serializing_if = "is_unknown")]
    line: usize,
    #[serde(skip_serializing_if = "is_unknown")]
    column: usize,
    #[serde(skip_serializing_if = "is_unknown")]
    end_column: usize,
}

impl ShownPlace<'_> {
    fn of(place: &Place) -> ShownPlace<'_> {
        let Place { file, line, column, .. } = place;
        ShownPlace { file, line: *line, column: *column, end_column: place.end_column() }
    }
}

fn is_unknown(number: &usize) -> bool {
    *number == 0
}
