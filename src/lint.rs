//! What there is to say about policies before they run.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use ephor_inspect::lint::{self as checks, Roles, lint_on};
use ephor_sources::files::SourceText;
use ephor_value::Value;

use crate::Release;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingSeverity {
    /// Good to know: the policy works.
    Note,
    /// It probably does not do what was meant.
    Warning,
    /// The policy, or a part of it, cannot work.
    Error,
}

/// Something about a policy, at its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The id of the check, `unknown-field`; it does not change between releases.
    pub check: &'static str,
    /// How bad it is.
    pub severity: FindingSeverity,
    /// The policy's name; empty where the document has none.
    pub policy: String,
    /// The name of the text.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What it is.
    pub message: String,
    /// What to write instead, where that is known.
    pub help: Option<String>,
    /// Changes of the text that mend it, the best first.
    pub fixes: Vec<FindingFix>,
}

/// A change of a text that mends a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FindingFix {
    /// What it does, in words.
    pub title: String,
    /// Whether `ephor lint --fix` makes it without `--unsafe-fixes`.
    pub is_safe: bool,
    /// The bytes of the text that are replaced, and by what; none overlap.
    pub edits: Vec<(Range<usize>, String)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

/// Checks the policies in texts, each with its name, as `ephor lint` does: schemas, expressions
/// with their types, fields that the matched kinds do not have, rules that never match.
///
/// ```
/// let found = ephor::lint(&[("p.yaml", r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: no-latest}
/// spec:
///   rules:
///   - name: tag
///     match: {any: [{resources: {kinds: [Deploymnt]}}]}
///     validate: {message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
/// "#)], &[], ephor::Release::default());
/// let finding = found.first().ok_or("no finding")?;
/// assert_eq!((finding.check, finding.line), ("unknown-kind", 8));
/// let (_, text) = finding.fixes.first().and_then(|fix| fix.edits.first()).ok_or("no fix")?;
/// assert_eq!(text, "Deployment");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lint(texts: &[(&str, &str)], definitions: &[Value], kubernetes: Release) -> Vec<Finding> {
    let source = |(name, text): &(&str, &str)| SourceText { name: (*name).into(), text: (*text).into() };
    let sources: Vec<SourceText> = texts.iter().map(source).collect();
    let named: HashSet<String> = texts.iter().map(|(name, _)| (*name).to_string()).collect();
    let roles = Roles { named, ..Roles::default() };
    lint_on(kubernetes, &sources, definitions, &roles).findings.into_iter().map(Finding::from).collect()
}

impl From<checks::Fix> for FindingFix {
    fn from(fix: checks::Fix) -> FindingFix {
        FindingFix {
            title: fix.title,
            is_safe: fix.is_safe,
            edits: fix.edits.into_iter().map(|edit| (edit.range, edit.text)).collect(),
        }
    }
}

impl From<checks::Finding> for Finding {
    fn from(found: checks::Finding) -> Finding {
        Finding {
            check: found.id,
            severity: match found.severity {
                checks::Severity::Note => FindingSeverity::Note,
                checks::Severity::Warning => FindingSeverity::Warning,
                checks::Severity::Error => FindingSeverity::Error,
            },
            policy: found.policy.to_string(),
            file: found.file.to_string(),
            line: found.line,
            column: found.column,
            message: found.message,
            help: found.help,
            fixes: found.fixes.into_iter().map(FindingFix::from).collect(),
        }
    }
}
