//! `migrate`: ClusterPolicies as policies in CEL, each compared with its origin.

use serde_json::{Value as Json, json};

use ephor_page::answered;
use ephor_page::question::{Migrate, MigrationTarget, Question};

use super::answer::{ToolAnswer, items, noted, place, taken, text};
use super::arguments::ToolCall;
use super::compare::{difference, proof_time};
use super::error::ToolError;
use super::files;

/// Migrates policies, and writes the new texts where the call says so.
///
/// # Errors
/// An input cannot be read, there is no policy, or a file cannot be written.
pub(super) fn migrate(call: &ToolCall<'_>) -> Result<ToolAnswer, ToolError> {
    files::may_write(call)?;
    let policies = files::read(call, "policies")?;
    let question = Migrate {
        policies: policies.as_question(),
        definitions: files::read(call, "definitions")?.as_question(),
        to: if call.word("to") == "vap" { MigrationTarget::Vap } else { MigrationTarget::Vpol },
        kubernetes: call.text("kubernetes").into(),
        without_replication_controllers: call.flag("withoutReplicationControllers"),
        by_file: true,
        milliseconds: proof_time(call),
    };
    let mut answer = answered(&Question::Migrate(question))?;
    let new = taken(&mut answer, "files");
    let mut report = answer.get_mut("report").map(Json::take).unwrap_or_default();
    let rows = taken(&mut report, "policies");
    let texts: Vec<(String, String)> =
        new.iter().map(|file| (text(file, "name").into(), text(file, "text").into())).collect();
    let written = files::write(call, &policies, &texts)?;
    let mut lines: String = rows.iter().map(lines_of).collect();
    if written.is_empty() {
        for (name, text) in &texts {
            lines.push_str(&format!("{name} in CEL:\n{text}"));
        }
    }
    written.iter().for_each(|path| lines.push_str(&format!("written: {path}\n")));
    let result = json!({
        "policies": rows,
        "summary": report.get("summary"),
        "files": new,
        "written": written,
        "notes": policies.notes,
    });
    Ok(ToolAnswer { result, text: lines + &noted(&policies.notes) })
}

/// What came of a policy.
fn lines_of(row: &Json) -> String {
    let reason = match text(row, "reason") {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let mut out = format!("{}: {}: {}{reason}\n", place(row), text(row, "policy"), text(row, "status"));
    for refused in items(row, "refused") {
        let [at, construct, nearest] = ["place", "construct", "nearest"].map(|name| text(refused, name));
        out.push_str(&format!("  refused: {at}: {construct}; {nearest}\n"));
    }
    for remark in items(row, "remarks").filter_map(Json::as_str) {
        out.push_str(&format!("  note: {remark}\n"));
    }
    out.extend(items(row, "differences").map(difference));
    out
}
