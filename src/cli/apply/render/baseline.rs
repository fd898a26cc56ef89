//! Known violations: a file that a run writes, and that later runs read.
//!
//! In: the identities of violations: kind of the policy, rule, resource. Out: JSON, sorted, so that
//! it can be under version control. A violation of the file does not fail a run; places and
//! messages may change.

use crate::cli::CommandError;
use std::collections::BTreeSet;

use ephor_report::run::Finding;
use serde_json::{Value, json};

const VERSION: u64 = 1;

/// The violations of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    known: BTreeSet<[String; 3]>,
}

impl Baseline {
    /// The violations among results.
    pub(crate) fn of(findings: &[Finding]) -> Baseline {
        Baseline { known: findings.iter().filter(|f| f.is_violation()).map(Finding::identity).collect() }
    }

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
        Ok(Baseline { known: known.collect() })
    }

    /// The file's text.
    pub(crate) fn text(&self) -> String {
        let entries = self.known.iter();
        let entries: Vec<Value> = entries
            .map(|[kind, id, resource]| json!({"policyKind": kind, "id": id, "resource": resource}))
            .collect();
        format!("{:#}\n", json!({"version": VERSION, "violations": entries}))
    }

    /// Whether it has a violation.
    pub(crate) fn has(&self, finding: &Finding) -> bool {
        !self.known.is_empty() && self.known.contains(&finding.identity())
    }

    /// How many violations it has.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }
}
