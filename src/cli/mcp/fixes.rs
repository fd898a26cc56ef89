//! `lint`: findings, and files with fixes.

use serde_json::{Value as Json, json};

use ephor_page::answered;
use ephor_page::question::{FixLevel, Lint, Question};

use super::answer::{ToolAnswer, items, noted, place, taken, text};
use super::arguments::ToolCall;
use super::error::ToolError;
use super::files;

/// Checks policies, and writes those with fixes where the call says so.
///
/// # Errors
/// An input cannot be read, there is no policy, or a file cannot be written.
pub(super) fn lint(call: &ToolCall<'_>) -> Result<ToolAnswer, ToolError> {
    let fix = match call.word("fix") {
        "safe" => FixLevel::Safe,
        "unsafe" => FixLevel::Unsafe,
        _ => FixLevel::None,
    };
    files::may_write(call)?;
    if fix == FixLevel::None && call.output("output").is_some() {
        return Err(ToolError::Without { name: "output", with: "fix" });
    }
    let policies = files::read(call, "policies")?;
    let question = Lint {
        policies: policies.as_question(),
        definitions: files::read(call, "definitions")?.as_question(),
        kubernetes: call.text("kubernetes").into(),
        fix,
    };
    let mut answer = answered(&Question::Lint(question))?;
    let findings = taken(&mut answer, "findings");
    let count = |name: &str| answer.get(name).and_then(Json::as_u64).unwrap_or_default();
    if count("policies") + count("partial") == 0 && findings.is_empty() {
        return Err(ToolError::NoPolicy { causes: policies.notes });
    }
    let mut result = json!({
        "findings": findings,
        "policies": count("policies"),
        "partial": count("partial"),
        "others": count("others"),
        "notes": policies.notes,
    });
    let mut lines: String = findings.iter().map(line_of).collect();
    if fix != FixLevel::None {
        let fixed = taken(&mut answer, "fixed");
        let texts: Vec<(String, String)> =
            fixed.iter().map(|file| (text(file, "name").into(), text(file, "text").into())).collect();
        let written = files::write(call, &policies, &texts)?;
        for file in &fixed {
            let name = text(file, "name");
            for done in items(file, "done") {
                let line = done.get("line").and_then(Json::as_u64).unwrap_or_default();
                let (title, id) = (text(done, "title"), text(done, "id"));
                lines.push_str(&format!("{name}:{line}: fixed: {title} [{id}]\n"));
            }
            if written.is_empty() {
                lines.push_str(&format!("{name} with fixes:\n{}", text(file, "text")));
            }
        }
        written.iter().for_each(|path| lines.push_str(&format!("written: {path}\n")));
        result["fixed"] = fixed.into();
        result["written"] = written.into();
    }
    let severities = ["error", "warning", "note"].map(|severity| {
        let count = findings.iter().filter(|finding| text(finding, "severity") == severity).count();
        format!("{severity}: {count}")
    });
    lines.push_str(&format!("{}\n", severities.join(", ")));
    Ok(ToolAnswer { result, text: lines + &noted(&policies.notes) })
}

/// `policy.yaml:8:12: warning: MESSAGE; HELP [unknown-kind]`
fn line_of(finding: &Json) -> String {
    let column = finding.get("column").and_then(Json::as_u64).filter(|column| *column > 0);
    let column = column.map(|column| format!(":{column}")).unwrap_or_default();
    let help = match text(finding, "help") {
        "" => String::new(),
        help => format!("; {help}"),
    };
    format!(
        "{}{column}: {}: {}{help} [{}]\n",
        place(finding),
        text(finding, "severity"),
        text(finding, "message"),
        text(finding, "id")
    )
}
