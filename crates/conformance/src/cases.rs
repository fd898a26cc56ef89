//! Case suites: readable YAML files, each a policy and several objects with the result of every
//! rule.
//!
//! In: a folder `cases/TOPIC` of YAML files; every document of a file holds `policy` (or
//! `policies`) and `cases`. Out: a report `cases/TOPIC`. The format is described in
//! `docs/internals/conformance.md`; a case is evaluated exactly like a line of an engine suite,
//! with the document's policy put in where the case has none of its own.

use std::path::{Path, PathBuf};

use ephor_document::{Duplicates, parse_stream};
use ephor_value::{Map, Value};

use super::{Failure, Report, engine};

/// What a result is compared by; `policy` is there only together with other policies.
const SHOWN: [&str; 7] = ["policy", "rule", "status", "message", "properties", "exceptions", "generated"];

/// The topics of a folder of cases: its folders, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn topics(dir: &Path) -> std::io::Result<Vec<String>> {
    let named = |p: PathBuf| Some(p.file_name()?.to_string_lossy().into_owned());
    Ok(sorted(dir)?.into_iter().filter(|p| p.is_dir()).filter_map(named).collect())
}

/// Runs the cases of one topic.
///
/// # Errors
/// A file cannot be read.
pub fn run(dir: &Path) -> std::io::Result<Report> {
    let topic = dir.file_name().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let mut report = Report::new(format!("cases/{topic}"));
    for file in sorted(dir)?.iter().filter(|f| f.extension().is_some_and(|e| e == "yaml")) {
        let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let text = std::fs::read_to_string(file)?;
        documents(&stem, &text, &mut report);
    }
    Ok(report)
}

fn sorted(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = std::fs::read_dir(dir)?.map(|e| Ok(e?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn documents(stem: &str, text: &str, report: &mut Report) {
    let stopped = |text: String| Failure {
        id: stem.to_string(),
        expected: Value::Null,
        got: Value::map([("stopped", Value::from(text))]),
    };
    let parsed = match parse_stream(stem, text, Duplicates::Error) {
        Ok(parsed) => parsed,
        Err(e) => return report.count(Err(stopped(e.to_string()))),
    };
    for document in parsed {
        let document = match document {
            Ok(document) => document.value,
            Err(e) => {
                report.count(Err(stopped(format!("line {}: {e}", e.line))));
                continue;
            }
        };
        let cases = document.get("cases").and_then(Value::as_list).unwrap_or_default();
        if cases.is_empty() {
            report.count(Err(stopped("a document without cases".into())));
        }
        for case in cases {
            report.count(one(stem, &document, case));
        }
    }
}

fn one(stem: &str, document: &Value, case: &Value) -> Result<(), Failure> {
    let id = format!("{stem}: {}", case.text_at(&["name"]));
    let mut whole = case.as_map().cloned().unwrap_or_default();
    if case.get("policy").is_none() && case.get("policies").is_none() {
        for key in ["policy", "policies"] {
            if let Some(value) = document.get(key) {
                whole.insert(key, value.clone());
            }
        }
    }
    let expected = match (case.get("policyError"), case.get("contextError")) {
        (Some(text), _) => Value::map([("policyError", text.clone())]),
        (_, Some(text)) => Value::map([("contextError", text.clone())]),
        _ => {
            let whole = ["expect", "patched", "generateError"].into_iter();
            let written = whole.filter_map(|key| Some((key.into(), case.get(key)?.clone())));
            Value::Map(written.collect())
        }
    };
    let got = match engine::evaluate(&Value::Map(whole)) {
        Ok(answer) => comparable(&answer),
        Err(error) => Value::map([("stopped", Value::from(error.to_string()))]),
    };
    if expected.json_eq(&got) { Ok(()) } else { Err(Failure { id, expected, got }) }
}

fn comparable(answer: &Value) -> Value {
    for key in ["policyError", "contextError"] {
        if let Some(text) = answer.get(key) {
            return Value::map([(key, text.clone())]);
        }
    }
    let rules = answer.get("rules").and_then(Value::as_list).unwrap_or_default();
    let brief = |rule: &Value| -> Value {
        let shown: Map =
            SHOWN.iter().filter_map(|key| Some(((*key).into(), rule.get(key)?.clone()))).collect();
        Value::Map(shown)
    };
    let mut whole = Map::new();
    whole.insert("expect", Value::List(rules.iter().map(brief).collect()));
    // An unchanged object is left out.
    if let Some(patched) = answer.get("patched").filter(|p| p.as_str() != Some("unchanged")) {
        whole.insert("patched", patched.clone());
    }
    if let Some(text) = answer.get("generateError") {
        whole.insert("generateError", text.clone());
    }
    Value::Map(whole)
}
