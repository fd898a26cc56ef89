//! For terminals: violations by resource, each once with the line of the manifest and the places in
//! the policies, the counts of all results, and the command that explains a violation.

use std::fmt::Write;
use std::io;

use super::WriteError;
use super::merged::{Merged, extent, in_results, statement};
use super::objects::{Objects, OfObject};
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

/// Writes the run as text.
///
/// # Errors
/// Results cannot be read, or the text cannot be written.
pub fn write(run: &Run, colour: bool, out: &mut dyn io::Write) -> Result<(), WriteError> {
    let objects = Objects::of(|| run.violations())?;
    let (mut violations, mut results) = (0, 0);
    // The command of the first violation that has one; those of an object are shown together.
    let mut why: Option<(usize, String)> = None;
    objects.each(run.violations(), |object| {
        let merged = object.merged();
        for violation in &merged {
            let Some(at) = object.position(violation) else { continue };
            violations += 1;
            if why.as_ref().is_none_or(|(first, _)| at < *first) {
                why = run.invocation.explain(violation.first).map(|command| (at, command)).or(why.take());
            }
        }
        results += object.own.len();
        out.write_all(shown(&object, &merged, colour).as_bytes()).map_err(WriteError::from)
    })?;
    out.write_all(summary(run, in_results(violations, results), colour).as_bytes())?;
    if let Some((_, command)) = why {
        writeln!(out, "{}", paint(&format!("why: {command}"), Colour::Dim, colour))?;
    }
    Ok(())
}

/// The violations of an object, where the first of them comes.
fn shown(object: &OfObject<'_>, merged: &[Merged<'_>], colour: bool) -> String {
    let mut out = String::new();
    if object.own.start > 0 {
        return out;
    }
    if let Some(first) = object.all.first().filter(|_| object.begins) {
        let _ = writeln!(out, "{}", paint(&title(first), Colour::Bold, colour));
    }
    merged.iter().for_each(|merged| violation(&mut out, merged, colour));
    if object.ends {
        out.push('\n');
    }
    out
}

/// `Deployment shop/storefront (deployment.yaml)`
pub(super) fn title(finding: &Finding) -> String {
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
    // What is known is a line.
    if finding.is_known {
        return;
    }
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
    summary(run, None, false)
}

fn summary(run: &Run, in_results: Option<String>, colour: bool) -> String {
    let counts = run.counts();
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
    let shown = in_results.map(|shown| format!(" ({shown})")).unwrap_or_default();
    format!("{}: {}{shown}\n", extent(run), parts.join(", "))
}
