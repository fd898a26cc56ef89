//! Workflow commands of GitHub: annotations of violations that the baseline does not have.
//!
//! In: a [`Run`]. Out: annotations, the gravest first, as many as GitHub shows of a step: ten
//! errors, ten warnings and ten notices (GitHub's page "Workflow commands"). What is more is in the
//! log, a line each, in a group that can be opened.

use std::cmp::Reverse;
use std::fmt::Write;
use std::io;

use super::WriteError;
use crate::formats::level::{Level, level};
use crate::formats::message::{message, visible};
use crate::run::{Finding, Run, Severity};

/// Writes the annotations of a run, and returns how many there are.
///
/// # Errors
/// Results cannot be read, or the annotations cannot be written.
pub fn write(run: &Run, out: &mut dyn io::Write) -> Result<usize, WriteError> {
    let mut shown: [Vec<RankedAnnotation>; 3] = Default::default();
    let mut number = 0;
    for (at, finding) in run.violations().enumerate() {
        let finding = finding?;
        let Some(level) = level(&finding).filter(|_| !finding.is_known) else { continue };
        number += 1;
        let rank = (Reverse(finding.policy.severity), at);
        let Some(list) = shown.get_mut(position(level)) else { continue };
        let place = list.partition_point(|(other, _)| *other < rank);
        if place < MOST {
            list.insert(place, (rank, annotation(run, &finding)));
            list.truncate(MOST);
        }
    }
    let mut annotated: Vec<usize> = Vec::new();
    for (rank, text) in shown.iter().flatten() {
        out.write_all(text.as_bytes())?;
        annotated.push(rank.1);
    }
    annotated.sort_unstable();
    if annotated.len() < number {
        writeln!(
            out,
            "::group::{} more violations, which GitHub shows no annotations of",
            number - annotated.len()
        )?;
        for (at, finding) in run.violations().enumerate() {
            let finding = finding?;
            if annotated.binary_search(&at).is_err() && !finding.is_known {
                out.write_all(line(run, &finding).as_bytes())?;
            }
        }
        writeln!(out, "::endgroup::")?;
    }
    Ok(number)
}

/// How many annotations of a level GitHub shows of a step.
const MOST: usize = 10;

/// An annotation with its place among those of its level: by severity, then in the order of the
/// run.
type RankedAnnotation = ((Reverse<Option<Severity>>, usize), String);

fn position(level: Level) -> usize {
    match level {
        Level::Error => 0,
        Level::Warning => 1,
        Level::Note => 2,
    }
}

/// A violation as a line of the log.
fn line(run: &Run, finding: &Finding) -> String {
    let Some(level) = level(finding) else { return String::new() };
    let place = finding.place.as_ref().or(finding.decision.as_ref());
    let at = match place {
        Some(place) if finding.template.is_none() && place.line > 0 => format!(":{}", place.line),
        _ => String::new(),
    };
    let on = finding.resource.as_ref().map(|r| format!(" ({})", r.display())).unwrap_or_default();
    let text = format!(
        "{} {}{at} {}: {}{on}",
        command(level),
        run.roots.name(finding.file()),
        finding.rule_id(),
        message(finding)
    );
    // A line that begins like a command would be one.
    format!("{}\n", visible(&text.replace(['\r', '\n'], " "), &[]))
}

fn annotation(run: &Run, finding: &Finding) -> String {
    let mut out = String::new();
    if let Some(command) = level(finding).map(command) {
        let place = finding.place.as_ref().or(finding.decision.as_ref());
        let _ = write!(out, "::{command} ");
        if !finding.file().is_empty() {
            let _ = write!(out, "file={},", property(&run.roots.name(finding.file())));
        }
        match place {
            // Lines of rendered text are not those of the template.
            _ if finding.template.is_some() => out.push_str("line=1,"),
            Some(place) if place.line > 0 => {
                let _ = write!(out, "line={},endLine={},", place.line, place.line);
                if place.column > 0 {
                    let _ = write!(out, "col={},endColumn={},", place.column, place.end_column());
                }
            }
            _ => {}
        }
        let on = finding.resource.as_ref().map(|r| format!(" ({})", r.display())).unwrap_or_default();
        let _ =
            writeln!(out, "title={}::{}{}", property(&finding.rule_id()), data(message(finding)), data(&on));
    }
    out
}

/// The command of a level.
pub(crate) fn command(level: Level) -> &'static str {
    match level {
        Level::Note => "notice",
        level => level.word(),
    }
}

/// The text of a command, without what a terminal would act on.
pub(crate) fn data(text: &str) -> String {
    visible(&text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A"), &[])
}

/// The value of a property of a command.
pub(crate) fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
