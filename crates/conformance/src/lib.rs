//! Running recorded suites.
//!
//! In: a folder laid out as a conformance suite. Out: for every suite how many cases came out as
//! recorded, each failing case with what was expected and what was got, and how many are left out,
//! and why. Comparison is exact; what cannot be run counts as failed.
//!
//! - [`admission`]: admission recorded from an API server: policies, bindings, requests, and what
//!   became of them.
//! - [`cases`]: case suites: readable YAML files, each a policy and several objects with the result
//!   of every rule.
//! - [`cel_spec`]: the tests of CEL's specification, those without messages of protocol buffers.
//! - [`engine`]: engine suites: policies and resources with the answers of Kyverno's engine, one
//!   case a line.
//! - [`jmespath`]: JMESPath suites: the language's compliance suite and the dialect's cases.
//! - [`known`]: differences from recordings that are known, each with its cause.
//! - [`kubernetes_cel`]: expressions recorded in Kubernetes' own CEL environment: type, value,
//!   errors and cost.
//! - [`random_admission`]: random requests of admission, recorded from API servers of several
//!   releases.
//! - [`reviews`]: recorded answers of an API server, with its policies behind a webhook: each
//!   request is sent to the gate as the AdmissionReviews that an API server would send, first to
//!   `/mutate`, then, as it was left, to `/validate`.
//! - [`reviews_of_policies`]: A library of policies sent as AdmissionReviews: the webhook must
//!   decide as the command line does.
//! - [`round_trip`]: suites on policies that were written as JSON and read back.
//! - [`server`]: admissionReviews that Kyverno's own webhook handlers answered.
//! - [`test_folders`]: folders with test files: the tests of a policy library as `kyverno test`
//!   runs them.
//! - [`verdicts`]: the verdict suite: every policy of a library applied to every resource of a
//!   pool.
//! - `webhook_replies`: the webhooks of a recorded case: what they answer, and what they were
//!   sent.
#![forbid(unsafe_code)]

pub mod admission;
pub mod cases;
pub mod cel_spec;
pub mod engine;
pub mod jmespath;
pub mod known;
pub mod kubernetes_cel;
pub mod random_admission;
pub mod reviews;
pub mod reviews_of_policies;
pub mod round_trip;
pub mod server;
pub mod test_folders;
pub mod verdicts;
mod webhook_replies;

pub use ephor_samples::data;

use std::collections::BTreeMap;
use std::io::Result;
use std::path::Path;

use ephor_value::Value;
use ephor_value::release::Release;

/// A case that did not come out as recorded.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The case.
    pub id: String,
    /// What was recorded.
    pub expected: Value,
    /// The actual result.
    pub got: Value,
}

/// The result of one suite.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Its name, `engine/patterns`.
    pub name: String,
    /// How many cases pass.
    pub passed: usize,
    /// How many there are.
    pub total: usize,
    /// The failing cases.
    pub failures: Vec<Failure>,
    /// How many recorded cases are not run, by the reason.
    pub left_out: BTreeMap<&'static str, usize>,
}

impl Report {
    /// A report on nothing yet.
    pub fn new(name: impl Into<String>) -> Report {
        Report { name: name.into(), ..Report::default() }
    }

    /// Counts a case.
    pub fn count(&mut self, result: std::result::Result<(), Failure>) {
        self.total += 1;
        match result {
            Ok(()) => self.passed += 1,
            Err(f) => self.failures.push(f),
        }
    }

    /// Counts recorded cases that are not run.
    pub fn leave_out(&mut self, why: &'static str, cases: usize) {
        if cases > 0 {
            *self.left_out.entry(why).or_default() += cases;
        }
    }
}

/// Progress of a run.
#[derive(Debug)]
pub enum Step<'a> {
    /// A suite, or several that are run as one, begins.
    Begun(&'a str),
    /// A suite has been run.
    Done(Report),
}

/// Suites that are run.
struct Run<'a> {
    dir: &'a Path,
    /// How their names start.
    only: &'a str,
    observe: &'a mut dyn FnMut(Step<'_>),
}

impl Run<'_> {
    /// Runs suites of these names together, when one of them is selected and `needed` exists.
    fn several(
        &mut self,
        names: &[&str],
        needed: &str,
        suites: impl FnOnce(&Path) -> Result<Vec<Report>>,
    ) -> Result<()> {
        let selected = names.iter().find(|name| name.starts_with(self.only));
        let (Some(first), true) = (selected, self.dir.join(needed).exists()) else { return Ok(()) };
        (self.observe)(Step::Begun(first));
        let reports = suites(self.dir)?.into_iter().filter(|report| report.name.starts_with(self.only));
        reports.for_each(|report| (self.observe)(Step::Done(report)));
        Ok(())
    }

    /// Runs the suite at `place`.
    fn one(&mut self, name: &str, place: &str, suite: impl FnOnce(&Path) -> Result<Report>) -> Result<()> {
        self.several(&[name], place, |dir| Ok(vec![suite(&dir.join(place))?]))
    }
}

