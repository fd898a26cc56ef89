//! Findings as the formats of code scanners have them.

use ephor_report::lint_formats::{AnnotatedEdit, AnnotatedFix, Annotation, Level};
use ephor_sources::files::SourceText;

use crate::lint::{Finding, Fix, Severity, TextEdit, line_and_column};

/// The fixes of a finding with lines and columns of its file.
pub fn annotated<'f>(finding: &'f Finding, sources: &[SourceText]) -> Vec<AnnotatedFix<'f>> {
    let Some(source) = sources.iter().find(|source| *source.name == *finding.file) else { return Vec::new() };
    let edits = |fix: &'f Fix| {
        let edit = |edit: &'f TextEdit| AnnotatedEdit {
            start: line_and_column(&source.text, edit.range.start),
            end: line_and_column(&source.text, edit.range.end),
            text: &edit.text,
        };
        fix.edits.iter().map(edit).collect()
    };
    let one = |fix: &'f Fix| AnnotatedFix { title: &fix.title, is_safe: fix.is_safe, edits: edits(fix) };
    finding.fixes.iter().map(one).collect()
}

/// A finding as an annotation of its file.
pub fn annotation<'f>(finding: &'f Finding, fixes: &'f [AnnotatedFix<'f>]) -> Annotation<'f> {
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
        fixes,
    }
}
