//! Types of the editor crate as those of the protocol.

use ephor_editor::{Diagnostic, Level, LineColumn, Location, Span, Text, TextEdit, Units, Workspace};
use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, NumberOrString, Position, Range,
};

use super::uris;

/// A position of the protocol.
pub(super) fn position(text: &Text, offset: usize, units: Units) -> Position {
    let LineColumn { line, column } = text.position(offset, units);
    Position { line, character: column }
}

/// A range of the protocol.
pub(super) fn range(text: &Text, span: Span, units: Units) -> Range {
    Range { start: position(text, span.start, units), end: position(text, span.end, units) }
}

/// The byte of a position.
pub(super) fn offset(text: &Text, at: Position, units: Units) -> usize {
    text.offset(LineColumn { line: at.line, column: at.character }, units)
}

/// The part of a text that a range means.
pub(super) fn span(text: &Text, range: Range, units: Units) -> Span {
    let (start, end) = (offset(text, range.start, units), offset(text, range.end, units));
    Span { start: start.min(end), end: start.max(end) }
}

/// Changes of a text.
pub(super) fn edits(text: &Text, edits: &[TextEdit], units: Units) -> Vec<lsp_types::TextEdit> {
    let one = |edit: &TextEdit| lsp_types::TextEdit {
        range: range(text, edit.span, units),
        new_text: edit.text.clone(),
    };
    edits.iter().map(one).collect()
}

/// A place in a file of the workspace.
pub(super) fn location(workspace: &Workspace, at: &Location, units: Units) -> Option<lsp_types::Location> {
    let text = workspace.text(&at.file)?;
    Some(lsp_types::Location { uri: uris::uri(&at.file)?, range: range(text, at.span, units) })
}

/// A finding.
pub(super) fn diagnostic(
    workspace: &Workspace,
    text: &Text,
    found: &Diagnostic,
    units: Units,
) -> lsp_types::Diagnostic {
    let related = found.related.iter().filter_map(|(at, message)| {
        let location = location(workspace, at, units)?;
        Some(DiagnosticRelatedInformation { location, message: message.clone() })
    });
    let related: Vec<_> = related.collect();
    let tags: Vec<DiagnosticTag> =
        [(found.is_deprecated, DiagnosticTag::DEPRECATED), (found.is_unused, DiagnosticTag::UNNECESSARY)]
            .into_iter()
            .filter_map(|(has, tag)| has.then_some(tag))
            .collect();
    lsp_types::Diagnostic {
        range: range(text, found.span, units),
        severity: Some(match found.level {
            Level::Error => DiagnosticSeverity::ERROR,
            Level::Warning => DiagnosticSeverity::WARNING,
            Level::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(found.code.to_string())),
        code_description: None,
        source: Some("ephor".into()),
        message: found.message.clone(),
        related_information: (!related.is_empty()).then_some(related),
        tags: (!tags.is_empty()).then_some(tags),
        data: None,
    }
}