/// Runs every suite of `dir` whose name starts with `only` (all of them when it is empty), in
/// order, reporting progress to `observe`. What an API server was recorded of is of a release.
///
/// # Errors
/// A suite's file cannot be read.
pub fn run_all(dir: &Path, only: &str, release: Release, mut observe: impl FnMut(Step<'_>)) -> Result<()> {
    let mut run = Run { dir, only, observe: &mut observe };
    let names = ["verdicts/status", "verdicts/message", "verdicts/other"];
    run.several(&names, "verdicts/kyverno-policies.jsonl", verdicts::run)?;
    for name in ["kyverno-cli", "kyverno-policies"] {
        let names = [name, &format!("{name}/cel-kinds")];
        run.several(&names, &test_folders::list(name), |dir| test_folders::run(dir, name))?;
    }
    run.one("reviews/admission", "admission", |dir| reviews::admission(dir, release))?;
    let names = ["reviews/tests", "reviews/pool"];
    run.several(&names, &test_folders::list("kyverno-policies"), reviews_of_policies::run)?;
    let names =
        ["kubernetes-cel", "kubernetes-cel/cost", "kubernetes-cel/estimate", "kubernetes-cel/runtime-0.30"];
    run.several(&names, "kubernetes-cel", |dir| kubernetes_cel::run(&dir.join("kubernetes-cel"), release))?;
    run.one("jmespath", "jmespath", jmespath::compliance)?;
    for (name, file) in [
        ("jmespath-kyverno/cases", "jmespath-kyverno/cases.jsonl"),
        ("jmespath-random", "jmespath-random.jsonl"),
    ] {
        run.one(name, file, |file| jmespath::dialect(name, file))?;
    }
    run.one("cel-spec", "cel-spec", cel_spec::run)?;
    for name in ["cel-random", "cel-edges"] {
        run.one(name, name, |dir| kubernetes_cel::both_levels(name, dir))?;
    }
    run.one("jmespath-kyverno/parse", "jmespath-kyverno", jmespath::parse)?;
    for stem in stems(&dir.join("engine"), ".jsonl")? {
        run.one(&format!("engine/{stem}"), &format!("engine/{stem}.jsonl"), engine::run)?;
    }
    for stem in stems(&dir.join("server"), ".jsonl")? {
        run.one(&format!("server/{stem}"), &format!("server/{stem}.jsonl"), server::run)?;
    }
    for name in topics(dir, "admission")? {
        run.one(&name, &name, |dir| admission::run(&name, dir, release))?;
    }
    for stem in stems(&dir.join("admission-random"), random_admission::ENDING)? {
        let name = format!("admission-random/{stem}");
        let file = format!("{name}{}", random_admission::ENDING);
        run.one(&name, &file, |file| random_admission::run(&name, file))?;
    }
    for name in topics(dir, "cases")? {
        run.one(&name, &name, cases::run)?;
    }
    Ok(())
}

/// The topics of a suite, `SUITE/TOPIC` each; none where there is no such suite.
fn topics(dir: &Path, suite: &str) -> Result<Vec<String>> {
    let below = dir.join(suite);
    let topics = if below.is_dir() { nested(&below)? } else { Vec::new() };
    Ok(topics.into_iter().map(|topic| format!("{suite}/{topic}")).collect())
}

/// The topics below a folder, and in their place those of folders that hold topics: `FOLDER/TOPIC`.
fn nested(dir: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for topic in cases::topics(dir)? {
        let below = cases::topics(&dir.join(&topic))?;
        match below.is_empty() {
            true => all.push(topic),
            false => all.extend(below.into_iter().map(|inner| format!("{topic}/{inner}"))),
        }
    }
    Ok(all)
}

/// The names of the files of a folder with an ending, without it and in order; none where there is
/// no folder.
///
/// # Errors
/// The folder cannot be read.
pub fn stems(dir: &Path, ending: &str) -> Result<Vec<String>> {
    if !dir.is_dir() {
        return Ok(Vec::new());
    }
    let mut stems = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let name = entry?.file_name();
        stems.extend(name.to_string_lossy().strip_suffix(ending).map(String::from));
    }
    stems.sort();
    Ok(stems)
}

/// The lines of a JSON-lines file; a line that is no JSON becomes null.
pub fn lines(path: &Path) -> Result<Vec<Value>> {
    Ok(values(&std::fs::read_to_string(path)?))
}

/// The lines of a compressed JSON-lines file.
fn gz_lines(path: &Path) -> Result<Vec<Value>> {
    Ok(values(&data::gunzipped(path)?))
}

fn values(text: &str) -> Vec<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| ephor_document::json::parse(line).unwrap_or_default()).collect()
}
