//! What `ephor lint` finds in a text, as diagnostics.

use ephor_inspect::lint::{self, Finding, Linter, Roles, Rules, Severity};
use ephor_sources::files::SourceText;

use crate::diagnostic::{Diagnostic, Fix, Level};
use crate::entry::{Entry, Role};
use crate::span::{Span, TextEdit};
use crate::text::Text;

/// Whether a file is checked: it has policies, or may be meant to have some. A broken text of a
/// file that is not edited is mostly one of another program.
pub(crate) fn is_checked(entry: &Entry, is_open: bool) -> bool {
    let may_have =
        || entry.text.contains("kyverno.io/") || entry.text.contains("admissionregistration.k8s.io/");
    entry.has(Role::Policy) || entry.is_broken && (is_open || may_have())
}

/// The findings about a text; those that there are when the caller has no more time.
pub(crate) fn findings(
    (linter, roles, rules): (&Linter, &Roles, &Rules),
    name: &str,
    text: &Text,
    is_over: &dyn Fn() -> bool,
) -> Vec<Diagnostic> {
    let source = SourceText { name: name.into(), text: text.as_str().into() };
    let found = linter.check_until(&source, roles, rules, is_over).findings;
    found.iter().map(|finding| diagnostic(text, finding)).collect()
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
