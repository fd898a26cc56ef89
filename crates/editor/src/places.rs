//! Places of a document as parts of its text.

use ephor_document::locate::{Position, locate, locate_key};
use ephor_value::place::PathPart;

use crate::span::Span;

/// The part of a document's text that a position means.
pub fn position_span(text: &str, at: Position) -> Span {
    let skipped = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut start = skipped;
    for _ in 1..at.line {
        let rest = text.get(start..).unwrap_or_default();
        start += rest.find('\n').map_or(rest.len(), |n| n + 1);
    }
    let line = text.get(start..).unwrap_or_default();
    let line = line.lines().next().unwrap_or_default();
    let byte = |characters: usize| line.char_indices().nth(characters).map_or(line.len(), |(at, _)| at);
    let column = at.col.saturating_sub(1);
    Span { start: start + byte(column), end: start + byte(column + at.len) }
}

/// Where the value at a path stands in the text of a document.
pub fn value_span(text: &str, path: &[PathPart]) -> Option<Span> {
    Some(position_span(text, locate(text, path)?))
}

/// Where the key at a path stands in the text of a document.
pub fn key_span(text: &str, path: &[PathPart]) -> Option<Span> {
    Some(position_span(text, locate_key(text, path)?))
}
