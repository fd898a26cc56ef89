//! Logging commands of Azure Pipelines: an issue for each violation that the baseline does not
//! have, at its line. Semantics: Microsoft's page "Logging commands", `task.logissue`.

use std::fmt::Write;
use std::io;

use super::WriteError;
use crate::formats::level::{Level, level};
use crate::formats::message::{message, visible};
use crate::run::{Finding, Run};

/// Writes the issues of a run, and returns how many there are.
///
/// # Errors
/// Results cannot be read, or the issues cannot be written.
pub fn write(run: &Run, out: &mut dyn io::Write) -> Result<usize, WriteError> {
    let mut number = 0;
    for finding in run.violations() {
        let finding = finding?;
        let Some(level) = level(&finding).filter(|_| !finding.is_known) else { continue };
        out.write_all(issue(run, &finding, level).as_bytes())?;
        number += 1;
    }
    Ok(number)
}

fn issue(run: &Run, finding: &Finding, level: Level) -> String {
    // There are two types of issues.
    let kind = if level == Level::Error { "error" } else { "warning" };
    let mut out = format!("##vso[task.logissue type={kind};");
    if !finding.file().is_empty() {
        let _ = write!(out, "sourcepath={};", property(&run.roots.name(finding.file())));
    }
    match finding.place.as_ref().or(finding.decision.as_ref()) {
        // Lines of rendered text are not those of the template.
        _ if finding.template.is_some() => out.push_str("linenumber=1;"),
        Some(place) if place.line > 0 => {
            let _ = write!(out, "linenumber={};", place.line);
            if place.column > 0 {
                let _ = write!(out, "columnnumber={};", place.column);
            }
        }
        _ => {}
    }
    let on = finding.resource.as_ref().map(|r| format!(" ({})", r.display())).unwrap_or_default();
    let _ = writeln!(out, "code={};]{}{}", property(&finding.rule_id()), data(message(finding)), data(&on));
    out
}

/// The text of a command, without what a terminal would act on.
fn data(text: &str) -> String {
    visible(&text.replace('%', "%AZP25").replace('\r', "%0D").replace('\n', "%0A"), &[])
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(';', "%3B").replace(']', "%5D")
}
