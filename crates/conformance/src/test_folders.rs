//! Folders with test files: the tests of a policy library as `kyverno test` runs them.
//!
//! A list names the folders that Kyverno passes; a case is one of them. It passes when
//! no row fails and there are as many rows as Kyverno counts. Folders with policies of other
//! groups than Kyverno's own first one, and those with expressions of Kubernetes, count as a suite
//! of their own.

use std::path::Path;

use rayon::prelude::*;

use ephor_document::{self, Duplicates};
use ephor_sources::files;
use ephor_testing::testing::file::{self, Test};
use ephor_testing::testing::find::find;
use ephor_testing::testing::rows::Verdict;
use ephor_testing::testing::run::{Options, run as run_test};
use ephor_value::Value;

use super::{Failure, Report, data};

/// The file of the repository with the numbers of rows that Kyverno gives, by suite and folder.
const COUNTS: &str = "conformance/reference/test-counts.json";

/// The file of a suite that names the folders.
pub(super) fn list(name: &str) -> String {
    format!("{name}.reference-passes.txt")
}

/// Runs a suite: `NAME` and `NAME/cel-kinds`.
///
/// # Errors
/// The list of folders cannot be read.
pub fn run(dir: &Path, name: &str) -> std::io::Result<Vec<Report>> {
    let list = std::fs::read_to_string(dir.join(list(name)))?;
    let counts = counts();
    let folders: Vec<&str> = list.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let done: Vec<(bool, Result<(), Failure>)> = folders
        .par_iter()
        .map(|folder| {
            let wanted = counts.at(&[name, folder]).and_then(|v| match v {
                Value::Int(n) => usize::try_from(*n).ok(),
                _ => None,
            });
            one(&dir.join(name).join(folder), folder, wanted)
        })
        .collect();
    let mut own = Report::new(name);
    let mut expressions = Report::new(format!("{name}/cel-kinds"));
    for (has_expressions, result) in done {
        if has_expressions { expressions.count(result) } else { own.count(result) }
    }
    Ok(vec![own, expressions])
}

fn counts() -> Value {
    let text = data::repository().and_then(|root| std::fs::read_to_string(root.join(COUNTS)).ok());
    text.and_then(|text| ephor_document::json::parse(&text).ok()).unwrap_or_default()
}

/// Runs the tests of a folder; whether some of its policies are of other kinds.
fn one(path: &Path, folder: &str, wanted: Option<usize>) -> (bool, Result<(), Failure>) {
    let failed = |why: String| {
        let expected = wanted.map_or(Value::Null, |n| Value::Int(i64::try_from(n).unwrap_or(0)));
        Err(Failure { id: folder.into(), expected: Value::map([("rows", expected)]), got: Value::from(why) })
    };
    let found = match find(&[path.to_string_lossy().into_owned()], "kyverno-test.yaml", "") {
        Ok(found) => found,
        Err(e) => return (false, failed(e.to_string())),
    };
    let tests: Result<Vec<Test>, String> = found
        .sources
        .iter()
        .flat_map(|source| file::tests(source, None))
        .map(|t| t.map_err(|e| format!("{}: {}", e.path, e.text)))
        .collect();
    let tests = match tests {
        Ok(tests) => tests,
        Err(e) => return (false, failed(e)),
    };
    let other = tests.iter().any(has_other_kinds);
    let mut rows = 0;
    for test in tests.iter().filter(|t| !t.results.is_empty()) {
        let ran = run_test(test, Options::default());
        if let Some(text) = ran.failed {
            return (other, failed(text));
        }
        if let Some(row) = ran.rows.iter().find(|r| r.verdict == Verdict::Fail) {
            let text =
                format!("{} {} {}: {} ({})", row.policy, row.rule, row.resource, row.reason, row.message);
            return (other, failed(text));
        }
        rows += ran.rows.len();
    }
    match wanted {
        Some(n) if n != rows => (other, failed(format!("{rows} rows"))),
        _ => (other, Ok(())),
    }
}

/// Whether a test has policies with expressions of Kubernetes, or of kinds that exist for them.
fn has_other_kinds(test: &Test) -> bool {
    let sources = files::policies(&test.policies).sources;
    let documents = sources.iter().flat_map(|s| {
        ephor_document::parse_stream(&s.name, &s.text, Duplicates::LastWins).unwrap_or_default()
    });
    documents.flatten().any(|d| {
        let group = d.value.text_at(&["apiVersion"]).split('/').next().unwrap_or_default().to_owned();
        matches!(&*group, "policies.kyverno.io" | "admissionregistration.k8s.io")
    })
}
