//! Workflow commands of GitHub: an annotation for each violation that the baseline does not have.

use std::fmt::Write;
use std::io;

use super::WriteError;
use crate::formats::level::{Level, level};
use crate::formats::message::{message, visible};
use crate::run::{Finding, Run};

/// Writes the annotations of a run, and returns how many there are.
///
/// # Errors
/// Results cannot be read, or the annotations cannot be written.
pub fn write(run: &Run, out: &mut dyn io::Write) -> Result<usize, WriteError> {
    let mut number = 0;
    for finding in run.violations() {
        let finding = finding?;
        if finding.is_known {
            continue;
        }
        let text = annotation(run, &finding);
        number += usize::from(!text.is_empty());
        out.write_all(text.as_bytes())?;
    }
    Ok(number)
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
