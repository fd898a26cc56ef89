//! What `ephor lint` finds in the policies of a file.

use ephor_inspect::lint::{self, Finding, Severity};
use ephor_sources::files::SourceText;

use crate::diagnostic::{Diagnostic, Fix, Level};
use crate::index::{FileState, Index};
use crate::span::{Span, TextEdit};
use crate::text::Text;

/// Adds the findings about a file.
pub(super) fn check(index: &Index, name: &str, file: &FileState, out: &mut Vec<Diagnostic>) {
    let Some((linter, roles, rules)) = index.linter() else { return };
    let source = SourceText { name: name.into(), text: file.text.as_str().into() };
    let found = linter.check(&source, roles, rules).findings;
    out.extend(found.iter().map(|finding| diagnostic(&file.text, finding)));
}

fn diagnostic(text: &Text, finding: &Finding) -> Diagnostic {
    let level = match finding.severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Note,
    };
    let message = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    let fixes = finding.fixes.iter().map(|fix| Fix {
        title: fix.title.clone(),
        edits: fix.edits.iter().map(edit).collect(),
        is_preferred: fix.is_safe,
    });
    Diagnostic {
        fixes: fixes.collect(),
        is_deprecated: finding.id == "deprecated-field",
        is_unused: finding.id == "unused-variable",
        ..Diagnostic::new(span(text, finding), level, finding.id, message)
    }
}

fn edit(edit: &lint::TextEdit) -> TextEdit {
    TextEdit { span: Span { start: edit.range.start, end: edit.range.end }, text: edit.text.clone() }
}

/// Where a finding stands; without a column its whole line.
fn span(text: &Text, finding: &Finding) -> Span {
    if finding.column == 0 {
        let line = text.line_span(finding.line.saturating_sub(1));
        let blanks = text.slice(line).len() - text.slice(line).trim_start().len();
        return Span { start: line.start + blanks, end: line.end };
    }
    let start = text.offset_of_character(finding.line, finding.column);
    let end = text.offset_of_character(finding.line, finding.end);
    Span { start, end: end.max(start) }
}
