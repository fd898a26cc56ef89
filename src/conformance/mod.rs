//! Running recorded suites.
//!
//! In: a folder laid out as a conformance suite. Out: for every suite how many cases came out as
//! recorded, and each failing case with what was expected and what was got. Comparison is exact;
//! what cannot be run counts as failed.

pub mod admission;
pub mod cases;
pub mod cel_spec;
pub mod engine;
pub mod jmespath;
pub mod kubernetes_cel;
pub mod reviews;
pub mod reviews_of_policies;
pub mod round_trip;
pub mod server;
pub mod test_folders;
pub mod verdicts;
mod webhook_replies;

use std::path::Path;

use crate::value::{Map, Value};

/// A case that did not come out as recorded.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case.
    pub id: String,
    /// What was recorded.
    pub expected: Value,
    /// What came out.
    pub got: Value,
}

/// The result of one suite.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Its name, `engine/patterns`.
    pub name: String,
    /// How many cases came out as recorded.
    pub passed: usize,
    /// How many there are.
    pub total: usize,
    /// The others.
    pub failures: Vec<Failure>,
}

impl Report {
    /// A report on nothing yet.
    pub fn new(name: impl Into<String>) -> Report {
        Report { name: name.into(), ..Report::default() }
    }

    /// Counts a case.
    pub fn count(&mut self, result: Result<(), Failure>) {
        self.total += 1;
        match result {
            Ok(()) => self.passed += 1,
            Err(f) => self.failures.push(f),
        }
    }
}

/// Runs every suite of `dir` whose name starts with `only` (all of them when it is empty), in order,
/// handing each report over as soon as it is made.
///
/// # Errors
/// A suite's file cannot be read.
pub fn run_all(dir: &Path, only: &str, mut done: impl FnMut(Report)) -> std::io::Result<()> {
    let wanted = |name: &str| name.starts_with(only);
    let asked = wanted("verdicts") || only.starts_with("verdicts");
    if asked && dir.join("verdicts/kyverno-policies.jsonl").exists() {
        verdicts::run(dir)?.into_iter().filter(|r| wanted(&r.name)).for_each(&mut done);
    }
    for name in ["kyverno-cli", "kyverno-policies"] {
        let listed = dir.join(format!("{name}.reference-passes.txt")).exists();
        if listed && (name.starts_with(only) || only.starts_with(name)) {
            test_folders::run(dir, name)?.into_iter().filter(|r| wanted(&r.name)).for_each(&mut done);
        }
    }
    let asked = wanted("reviews") || only.starts_with("reviews");
    if asked && dir.join("admission").is_dir() && wanted("reviews/admission") {
        done(reviews::admission(&dir.join("admission"))?);
    }
    if asked && dir.join("kyverno-policies.reference-passes.txt").exists() {
        reviews_of_policies::run(dir)?.into_iter().filter(|r| wanted(&r.name)).for_each(&mut done);
    }
    let expressions = dir.join("kubernetes-cel/cases.jsonl");
    if (wanted("kubernetes-cel") || only.starts_with("kubernetes-cel")) && expressions.exists() {
        kubernetes_cel::run(&expressions)?.into_iter().filter(|r| wanted(&r.name)).for_each(&mut done);
    }
    let mut one = |name: &str, at: &Path, suite: &dyn Fn(&Path) -> std::io::Result<Report>| {
        if wanted(name) && at.exists() {
            done(suite(at)?);
        }
        Ok::<(), std::io::Error>(())
    };
    one("jmespath", &dir.join("jmespath"), &jmespath::compliance)?;
    for (name, file) in [
        ("jmespath-kyverno/cases", "jmespath-kyverno/cases.jsonl"),
        ("jmespath-random", "jmespath-random.jsonl"),
    ] {
        one(name, &dir.join(file), &|file| jmespath::dialect(name, file))?;
    }
    one("cel-spec", &dir.join("cel-spec"), &cel_spec::run)?;
    for name in ["cel-random", "cel-edges"] {
        one(name, &dir.join(name), &|dir| kubernetes_cel::both_levels(name, dir))?;
    }
    one("jmespath-kyverno/parse", &dir.join("jmespath-kyverno"), &jmespath::parse)?;
    for file in engine::files(&dir.join("engine"))? {
        let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        one(&format!("engine/{stem}"), &file, &engine::run)?;
    }
    for file in engine::files(&dir.join("server"))? {
        let stem = file.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        one(&format!("server/{stem}"), &file, &server::run)?;
    }
    for topic in admission::topics(&dir.join("admission"))? {
        one(&format!("admission/{topic}"), &dir.join("admission").join(&topic), &admission::run)?;
    }
    let own = dir.join("cases");
    if own.is_dir() {
        for topic in cases::topics(&own)? {
            one(&format!("cases/{topic}"), &own.join(&topic), &cases::run)?;
        }
    }
    Ok(())
}

/// The lines of a JSON-lines file; a line that is no JSON becomes null.
pub fn lines(path: &Path) -> std::io::Result<Vec<Value>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text
        .lines()
        .filter(|l| !l.trim().is_empty())
        .map(|l| crate::document::json::parse(l).unwrap_or_default())
        .collect())
}

/// An object of these entries.
pub fn object<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(entries.into_iter().map(|(k, v)| (k.into(), v)).collect::<Map>())
}
