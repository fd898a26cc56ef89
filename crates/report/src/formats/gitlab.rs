//! Code Quality of GitLab: an issue for each violation that the baseline does not have, which merge
//! requests show at their lines. Semantics: GitLab's page "Code Quality", "Code Quality report
//! format": a list of issues, each with a fingerprint that is its own.

use std::io::Write;

use ephor_engine::Status;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::WriteError;
use crate::formats::message::message;
use crate::hex::hex;
use crate::run::{Finding, Run, Severity};

/// Writes the issues of a run.
///
/// # Errors
/// Results cannot be read, or the document cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> Result<(), WriteError> {
    let mut before = "[";
    for finding in run.violations() {
        let finding = finding?;
        // An issue without a file has no place in a merge request.
        if finding.is_known || finding.file().is_empty() {
            continue;
        }
        write!(out, "{before}\n  {}", issue(run, &finding))?;
        before = ",";
    }
    out.write_all(if before == "[" { b"[]\n" } else { b"\n]\n" })?;
    Ok(())
}

fn issue(run: &Run, finding: &Finding) -> Value {
    let on = finding.resource.as_ref().map(|r| format!(" ({})", r.display())).unwrap_or_default();
    let place = finding.place.as_ref().or(finding.decision.as_ref());
    let line = match place {
        // Lines of rendered text are not those of the template.
        Some(place) if finding.template.is_none() && place.line > 0 => place.line,
        _ => 1,
    };
    json!({
        "description": format!("{}{on}", message(finding)),
        "check_name": finding.rule_id(),
        "fingerprint": fingerprint(finding),
        "severity": severity(finding),
        "location": {"path": run.roots.name(finding.file()), "lines": {"begin": line}},
    })
}

/// What identifies a violation among all: it stays the same when lines move.
fn fingerprint(finding: &Finding) -> String {
    let mut digest = Sha256::new();
    let [kind, rule, resource] = finding.identity();
    let field = finding.field.as_deref().unwrap_or_default();
    for part in [&kind, &rule, &resource, field, finding.file(), message(finding)] {
        digest.update(part);
        digest.update([0]);
    }
    hex(digest.finalize().iter().take(16))
}

/// The severity in GitLab's words; failures of policies without one, and errors, are major.
fn severity(finding: &Finding) -> &'static str {
    match (finding.status, finding.policy.severity) {
        (Status::Error, _) | (_, None) => "major",
        (_, Some(Severity::Critical)) => "blocker",
        (_, Some(Severity::High)) => "critical",
        (_, Some(Severity::Medium)) => "major",
        (_, Some(Severity::Low)) => "minor",
        (_, Some(_)) => "info",
    }
}
