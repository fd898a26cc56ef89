//! Our own JSON, version 1: counts, and each result with its policy, resource and places
//! (`docs/reference/formats.md`).

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::formats::message::message;
use crate::run::{Counts, Finding, Note, Place, ResourceName, Run};

/// The version of the form; it grows when a field changes its meaning or goes.
pub const VERSION: u64 = 1;

/// The run as JSON, indented.
pub fn write(run: &Run) -> String {
    let document = ShownRun {
        version: VERSION,
        tool: Tool { name: "ephor", version: env!("CARGO_PKG_VERSION") },
        summary: ShownCounts::of(&run.counts),
        policies: run.policies,
        resources: run.resources,
        notes: run.notes.iter().map(ShownNote::of).collect(),
        results: &run.findings,
    };
    // Neither a text nor a number can fail.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// A result as a value.
pub fn result(finding: &Finding) -> Value {
    serde_json::to_value(ShownFinding::of(finding)).unwrap_or_default()
}

#[derive(Serialize)]
struct ShownRun<'r> {
    version: u64,
    tool: Tool,
    summary: ShownCounts,
    policies: usize,
    resources: usize,
    notes: Vec<ShownNote<'r>>,
    #[serde(serialize_with = "all")]
    results: &'r [Finding],
}

/// Each result in turn, so that they are not held twice.
fn all<S: Serializer>(findings: &[Finding], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(findings.iter().map(ShownFinding::of))
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct ShownCounts {
    pass: usize,
    fail: usize,
    warn: usize,
    error: usize,
    skip: usize,
    known: usize,
}

impl ShownCounts {
    fn of(counts: &Counts) -> ShownCounts {
        let Counts { pass, fail, warn, error, skip, known } = *counts;
        ShownCounts { pass, fail, warn, error, skip, known }
    }
}

#[derive(Serialize)]
struct ShownNote<'r> {
    error: bool,
    text: &'r str,
}

impl ShownNote<'_> {
    fn of(note: &Note) -> ShownNote<'_> {
        ShownNote { error: note.is_error, text: &note.text }
    }
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
