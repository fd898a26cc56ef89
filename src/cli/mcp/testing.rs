//! `test`: tests of policies.
//!
//! In: folders, or the texts of a test and of its files, which stand in a temporary folder while
//! the test runs. Out: each row with its expected result's place.

use std::path::Path;

use serde_json::{Value as Json, json};

use ephor_report::diff::without_colour;
use ephor_testing::testing::file::{self, Test};
use ephor_testing::testing::find::find;
use ephor_testing::testing::rows::{Row, Verdict};
use ephor_testing::testing::run::{Options, Ran, run};
use ephor_value::parallel;

use super::answer::{ToolAnswer, noted, place, text};
use super::arguments::{FileArgument, ToolCall};
use super::error::ToolError;
use super::files;
use crate::cli::outputs::write_with_folders;

/// The name of test files.
const FILE: &str = "kyverno-test.yaml";

/// Runs tests.
///
/// # Errors
/// A folder or a test cannot be read, there is none, or one cannot be run.
pub(super) fn test(call: &ToolCall<'_>) -> Result<ToolAnswer, ToolError> {
    let (mut folders, mut texts) = (Vec::new(), Vec::new());
    for file in call.files("tests") {
        match file {
            FileArgument::Path(path) => {
                files::exists(path)?;
                folders.push(folder_of(path));
            }
            FileArgument::Text { name, text } => texts.push((name.unwrap_or(FILE), text)),
        }
    }
    let temporary = written(&texts)?;
    let root = temporary.as_ref().map(|folder| format!("{}/", folder.path().display()));
    folders.extend(temporary.as_ref().map(|folder| folder.path().display().to_string()));
    let named = |text: &str| root.as_ref().map_or_else(|| text.to_string(), |root| text.replace(root, ""));
    let tests = tests(&folders, &named)?;
    let ran: Vec<Ran> = parallel::map(&tests, |test| run(test, Options::default()));
    let (mut rows, mut notes) = (Vec::new(), Vec::new());
    for (test, ran) in tests.iter().zip(ran) {
        if let Some(failed) = ran.failed {
            return Err(ToolError::Test(named(&format!("{}: {failed}", test.path)), None));
        }
        notes.extend(ran.log.hints.iter().chain(&ran.vacuous).map(|text| named(text)));
        rows.extend(ran.rows.iter().map(|row| of_row(test, row, &named)));
    }
    let count = |verdict: &str| rows.iter().filter(|row| text(row, "verdict") == verdict).count();
    let summary =
        json!({"tests": tests.len(), "pass": count("pass"), "fail": count("fail"), "skip": count("skip")});
    let failed = rows.iter().filter(|row| text(row, "verdict") != "pass");
    let mut lines: String = failed.map(line_of).collect();
    lines.push_str(&format!(
        "tests: {}, pass: {}, fail: {}, skip: {}\n",
        tests.len(),
        count("pass"),
        count("fail"),
        count("skip")
    ));
    let result = json!({"results": rows, "summary": summary, "notes": notes});
    Ok(ToolAnswer { result, text: lines + &noted(&notes) })
}

/// The folder of a test file; a folder is itself.
fn folder_of(path: &str) -> String {
    let whole = Path::new(path);
    match whole.parent().filter(|_| whole.is_file()) {
        Some(parent) if parent.as_os_str().is_empty() => ".".into(),
        Some(parent) => parent.display().to_string(),
        None => path.into(),
    }
}

/// A temporary folder with texts, which is deleted with this value; none without texts.
fn written(texts: &[(&str, &str)]) -> Result<Option<tempfile::TempDir>, ToolError> {
    if texts.is_empty() {
        return Ok(None);
    }
    let folder = tempfile::tempdir().map_err(ToolError::Temporary)?;
    for (name, text) in texts {
        files::checked_name(name)?;
        write_with_folders(&folder.path().join(name), text).map_err(ToolError::Write)?;
    }
    Ok(Some(folder))
}

/// The tests below folders.
fn tests(folders: &[String], named: &dyn Fn(&str) -> String) -> Result<Vec<Test>, ToolError> {
    let found = find(folders, FILE, "").map_err(|error| ToolError::Test(named(&error.to_string()), None))?;
    let mut tests = Vec::new();
    for source in &found.sources {
        for test in file::tests(source, None) {
            let test = test.map_err(|faulty| {
                let text = format!("{}: {}", faulty.path, faulty.text);
                ToolError::Test(named(&text), faulty.hint.map(|hint| named(&hint)))
            })?;
            tests.push(test);
        }
    }
    match tests.iter().find(|test| test.deprecated) {
        Some(test) => Err(ToolError::Test(
            format!("{}: a test in a schema of the past", named(&test.path)),
            Some("`ephor fix test` writes it in the present one".into()),
        )),
        None if tests.is_empty() => Err(ToolError::NoTests),
        None => Ok(tests),
    }
}

fn of_row(test: &Test, row: &Row, named: &dyn Fn(&str) -> String) -> Json {
    let verdict = match row.verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Skip => "skip",
    };
    json!({
        "file": named(&test.path),
        "line": test.line_of(row.at),
        "policy": row.policy,
        "rule": row.rule,
        "resource": row.resource,
        "expected": test.results.get(row.at).map(|expected| &expected.result),
        "verdict": verdict,
        "reason": named(&row.reason),
        "message": named(&without_colour(&row.message)),
        "isVacuous": !row.compared,
    })
}

/// `fail kyverno-test.yaml:9: no-latest/tag on v1/Pod/default/web: REASON: MESSAGE`
fn line_of(row: &Json) -> String {
    let message = match text(row, "message").trim() {
        "" => String::new(),
        message => format!(": {message}"),
    };
    format!(
        "{} {}: {}/{} on {}: {}{message}\n",
        text(row, "verdict"),
        place(row),
        text(row, "policy"),
        text(row, "rule"),
        text(row, "resource"),
        text(row, "reason")
    )
}
