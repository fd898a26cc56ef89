//! Levels of violations, for formats that have three.

use ephor_engine::Status;

use crate::run::{Finding, Severity};

/// How loud a result or a finding is where a format has three levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Wrong.
    Error,
    /// Probably wrong.
    Warning,
    /// Good to know.
    Note,
}

impl Level {
    /// The word of SARIF and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// The level of a violation: failures by the severity of their policy, errors of rules always the
/// highest.
pub(super) fn level(finding: &Finding) -> Option<Level> {
    match (finding.status, finding.policy.severity) {
        (Status::Pass | Status::Skip, _) => None,
        (Status::Error, _) => Some(Level::Error),
        (_, Some(Severity::Info | Severity::Low)) => Some(Level::Note),
        (Status::Warn, _) | (_, Some(Severity::Medium)) => Some(Level::Warning),
        (Status::Fail, _) => Some(Level::Error),
    }
}
