//! Markdown: a table of everything that did not pass, and the counts.

use std::fmt::Write;

use super::message;
use crate::engine::Status;
use crate::run::{Finding, Run};

/// The run as a table.
pub fn write(run: &Run) -> String {
    let shown: Vec<&Finding> = run.findings.iter().filter(|f| f.status != Status::Pass).collect();
    let mut out = String::new();
    if !shown.is_empty() {
        out.push_str("| Policy | Rule | Resource | Result | Severity | Place | Message |\n|---|---|---|---|---|---|---|\n");
    }
    for finding in shown {
        let known = if finding.is_known { " (known)" } else { "" };
        let place = finding.place.as_ref().or(finding.decision.as_ref());
        let place = match &finding.template {
            Some(template) => template.clone(),
            None => place.map(|place| place.display()).unwrap_or_default(),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {}{known} | {} | {} | {} |",
            cell(&finding.policy.name),
            cell(&finding.rule),
            cell(&finding.resource.as_ref().map(|r| r.path()).unwrap_or_default()),
            finding.status.name(),
            finding.policy.severity.map_or("", |s| s.name()),
            cell(&place),
            cell(message(finding))
        );
    }
    let counts = run.counts;
    let _ = writeln!(
        out,
        "\npass: {}, fail: {}, warn: {}, error: {}, skip: {}",
        counts.pass, counts.fail, counts.warn, counts.error, counts.skip
    );
    if counts.known > 0 {
        let _ = writeln!(out, "\nknown from the baseline: {}", counts.known);
    }
    out
}

/// A text that neither ends its cell nor begins markup.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.trim().chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
