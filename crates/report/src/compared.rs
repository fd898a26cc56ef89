//! Runs one after the other: which violations are new, which are gone.
//!
//! In: the results of runs as files, JSON or JSON lines of `ephor apply`, the oldest first. Out: a
//! [`Comparison`]: the counts of each run, and what changed between two neighbours. A violation is
//! the same where policy, rule and object are; places and messages may change, as in baselines.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Cursor, Read};

use serde::Deserialize;

use crate::formats::message::message;
use crate::lines::CountsLine;
use crate::run::{Counts, Finding, ResourceName, Severity};
use crate::shards::{ShardFile, ShardsError};

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedRun {
    /// The file.
    pub name: String,
    /// How many results there are of each status.
    pub counts: Counts,
    /// The violations, each once, by what identifies them.
    pub violations: BTreeMap<[String; 3], ComparedViolation>,
}

/// A violation as lists show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComparedViolation {
    /// `policy/rule`.
    pub id: String,
    /// The object.
    pub resource: String,
    /// How much it matters.
    pub severity: Option<Severity>,
    /// The message.
    pub message: String,
    /// Where it is, `FILE:LINE`; empty where that is not known.
    pub place: String,
}

/// What changed between two runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunChange<'r> {
    /// Violations of the later run alone.
    pub new: Vec<&'r ComparedViolation>,
    /// Violations of the earlier run alone.
    pub fixed: Vec<&'r ComparedViolation>,
    /// How many are in both.
    pub unchanged: usize,
}

/// Runs, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// At least two.
    pub runs: Vec<ComparedRun>,
}

/// Why the results of a run cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComparedError {
    /// The file is none of results.
    #[error(
        "{file}: no results of a run ({cause})\nhelp: `ephor apply … --output-format json` or `jsonl` writes them"
    )]
    NoResults {
        /// The file.
        file: String,
        /// What is wrong.
        cause: String,
    },
    /// It has the results of a shard.
    #[error("{file}: these are the results of a shard\nhelp: `ephor report merge` makes those of the run")]
    Shard {
        /// The file.
        file: String,
    },
    /// It cannot be read to its end.
    #[error(transparent)]
    Lines(#[from] ShardsError),
}

impl ComparedRun {
    /// Reads the results of a run; errors name the file so.
    ///
    /// # Errors
    /// They are no results of a run.
    pub fn read(name: &str, reader: impl Read) -> Result<ComparedRun, ComparedError> {
        let mut reader = BufReader::new(reader);
        let failed = |cause: String| ComparedError::NoResults { file: name.into(), cause };
        let mut first = Vec::new();
        reader.read_until(b'\n', &mut first).map_err(|e| failed(e.to_string()))?;
        let is_lines = first.starts_with(b"{\"run\":");
        let whole = Cursor::new(first).chain(reader);
        match is_lines {
            true => of_lines(name, BufReader::new(whole)),
            false => of_document(name, whole),
        }
    }

    fn add(&mut self, identity: [String; 3], violation: ComparedViolation) {
        self.violations.entry(identity).or_insert(violation);
    }
}

fn of_lines(name: &str, reader: impl BufRead) -> Result<ComparedRun, ComparedError> {
    let mut file = ShardFile::open(name.to_string(), reader)?;
    if !file.shard().is_whole() {
        return Err(ComparedError::Shard { file: name.into() });
    }
    let mut run = ComparedRun { name: name.into(), counts: file.counts(), ..ComparedRun::default() };
    let mut policies = HashSet::new();
    while let Some(finding) = file.next(&mut policies)? {
        if finding.is_violation() {
            run.add(finding.identity(), violation(&finding));
        }
    }
    Ok(run)
}

fn violation(finding: &Finding) -> ComparedViolation {
    let place = finding.place.as_ref().or(finding.decision.as_ref());
    ComparedViolation {
        id: finding.rule_id(),
        resource: finding.resource.as_ref().map(ResourceName::display).unwrap_or_default(),
        severity: finding.policy.severity,
        message: message(finding).to_string(),
        place: place.map(|place| placed(&place.file, place.line)).unwrap_or_default(),
    }
}

fn placed(file: &str, line: usize) -> String {
    if line == 0 { file.to_string() } else { format!("{file}:{line}") }
}

/// What of a document of JSON is read; new fields may come.
#[derive(Deserialize)]
struct JsonRun {
    version: u64,
    summary: CountsLine,
    results: Vec<JsonResult>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonResult {
    #[serde(default)]
    id: String,
    #[serde(default)]
    policy_kind: String,
    result: String,
    #[serde(default)]
    severity: String,
    #[serde(default)]
    message: String,
    resource: Option<JsonName>,
    place: Option<JsonPlace>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonName {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct JsonPlace {
    #[serde(default)]
    file: String,
    #[serde(default)]
    line: usize,
}

fn of_document(name: &str, reader: impl Read) -> Result<ComparedRun, ComparedError> {
    let failed = |cause: String| ComparedError::NoResults { file: name.into(), cause };
    let document: JsonRun = serde_json::from_reader(reader).map_err(|e| failed(e.to_string()))?;
    if document.version != crate::formats::json::VERSION {
        return Err(failed(format!("version {} of the form", document.version)));
    }
    let counts = document.summary.into();
    let mut run = ComparedRun { name: name.into(), counts, ..ComparedRun::default() };
    for result in document.results {
        if !matches!(&*result.result, "fail" | "warn" | "error") {
            continue;
        }
        let resource = result.resource.map(|r| ResourceName {
            api_version: r.api_version,
            kind: r.kind,
            namespace: r.namespace,
            name: r.name,
            generate_name: String::new(),
        });
        let path = resource.as_ref().map(ResourceName::path).unwrap_or_default();
        let violation = ComparedViolation {
            id: result.id.clone(),
            resource: resource.as_ref().map(ResourceName::display).unwrap_or_default(),
            severity: Severity::of(&result.severity),
            message: result.message,
            place: result.place.map(|place| placed(&place.file, place.line)).unwrap_or_default(),
        };
        run.add([result.policy_kind, result.id, path], violation);
    }
    Ok(run)
}

impl Comparison {
    /// What changed in each run since the one before it.
    pub fn changes(&self) -> Vec<RunChange<'_>> {
        let pairs = self.runs.iter().zip(self.runs.iter().skip(1));
        pairs.map(|(earlier, later)| change(earlier, later)).collect()
    }

    /// What changed in the last run since the first one.
    pub fn whole(&self) -> RunChange<'_> {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) => change(first, last),
            _ => RunChange::default(),
        }
    }
}

fn change<'r>(earlier: &'r ComparedRun, later: &'r ComparedRun) -> RunChange<'r> {
    let missing = |of: &'r ComparedRun, other: &ComparedRun| -> Vec<&'r ComparedViolation> {
        let own = of.violations.iter().filter(|(identity, _)| !other.violations.contains_key(*identity));
        own.map(|(_, violation)| violation).collect()
    };
    let (new, fixed) = (missing(later, earlier), missing(earlier, later));
    let unchanged = later.violations.len() - new.len();
    RunChange { new, fixed, unchanged }
}
