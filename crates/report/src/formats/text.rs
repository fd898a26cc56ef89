//! For terminals: violations by resource, each once with the line of the manifest and the places in
//! the policies, the counts of all results, and the command that explains a violation.

use std::collections::HashMap;
use std::fmt::Write;

use super::merged::{Merged, extent, in_results, merged, statement};
use crate::diagnostic::Diagnostic;
use crate::printable::printable;
use crate::run::{Finding, Run};
use ephor_document::locate::Position;
use ephor_engine::Status;

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
    let violations = merged(run.violations());
    let mut groups: Vec<(String, Vec<&Merged<'_>>)> = Vec::new();
    let mut positions = HashMap::new();
    for violation in &violations {
        let title = title(violation.first);
        let at = *positions.entry(title.clone()).or_insert_with(|| {
            groups.push((title, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, own)) = groups.get_mut(at) {
            own.push(violation);
        }
    }
    let mut out = String::new();
    for (title, own) in &groups {
        let _ = writeln!(out, "{}", paint(title, Colour::Bold, colour));
        for merged in own {
            violation(&mut out, merged, colour);
        }
        out.push('\n');
    }
    out.push_str(&summary(run, &violations, colour));
    if let Some(command) = violations.iter().find_map(|violation| run.invocation.explain(violation.first)) {
        let _ = writeln!(out, "{}", paint(&format!("why: {command}"), Colour::Dim, colour));
    }
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

fn violation(out: &mut String, violation: &Merged<'_>, colour: bool) {
    let finding = violation.first;
    let (word, tone) = match finding.status {
        Status::Fail => ("FAIL", Colour::Red),
        Status::Error => ("ERROR", Colour::Magenta),
        _ => ("WARN", Colour::Yellow),
    };
    let (word, tone) = if finding.is_known { ("KNOWN", Colour::Dim) } else { (word, tone) };
    let severity = violation.severity().map(|severity| format!(" ({})", severity.name())).unwrap_or_default();
    let _ = writeln!(
        out,
        "  {} {}{severity}",
        paint(word, tone, colour),
        paint(&printable(&heading(violation)), Colour::Bold, colour)
    );
    for line in statement(finding).lines() {
        let _ = writeln!(out, "    {}", printable(line));
    }
    if let Some(place) = &violation.nearest.place {
        let shown = Diagnostic::error("")
            .in_file(&place.file, &place.text, place.line)
            .at((place.column > 0).then_some(Position { line: 1, col: place.column, len: place.length }));
        for line in shown.frame().lines() {
            let is_caret = line.trim_start_matches([' ', '│']).starts_with('^');
            let line = if is_caret { paint(line, tone, colour) } else { line.to_string() };
            let _ = writeln!(out, "  {line}");
        }
    }
    for result in violation.results() {
        let Some(decision) = &result.decision else { continue };
        let who = if violation.others.is_empty() { "policy".to_string() } else { speaker(violation, result) };
        let line = format!("= {} {}", printable(&who), printable(&decision.display()));
        let _ = writeln!(out, "    {}", paint(&line, Colour::Dim, colour));
    }
}

/// The rule, or the name that all policies have.
fn heading(violation: &Merged<'_>) -> String {
    match violation.others.is_empty() {
        true => violation.first.rule_id(),
        false => violation.distinct(|result| result.policy.name.as_str()).join(", "),
    }
}

/// The kind of a policy with what the heading does not say: the rule, and the name where there are
/// several.
fn speaker(violation: &Merged<'_>, result: &Finding) -> String {
    let is_named = violation.distinct(|other| other.policy.name.as_str()).len() == 1;
    match (is_named, result.rule.as_str()) {
        (true, "") => result.policy.kind.clone(),
        (true, rule) => format!("{} rule {rule}", result.policy.kind),
        (false, _) => format!("{} {}", result.policy.kind, result.rule_id()),
    }
}

/// How many results there are of each status, as one line.
pub(super) fn counts(run: &Run) -> String {
    summary(run, &[], false)
}

fn summary(run: &Run, violations: &[Merged<'_>], colour: bool) -> String {
    let counts = run.counts;
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
    let shown = in_results(violations).map(|shown| format!(" ({shown})")).unwrap_or_default();
    format!("{}: {}{shown}\n", extent(run), parts.join(", "))
}
