//! Results for other programs and people: SARIF, JUnit, Markdown and GitHub annotations.
//!
//! In: findings in order. Out: a whole document as text. These formats go beyond the reference.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::engine::Status;
use crate::value::print::write_json_string;

/// A result with the place of its resource.
#[derive(Clone, Copy, Debug)]
pub struct Finding<'f> {
    /// `name` or `namespace/name` of the policy.
    pub policy: &'f str,
    /// Name of the rule.
    pub rule: &'f str,
    /// Its status.
    pub status: Status,
    /// Its message.
    pub message: &'f str,
    /// `namespace/Kind/name`.
    pub resource: &'f str,
    /// File of the resource.
    pub file: &'f str,
    /// Line on which its document begins.
    pub line: usize,
}

fn quoted(s: &str) -> String {
    let mut out = String::new();
    write_json_string(&mut out, s);
    out
}

/// SARIF 2.1.0: one result for each failure, warning and error.
pub fn sarif(findings: &[Finding<'_>]) -> String {
    let shown: Vec<&Finding<'_>> = findings.iter().filter(|f| level(f.status).is_some()).collect();
    let ids: BTreeSet<String> = shown.iter().map(|f| format!("{}/{}", f.policy, f.rule)).collect();
    let rules: Vec<String> = ids.iter().map(|id| format!("{{\"id\":{}}}", quoted(id))).collect();
    let results: Vec<String> = shown
        .iter()
        .map(|f| {
            format!(
                "{{\"ruleId\":{},\"level\":\"{}\",\"message\":{{\"text\":{}}},\"locations\":[{{\"physicalLocation\":{{\"artifactLocation\":{{\"uri\":{}}},\"region\":{{\"startLine\":{}}}}},\"logicalLocations\":[{{\"fullyQualifiedName\":{}}}]}}]}}",
                quoted(&format!("{}/{}", f.policy, f.rule)),
                level(f.status).unwrap_or("none"),
                quoted(f.message),
                quoted(f.file),
                f.line,
                quoted(f.resource)
            )
        })
        .collect();
    format!(
        "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":{{\"name\":\"ephor\",\"version\":\"{}\",\"rules\":[{}]}}}},\"results\":[{}]}}]}}\n",
        env!("CARGO_PKG_VERSION"),
        rules.join(","),
        results.join(",")
    )
}

fn level(status: Status) -> Option<&'static str> {
    match status {
        Status::Fail | Status::Error => Some("error"),
        Status::Warn => Some("warning"),
        Status::Pass | Status::Skip => None,
    }
}

fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => {
                let _ = write!(out, "&#{};", c as u32);
            }
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JUnit: a suite for each policy, a case for each rule and resource.
pub fn junit(findings: &[Finding<'_>]) -> String {
    let count =
        |all: &[&Finding<'_>], wanted: &[Status]| all.iter().filter(|f| wanted.contains(&f.status)).count();
    let mut policies: Vec<&str> = Vec::new();
    for f in findings {
        if !policies.contains(&f.policy) {
            policies.push(f.policy);
        }
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for policy in policies {
        let own: Vec<&Finding<'_>> = findings.iter().filter(|f| f.policy == policy).collect();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
            xml(policy),
            own.len(),
            count(&own, &[Status::Fail, Status::Warn]),
            count(&own, &[Status::Error]),
            count(&own, &[Status::Skip])
        );
        for f in own {
            let _ = write!(out, "    <testcase name=\"{}\" classname=\"{}\"", xml(f.rule), xml(f.resource));
            let _ = match f.status {
                Status::Pass => writeln!(out, "/>"),
                Status::Fail | Status::Warn => {
                    writeln!(out, "><failure message=\"{}\"/></testcase>", xml(f.message))
                }
                Status::Error => writeln!(out, "><error message=\"{}\"/></testcase>", xml(f.message)),
                Status::Skip => writeln!(out, "><skipped message=\"{}\"/></testcase>", xml(f.message)),
            };
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// A Markdown table of everything that is not a pass, and the counts.
pub fn markdown(findings: &[Finding<'_>]) -> String {
    let mut out = String::from("| Policy | Rule | Resource | Result | Message |\n|---|---|---|---|---|\n");
    for f in findings.iter().filter(|f| f.status != Status::Pass) {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            cell(f.policy),
            cell(f.rule),
            cell(f.resource),
            f.status.name(),
            cell(f.message)
        );
    }
    let count = |s: Status| findings.iter().filter(|f| f.status == s).count();
    let _ = writeln!(
        out,
        "\npass: {}, fail: {}, warn: {}, error: {}, skip: {}",
        count(Status::Pass),
        count(Status::Fail),
        count(Status::Warn),
        count(Status::Error),
        count(Status::Skip)
    );
    out
}

/// GitHub workflow commands: an annotation for each failure, warning and error.
pub fn github(findings: &[Finding<'_>]) -> String {
    let data = |s: &str| s.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |s: &str| data(s).replace(':', "%3A").replace(',', "%2C");
    let mut out = String::new();
    for f in findings {
        let Some(level) = level(f.status) else { continue };
        let _ = writeln!(
            out,
            "::{level} file={},line={},title={}::{} ({})",
            property(f.file),
            f.line,
            property(&format!("{}/{}", f.policy, f.rule)),
            data(f.message),
            data(f.resource)
        );
    }
    out
}
