//! JMESPath suites: the language's compliance suite and the dialect's cases.

use std::path::Path;

use ephor_search::{self, Expression, NoJson, Problem};
use ephor_value::Value;

use super::{Failure, Report, lines};

/// Why a search has no result, in the words of Kyverno's library.
#[derive(Debug, thiserror::Error)]
enum SearchError {
    /// The expression is none, or fails.
    #[error(transparent)]
    Expression(#[from] Problem),
    /// The result cannot be written.
    #[error(transparent)]
    Result(#[from] NoJson),
}

/// Searches a document as Kyverno's JMESPath library does, which trims expressions.
fn search(expression: &str, input: &Value) -> Result<Value, SearchError> {
    let value = Expression::compile(expression.trim())?.search(input)?;
    ephor_search::json(&value)?;
    Ok(value)
}

fn as_recorded(result: &Result<Value, SearchError>) -> Value {
    match result {
        Ok(v) => Value::map([("result", v.clone())]),
        Err(e) => Value::map([("error", Value::from(e.to_string()))]),
    }
}

/// Runs a file of the dialect's cases: `expression`, `input`, and `result` or `error`.
///
/// # Errors
/// The file cannot be read.
pub fn dialect(name: &str, file: &Path) -> std::io::Result<Report> {
    let mut report = Report::new(name);
    for case in lines(file)? {
        let input = case.get("input").cloned().unwrap_or_default().with_float_numbers();
        let got = search(case.text_at(&["expression"]), &input);
        let right = match (&got, case.get("result"), case.get("error")) {
            (Ok(v), Some(expected), None) => v.json_eq(expected),
            (Err(e), None, Some(expected)) => Some(&*e.to_string()) == expected.as_str(),
            _ => false,
        };
        report.count(if right { Ok(()) } else { Err(failure(&case, &got)) });
    }
    Ok(report)
}

fn failure(case: &Value, got: &Result<Value, SearchError>) -> Failure {
    let mut expected = case.as_map().cloned().unwrap_or_default();
    expected.remove("input");
    Failure { id: case.text_at(&["id"]).into(), expected: Value::Map(expected), got: as_recorded(got) }
}

/// Runs `parse.jsonl` of the dialect: printed syntax trees.
///
/// # Errors
/// The file cannot be read.
pub fn parse(dir: &Path) -> std::io::Result<Report> {
    let mut report = Report::new("jmespath-kyverno/parse");
    for case in lines(&dir.join("parse.jsonl"))? {
        let text = case.text_at(&["expression"]);
        let got = match ephor_jmespath::parse(text) {
            Ok(ast) => ("ast", ast.tree()),
            Err(e) => ("error", e.with_caret(text)),
        };
        let right = case.get(got.0).and_then(Value::as_str).is_some_and(|s| s.trim_end() == got.1.trim_end());
        let shown = Value::map([(got.0, Value::from(got.1))]);
        report.count(if right {
            Ok(())
        } else {
            Err(Failure { id: case.text_at(&["id"]).into(), expected: case.clone(), got: shown })
        });
    }
    Ok(report)
}

/// Runs the compliance suite of the language: every `*.json` of the folder.
///
/// # Errors
/// A file cannot be read.
pub fn compliance(dir: &Path) -> std::io::Result<Report> {
    let mut report = Report::new("jmespath");
    let mut files: Vec<_> = std::fs::read_dir(dir)?.filter_map(|e| Some(e.ok()?.path())).collect();
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "json")) {
        let text = std::fs::read_to_string(file)?;
        let suites = ephor_document::json::parse(&text).unwrap_or_default().with_float_numbers();
        let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        for (i, suite) in suites.as_list().unwrap_or_default().iter().enumerate() {
            let given = suite.get("given").cloned().unwrap_or_default();
            for (j, case) in
                suite.get("cases").and_then(Value::as_list).unwrap_or_default().iter().enumerate()
            {
                let got = search(case.text_at(&["expression"]), &given);
                let right = match (&got, case.get("result")) {
                    (Ok(v), Some(expected)) => v.json_eq(expected),
                    (Err(_), None) => case.get("error").is_some() || case.get("bench").is_some(),
                    (Ok(_), None) => case.get("bench").is_some(),
                    (Err(_), Some(_)) => false,
                };
                let id = format!("{stem}/{i}/{j}");
                report.count(if right {
                    Ok(())
                } else {
                    Err(Failure { id, expected: case.clone(), got: as_recorded(&got) })
                });
            }
        }
    }
    Ok(report)
}
