//! Markdown: a table of everything that did not pass, each violation once, and the counts of all
//! results.

use std::io::Write;

use super::WriteError;
use super::merged::{Merged, statement};
use super::objects::Objects;
use crate::run::{PolicyInfo, Run};
use ephor_engine::Status;

/// How many characters the rows have: comments of GitHub end at 65,536, and the counts follow.
const MAX_SIZE: usize = 64_000;

/// Writes the run as a table.
///
/// # Errors
/// Results cannot be read, or the table cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> Result<(), WriteError> {
    let shown =
        || run.shown().filter(|read| read.as_ref().map_or(true, |finding| finding.status != Status::Pass));
    let objects = Objects::of(shown)?;
    let mut head =
        "| Policy | Rule | Resource | Result | Severity | Place | Message |\n|---|---|---|---|---|---|---|\n";
    let (mut size, mut left_out) = (0, 0);
    objects.each(shown(), |object| {
        let merged = object.merged();
        for violation in merged.iter().filter(|violation| object.position(violation).is_some()) {
            let row = row(violation);
            if left_out > 0 || size + row.chars().count() > MAX_SIZE {
                left_out += 1;
                continue;
            }
            size += row.chars().count();
            write!(out, "{}{row}", std::mem::take(&mut head))?;
        }
        Ok::<_, WriteError>(())
    })?;
    if left_out > 0 {
        writeln!(out, "\n{left_out} more are left out: comments have at most 65,536 characters")?;
    }
    let counts = run.counts();
    writeln!(
        out,
        "\npass: {}, fail: {}, warn: {}, error: {}, skip: {}",
        counts.pass, counts.fail, counts.warn, counts.error, counts.skip
    )?;
    if counts.known > 0 {
        writeln!(out, "\nknown from the baseline: {}", counts.known)?;
    }
    Ok(())
}

fn row(violation: &Merged<'_>) -> String {
    let finding = violation.first;
    let policies = match violation.others.is_empty() {
        true => cell(&finding.policy.name),
        false => {
            let name = |policy: &PolicyInfo| format!("{} {}", policy.kind, policy.name);
            cells(&violation.distinct(|result| name(&result.policy)))
        }
    };
    let known = if finding.is_known { " (known)" } else { "" };
    let place = violation.nearest.place.as_ref().or(finding.decision.as_ref());
    let place = match &finding.template {
        Some(template) => template.clone(),
        None => place.map(|place| place.display()).unwrap_or_default(),
    };
    format!(
        "| {} | {} | {} | {}{known} | {} | {} | {} |\n",
        policies,
        cells(&violation.distinct(|result| result.rule.as_str())),
        cell(&finding.resource.as_ref().map(|r| r.path()).unwrap_or_default()),
        finding.status.name(),
        violation.severity().map_or("", |s| s.name()),
        cell(&place),
        cell(statement(finding))
    )
}

/// Texts of one cell, each on its line.
fn cells(texts: &[impl AsRef<str>]) -> String {
    let all: Vec<String> =
        texts.iter().map(|text| cell(text.as_ref())).filter(|text| !text.is_empty()).collect();
    all.join("<br>")
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
