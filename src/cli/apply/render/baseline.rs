//! Known violations: a file that a run writes, and that later runs read.
//!
//! In: the identities of violations: kind of the policy, rule, resource. Out: JSON, sorted, so that
//! it can be under version control. A violation of the file does not fail a run; places and
//! messages may change.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cli::CommandError;
use ephor_report::formats::WriteError;
use ephor_report::formats::json::{pretty, write_list};
use ephor_report::run::{Finding, Findings};
use ephor_report::spool::SpoolError;
use ephor_report::tally::Tally;
use serde_json::{Value, json};

const VERSION: u64 = 1;

/// The violations of a file, each with whether it came up in the run.
#[derive(Debug, Default)]
pub(crate) struct Baseline {
    known: BTreeMap<[String; 3], AtomicBool>,
}

impl Baseline {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, or is no baseline.
    pub(crate) fn read(path: &str) -> Result<Baseline, CommandError> {
        let failed = |cause: &str| CommandError::Baseline { path: path.into(), cause: cause.into() };
        let text = std::fs::read_to_string(path)
            .map_err(|cause| CommandError::NoBaselineFile { path: path.into(), cause })?;
        let document: Value = serde_json::from_str(&text).map_err(|e| failed(&e.to_string()))?;
        if document["version"] != VERSION {
            return Err(failed("no `version: 1`"));
        }
        let entries = document["violations"].as_array().ok_or_else(|| failed("no list `violations`"))?;
        let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_string();
        let known = entries.iter().map(|e| [text(e, "policyKind"), text(e, "id"), text(e, "resource")]);
        Ok(Baseline { known: known.map(|identity| (identity, AtomicBool::default())).collect() })
    }

    /// Whether it has a violation, which has come up.
    pub(crate) fn has(&self, finding: &Finding) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let known = self.known.get(&finding.identity());
        known.iter().for_each(|came_up| came_up.store(true, Ordering::Relaxed));
        known.is_some()
    }

    /// The violations that have not come up, as `policy/rule` and resource.
    pub(crate) fn resolved(&self) -> Vec<(&str, &str)> {
        let gone = self.known.iter().filter(|(_, came_up)| !came_up.load(Ordering::Relaxed));
        gone.map(|([_, id, resource], _)| (&**id, &**resource)).collect()
    }

    /// Writes the file again, with the violations that have come up alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write_pruned(&self, out: &mut dyn Write) -> Result<(), WriteError> {
        let left = self.known.iter().filter(|(_, came_up)| came_up.load(Ordering::Relaxed));
        let entries = left.map(|([kind, id, resource], _)| Ok(entry(kind, id, resource)));
        write_list(&frame(), entries, out)
    }
}

/// The file without violations.
fn frame() -> Value {
    json!({"version": VERSION, "violations": []})
}

/// A violation of a file.
fn entry(kind: &str, id: &str, resource: &str) -> String {
    pretty(&json!({"policyKind": kind, "id": id, "resource": resource}))
}

/// The violations among results, each once and in order, for a file.
#[derive(Debug, Default)]
pub(crate) struct NewBaseline {
    known: Tally,
    len: usize,
}

impl NewBaseline {
    /// The violations of a run.
    ///
    /// # Errors
    /// Results cannot be read, or there is no room for their identities.
    pub(crate) fn of(findings: &Findings) -> Result<NewBaseline, SpoolError> {
        let mut known = Tally::default();
        for finding in findings.iter() {
            let finding = finding?;
            if finding.is_violation() {
                known.add(finding.identity().map(|part| escaped(&part)).join("\0").as_bytes())?;
            }
        }
        let len = known.iter()?.try_fold(0, |len, entry| entry.map(|_| len + 1))?;
        Ok(NewBaseline { known, len })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<(), WriteError> {
        let entries = self.known.iter()?.map(|known| {
            let (identity, _) = known?;
            let identity = String::from_utf8_lossy(&identity);
            let mut parts = identity.split('\0').map(original);
            let mut part = || parts.next().unwrap_or_default();
            let (kind, id, resource) = (part(), part(), part());
            Ok(entry(&kind, &id, &resource))
        });
        write_list(&frame(), entries, out)
    }

    /// How many violations it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// A part of an identity without the character that ends it.
fn escaped(part: &str) -> String {
    part.replace('\u{1}', "\u{1}1").replace('\0', "\u{1}0")
}

fn original(part: &str) -> String {
    part.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn parts_of_identities_may_hold_any_character() {
        for part in ["", "a\0b", "\u{1}", "\u{1}0", "\u{1}1\0"] {
            assert_eq!(original(&escaped(part)), part, "{part:?}");
            assert!(!escaped(part).contains('\0'));
        }
    }
}
