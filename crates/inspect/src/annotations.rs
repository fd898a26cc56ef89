//! Findings as the formats of code scanners have them.

use ephor_report::fix::{FileEdit, FileFix};
use ephor_report::lint_formats::{Annotation, Level};
use ephor_sources::files::SourceText;

use crate::lint::{Finding, Fix, Severity, TextEdit, line_and_column};

/// The fixes of a finding with lines and columns of its file.
pub fn annotated(finding: &Finding, sources: &[SourceText]) -> Vec<FileFix> {
    let Some(source) = sources.iter().find(|source| *source.name == *finding.file) else { return Vec::new() };
    finding.fixes.iter().map(|fix| file_fix(fix, &source.text, 0)).collect()
}

/// A fix of a text with lines and columns of its file, which has this many lines before the text.
pub fn file_fix(fix: &Fix, text: &str, lines: usize) -> FileFix {
    let edit = |edit: &TextEdit| {
        let (line, column) = line_and_column(text, edit.range.start);
        let (end_line, end_column) = line_and_column(text, edit.range.end);
        FileEdit {
            line: line + lines,
            column,
            end_line: end_line + lines,
            end_column,
            text: edit.text.clone(),
        }
    };
    FileFix { title: fix.title.clone(), is_safe: fix.is_safe, edits: fix.edits.iter().map(edit).collect() }
}

/// A finding as an annotation of its file.
pub fn annotation<'f>(finding: &'f Finding, fixes: &'f [FileFix]) -> Annotation<'f> {
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
