//! The report as lines, and as Markdown for a merge request.

use std::fmt::Write;

use ephor_compare::Difference;
use ephor_document::write::{Style, to_string};
use ephor_migrate::report::{MigrateRow, Status, count, meanings, universe};

use crate::cli::diff::{changes, counted};

/// One line a policy, with what a reader needs to decide below it.
pub fn lines(rows: &[MigrateRow<'_>], tests: &[String]) -> String {
    let mut out = String::new();
    for row in rows {
        let _ = writeln!(out, "{}: {}{}", row.place(), row.name, outcome(row));
        for remark in &row.remarks {
            let _ = writeln!(out, "  note: {remark}");
        }
        for refused in row.refused {
            let _ = writeln!(out, "  {}: {}", refused.place, refused.construct);
            let _ = writeln!(out, "    nearest: {}", refused.nearest);
        }
        for difference in row.differences {
            out.push_str(&shown(difference, "  "));
        }
    }
    for test in tests {
        let _ = writeln!(out, "{test}");
    }
    let _ = writeln!(out, "{}", summary(rows));
    out
}

fn outcome(row: &MigrateRow<'_>) -> String {
    let why = if row.why.is_empty() { String::new() } else { format!(" ({})", row.why) };
    let names: Vec<&str> = row.new.iter().map(|(_, name)| *name).collect();
    let is_same = names.len() == 1 && names.first() == Some(&row.name);
    let new = if names.is_empty() || is_same { String::new() } else { format!(" as {}", names.join(", ")) };
    format!("{new}: {}{why}", row.word())
}

/// An object with both verdicts.
pub(super) fn shown(difference: &Difference, indent: &str) -> String {
    let mut out = format!("{indent}{}{}\n", headline(difference), universe(difference));
    for line in to_string(&difference.object, Style::Block).lines() {
        let _ = writeln!(out, "{indent}  {line}");
    }
    for (side, said) in [("old", &difference.old), ("new", &difference.new)] {
        let message = said.message.lines().next().unwrap_or_default();
        let _ = writeln!(out, "{indent}  {side}  {}  {message}", said.verdict.name());
    }
    for line in changes(difference) {
        let _ = writeln!(out, "{indent}  {line}");
    }
    out
}

fn headline(difference: &Difference) -> String {
    format!("{}: {}", difference.kind.name(), difference.environment.name())
}

/// `5 policies: 3 proved (2 but for what is named), 1 tested, 1 refused`
pub fn summary(rows: &[MigrateRow<'_>]) -> String {
    let counts = Status::ALL.into_iter().map(|status| (count(rows, status), status));
    let one = |(n, status): (usize, Status)| {
        let apart = rows.iter().filter(|row| row.status == status && !row.but_for.is_empty()).count();
        counted(n, status.name(), apart)
    };
    let counts: Vec<String> = counts.filter(|(n, _)| *n > 0).map(one).collect();
    let noun = if rows.len() == 1 { "policy" } else { "policies" };
    match counts.is_empty() {
        true => "no policy to migrate".into(),
        false => format!("{} {noun}: {}", rows.len(), counts.join(", ")),
    }
}

/// The report of a merge request: a table, and below it what needs a decision.
pub fn markdown(rows: &[MigrateRow<'_>], tests: &[String]) -> String {
    let mut out = format!("## Migration to CEL\n\n{}\n\n", summary(rows));
    out.push_str("| policy | becomes | same meaning | notes |\n|---|---|---|---|\n");
    for row in rows {
        let new: Vec<String> = row.new.iter().map(|(kind, name)| format!("{kind} `{name}`")).collect();
        let mut notes = row.remarks.clone();
        if !row.why.is_empty() {
            notes.insert(0, row.why.clone());
        }
        notes.extend(row.refused.iter().map(|refused| format!("{} ({})", refused.construct, refused.place)));
        let _ = writeln!(
            out,
            "| `{}`<br>{} | {} | {} | {} |",
            row.name,
            cell(&row.place()),
            cell(&new.join("<br>")),
            row.word(),
            cell(&notes.join("<br>"))
        );
    }
    out.push('\n');
    for (word, meaning) in meanings(rows) {
        let _ = writeln!(out, "- *{word}*: {meaning}");
    }
    for row in rows.iter().filter(|row| !row.refused.is_empty()) {
        let _ = writeln!(out, "\n### `{}` is refused\n", row.name);
        for refused in row.refused {
            let _ =
                writeln!(out, "- {}: {}. Nearest: {}.", refused.place, refused.construct, refused.nearest);
        }
    }
    for row in rows.iter().filter(|row| !row.differences.is_empty()) {
        let _ = writeln!(out, "\n### `{}` differs\n", row.name);
        for difference in row.differences {
            let _ = writeln!(out, "```yaml\n{}```\n", shown(difference, "").replace("```", "` ` `"));
        }
    }
    if !tests.is_empty() {
        out.push_str("\n### Tests\n\n");
        for test in tests {
            let _ = writeln!(out, "- {test}");
        }
    }
    out
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
