//! Findings as the formats of code scanners have them.

use ephor_report::lint_formats::{Annotation, Level};

use crate::lint::{Finding, Severity};

/// A finding as an annotation of its file.
pub fn annotation(finding: &Finding) -> Annotation<'_> {
    Annotation {
        id: finding.id,
        level: match finding.severity {
            Severity::Note => Level::Note,
            Severity::Warning => Level::Warning,
            Severity::Error => Level::Error,
        },
        policy: &finding.policy,
        file: &finding.file,
        line: finding.line,
        column: finding.column,
        end: finding.end,
        message: &finding.message,
        help: finding.help.as_deref(),
        excerpt: &finding.excerpt,
    }
}
