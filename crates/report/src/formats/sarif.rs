//! SARIF 2.1.0: a result for each violation, at the field that decided.
//!
//! Rules carry what GitHub's code scanning shows: descriptions, help, tags and `security-severity`. A violation of the baseline is
//! `unchanged` and suppressed. Files are relative references below the folder of the run.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::uri::reference;
use super::{Level, level, message};
use crate::run::{Finding, Note, Place, Run, Severity};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const HOME: &str = "https://kyverno.io";

/// The run as SARIF, in one line.
pub fn write(run: &Run) -> String {
    let mut rules: Vec<Value> = Vec::new();
    let mut indices: HashMap<String, usize> = HashMap::new();
    let mut results = Vec::new();
    for finding in run.violations() {
        let id = finding.rule_id();
        let index = *indices.entry(id.clone()).or_insert_with(|| {
            rules.push(rule(finding, &id));
            rules.len() - 1
        });
        results.push(result(run, finding, &id, index));
    }
    log(rules, results, &run.notes)
}

/// A log: rules, results, and what the run could not use. It is one line, as logs are read by programs.
pub(crate) fn log(rules: Vec<Value>, results: Vec<Value>, notes: &[Note]) -> String {
    let is_successful = !notes.iter().any(|note| note.is_error);
    let notes: Vec<Value> = notes
        .iter()
        .map(|note| json!({"level": if note.is_error { "error" } else { "note" }, "message": {"text": note.text}}))
        .collect();
    let mut invocation = json!({"executionSuccessful": is_successful});
    if !notes.is_empty() {
        invocation["toolExecutionNotifications"] = notes.into();
    }
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "ephor",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": HOME,
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation],
            "results": results,
        }],
    });
    format!("{document}\n")
}

fn word(level: Option<Level>) -> &'static str {
    level.map_or("none", Level::word)
}

fn rule(finding: &Finding, id: &str) -> Value {
    let policy = &finding.policy;
    let title = if policy.title.is_empty() { id } else { &policy.title };
    let description = if policy.description.is_empty() { title } else { policy.description.trim() };
    let mut tags: Vec<&str> = Vec::new();
    for tag in policy.category.split(',').chain(policy.subject.split(',')).map(str::trim) {
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    let mut properties = Map::new();
    if let Some(severity) = policy.severity {
        properties.insert("security-severity".into(), score(severity).into());
        // Code scanning shows the severity of rules with this tag only.
        tags.push("security");
    }
    properties.insert("tags".into(), tags.into());
    properties.insert("policyKind".into(), policy.kind.as_str().into());
    let mut out = json!({
        "id": id,
        "name": finding.rule_name(),
        "shortDescription": {"text": title},
        "fullDescription": {"text": description},
        "help": {"text": description},
        "defaultConfiguration": {"level": word(level(finding))},
        "properties": properties,
    });
    if let Some(address) = policy.address() {
        out["helpUri"] = address.into();
    }
    out
}

/// What code scanning reads as critical (over 9), high (over 7), medium (over 4) and low.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "3.0",
        _ => "1.0",
    }
}

fn result(run: &Run, finding: &Finding, id: &str, index: usize) -> Value {
    let mut location = Map::new();
    let place = finding.place.as_ref().or(finding.decision.as_ref());
    let mut related = Vec::new();
    match (&finding.template, place) {
        (Some(template), place) => {
            // Lines of rendered text are not those of the template.
            let uri = reference(template, run.root.as_deref());
            let top = Region { line: 1, column: 0, end: 0, text: "" };
            location.insert("physicalLocation".into(), physical(&uri, &top));
            related.extend(place.map(|place| (place, "rendered manifest")));
        }
        (None, Some(place)) => {
            location.insert("physicalLocation".into(), of_place(run, place));
        }
        (None, None) => {}
    }
    if let Some(resource) = &finding.resource {
        let mut logical = Map::from_iter([
            ("name".to_string(), Value::from(resource.name.as_str())),
            ("fullyQualifiedName".to_string(), Value::from(resource.path())),
            ("kind".to_string(), Value::from("resource")),
        ]);
        if let Some(field) = &finding.field {
            logical.insert("decoratedName".into(), format!("{}:{field}", resource.path()).into());
        }
        location.insert("logicalLocations".into(), json!([logical]));
    }
    related
        .extend(finding.decision.iter().filter(|_| finding.place.is_some()).map(|place| (place, "policy")));
    let related: Vec<Value> = related
        .into_iter()
        .enumerate()
        .map(|(i, (place, what))| {
            json!({"id": i + 1, "message": {"text": what}, "physicalLocation": of_place(run, place)})
        })
        .collect();
    let mut out = json!({
        "ruleId": id,
        "ruleIndex": index,
        "level": word(level(finding)),
        "message": {"text": message(finding)},
        "locations": if location.is_empty() { json!([]) } else { json!([location]) },
        "partialFingerprints": {"ephorViolation/v1": fingerprint(finding)},
        "properties": {"result": finding.status.name()},
    });
    if !related.is_empty() {
        out["relatedLocations"] = related.into();
    }
    if finding.is_known {
        out["baselineState"] = "unchanged".into();
        out["suppressions"] = json!([{"kind": "external", "justification": "known from the baseline"}]);
    }
    out
}

/// The part of a file that a result is about.
pub(crate) struct Region<'a> {
    /// The line, from 1; 0 = the whole file.
    pub line: usize,
    /// The column, from 1 in characters; 0 = the whole line.
    pub column: usize,
    /// The column behind it.
    pub end: usize,
    /// The text of the line, if it is to be shown.
    pub text: &'a str,
}

/// A part of the file of a URI.
pub(crate) fn physical(uri: &str, at: &Region<'_>) -> Value {
    let mut out = json!({"artifactLocation": {"uri": uri}});
    if at.line > 0 {
        let mut region = Map::from_iter([("startLine".to_string(), Value::from(at.line))]);
        if at.column > 0 {
            region.insert("startColumn".into(), at.column.into());
            region.insert("endColumn".into(), at.end.max(at.column + 1).into());
        }
        if !at.text.is_empty() {
            region.insert("snippet".into(), json!({"text": at.text}));
        }
        out["region"] = Value::Object(region);
    }
    out
}

fn of_place(run: &Run, place: &Place) -> Value {
    let region =
        Region { line: place.line, column: place.column, end: place.end_column(), text: &place.text };
    physical(&reference(&place.file, run.root.as_deref()), &region)
}

/// What stays the same when files move and messages change.
fn fingerprint(finding: &Finding) -> String {
    let digest = Sha256::digest(finding.identity().join("\n").as_bytes());
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
