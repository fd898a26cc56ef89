//! For terminals: violations by resource, each with the line of the manifest and the place in the policy, and the counts.

use std::collections::HashMap;
use std::fmt::Write;

use super::message;
use crate::diagnostic::Diagnostic;
use crate::document::locate::Position;
use crate::engine::Status;
use crate::run::{Finding, Run};

/// Colours of ANSI terminals.
#[derive(Clone, Copy)]
enum Colour {
    Red,
    Yellow,
    Magenta,
    Green,
    Bold,
    Dim,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Colour::Red => "31;1",
            Colour::Yellow => "33;1",
            Colour::Magenta => "35;1",
            Colour::Green => "32;1",
            Colour::Bold => "1",
            Colour::Dim => "2",
        }
    }
}

fn paint(text: &str, colour: Colour, on: bool) -> String {
    if on { format!("\u{1b}[{}m{text}\u{1b}[0m", colour.code()) } else { text.to_string() }
}

/// The run as text.
pub fn write(run: &Run, colour: bool) -> String {
    let mut groups: Vec<(String, Vec<&Finding>)> = Vec::new();
    let mut positions = HashMap::new();
    for finding in run.violations() {
        let title = title(finding);
        let at = *positions.entry(title.clone()).or_insert_with(|| {
            groups.push((title, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, own)) = groups.get_mut(at) {
            own.push(finding);
        }
    }
    let mut out = String::new();
    for (title, findings) in &groups {
        let _ = writeln!(out, "{}", paint(title, Colour::Bold, colour));
        for finding in findings {
            violation(&mut out, finding, colour);
        }
        out.push('\n');
    }
    out.push_str(&summary(run, colour));
    out
}

/// `Deployment shop/storefront (deployment.yaml)`
fn title(finding: &Finding) -> String {
    // The place of a result about an object of a cluster is in the policy.
    let has_file = finding.resource.is_none() || finding.place.is_some() || finding.template.is_some();
    let file = if has_file { finding.file() } else { "" };
    let what = match &finding.resource {
        Some(resource) => resource.display(),
        None => format!("{} {}", finding.policy.kind, finding.policy.name),
    };
    match file {
        "" => printable(&what),
        "-" => format!("{} (standard input)", printable(&what)),
        file => format!("{} ({})", printable(&what), printable(file)),
    }
}

fn violation(out: &mut String, finding: &Finding, colour: bool) {
    let (word, tone) = match finding.status {
        Status::Fail => ("FAIL", Colour::Red),
        Status::Error => ("ERROR", Colour::Magenta),
        _ => ("WARN", Colour::Yellow),
    };
    let (word, tone) = if finding.is_known { ("KNOWN", Colour::Dim) } else { (word, tone) };
    let severity =
        finding.policy.severity.map(|severity| format!(" ({})", severity.name())).unwrap_or_default();
    let _ = writeln!(
        out,
        "  {} {}{severity}",
        paint(word, tone, colour),
        paint(&printable(&finding.rule_id()), Colour::Bold, colour)
    );
    for line in message(finding).trim().lines() {
        let _ = writeln!(out, "    {}", printable(line));
    }
    if let Some(place) = &finding.place {
        let shown = Diagnostic::error("")
            .in_file(&place.file, &place.text, place.line)
            .at((place.column > 0).then_some(Position { line: 1, col: place.column, len: place.length }));
        for line in shown.frame().lines() {
            let is_caret = line.trim_start_matches([' ', '│']).starts_with('^');
            let line = if is_caret { paint(line, tone, colour) } else { line.to_string() };
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some(decision) = &finding.decision {
        let _ =
            writeln!(out, "    {}", paint(&format!("= policy {}", decision.display()), Colour::Dim, colour));
    }
}

fn summary(run: &Run, colour: bool) -> String {
    let counts = run.counts;
    let number = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let part = |n: usize, word: &str, tone: Colour| paint(&format!("{n} {word}"), tone, colour && n > 0);
    let mut parts = vec![
        part(counts.fail, "failed", Colour::Red),
        part(counts.error, if counts.error == 1 { "error" } else { "errors" }, Colour::Magenta),
        part(counts.warn, if counts.warn == 1 { "warning" } else { "warnings" }, Colour::Yellow),
        part(counts.pass, "passed", Colour::Green),
        part(counts.skip, "skipped", Colour::Dim),
    ];
    if counts.known > 0 {
        parts.push(format!("{} known", counts.known));
    }
    format!(
        "{}, {}: {}\n",
        number(run.resources, "resource", "resources"),
        number(run.policies, "policy", "policies"),
        parts.join(", ")
    )
}

/// The text without characters that move the cursor.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
