//! A text with its lines: bytes ↔ lines and columns in the units of a protocol.
//!
//! Positions that do not exist are moved to the nearest one that does: columns past the end of a
//! line to its end, lines past the end of the text to that, and positions inside of a character to
//! its beginning. Lines end at LF, CR LF and CR.

use std::sync::Arc;

use crate::span::Span;

/// What columns of a protocol count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Units {
    /// Bytes of UTF-8.
    Utf8,
    /// Units of UTF-16, which every client of the Language Server Protocol counts in.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl Units {
    fn of(self, c: char) -> usize {
        match self {
            Units::Utf8 => c.len_utf8(),
            Units::Utf16 => c.len_utf16(),
            Units::Utf32 => 1,
        }
    }
}

/// A position, both parts from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    /// The line.
    pub line: u32,
    /// The column, in units.
    pub column: u32,
}

/// A text with its lines; a clone shares both.
#[derive(Clone, Debug)]
pub struct Text {
    text: Arc<str>,
    /// The byte at which each line begins.
    starts: Arc<[u32]>,
}

/// Bytes from which on a text is large. A policy of this size has hundreds of rules.
const LARGE: usize = 64 << 10;

/// Bytes of a text that is read at most: as of a file on the disk. Files that people write are far
/// smaller; of larger ones nothing is shown.
pub const MAX_TEXT: usize = 2 << 20;

/// The mark of byte order that some editors of Windows write first.
const MARK: char = '\u{feff}';

impl Text {
    /// A text.
    pub fn new(text: impl Into<Arc<str>>) -> Text {
        let text = text.into();
        let mut starts = vec![0];
        lines(text.as_bytes(), 0..text.len(), &mut starts);
        Text { text, starts: starts.into() }
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The whole text, shared.
    pub fn shared(&self) -> Arc<str> {
        self.text.clone()
    }

    /// How many lines it has; a text that ends with a line break has an empty one behind it.
    pub fn lines(&self) -> usize {
        self.starts.len()
    }

    /// Whether it is read on a thread of its own when it is edited.
    pub fn is_large(&self) -> bool {
        self.text.len() >= LARGE
    }

    /// Whether it is not read at all.
    pub fn is_too_large(&self) -> bool {
        self.text.len() > MAX_TEXT
    }

    /// Whether it is the same text, and no copy of it.
    pub fn is_same(&self, other: &Text) -> bool {
        Arc::ptr_eq(&self.text, &other.text)
    }

    /// The part of a text; empty where it is none.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    /// The byte at which a line begins, from 0; the end of the text behind its last line.
    pub fn line_start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(self.text.len(), |start| *start as usize)
    }

    /// The line of a byte, from 0.
    pub fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= offset).saturating_sub(1)
    }

    /// A line without its break.
    pub fn line(&self, line: usize) -> &str {
        self.slice(self.line_span(line))
    }

    /// Where a line stands, its break left out.
    pub fn line_span(&self, line: usize) -> Span {
        let start = self.line_start(line);
        let whole = self.text.get(start..self.line_start(line + 1)).unwrap_or_default();
        Span::of(start, whole.trim_end_matches(['\n', '\r']).len())
    }

    /// The byte of a position.
    pub fn offset(&self, at: LineColumn, units: Units) -> usize {
        let line = at.line as usize;
        if line >= self.lines() {
            return self.text.len();
        }
        let span = self.line_span(line);
        let mut left = at.column as usize;
        // Lines may have megabytes; most have no other characters.
        let plain = Span::of(span.start, left.min(span.end - span.start));
        if self.text.get(plain.start..plain.end).is_some_and(str::is_ascii) {
            return plain.end;
        }
        for (at, c) in self.slice(span).char_indices() {
            if left < units.of(c) {
                return span.start + at;
            }
            left -= units.of(c);
        }
        span.end
    }

    /// The position of a byte.
    pub fn position(&self, offset: usize, units: Units) -> LineColumn {
        let offset = self.boundary(offset);
        let line = self.line_of(offset);
        let before = self.text.get(self.line_start(line)..offset).unwrap_or_default();
        let column = match before.is_ascii() {
            true => before.len(),
            false => before.chars().map(|c| units.of(c)).sum(),
        };
        LineColumn { line: to_u32(line), column: to_u32(column) }
    }

    /// The byte of a line and a character of it, both from 1, as messages have them: the mark of
    /// byte order is no character of its line.
    pub fn offset_of_character(&self, line: usize, character: usize) -> usize {
        let span = self.line_span(line.saturating_sub(1));
        let text = self.slice(span);
        let skipped = if span.start == 0 && text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
        let rest = text.get(skipped..).unwrap_or_default();
        let at = rest.char_indices().nth(character.saturating_sub(1)).map_or(rest.len(), |(at, _)| at);
        span.start + skipped + at
    }

    /// The nearest byte at or before one at which a character begins.
    fn boundary(&self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        (0..=offset).rev().find(|at| self.text.is_char_boundary(*at)).unwrap_or(0)
    }

    /// The text with a part of it replaced.
    #[must_use]
    pub fn replaced(&self, span: Span, by: &str) -> Text {
        let (start, end) = (self.boundary(span.start), self.boundary(span.end));
        let (start, end) = (start.min(end), start.max(end));
        let before = self.text.get(..start).unwrap_or_default();
        let after = self.text.get(end..).unwrap_or_default();
        let text = [before, by, after].concat();
        // A client may send thousands of changes at once: only the lines around one are read again.
        // The line before is one of them, since its break may become a part of another one.
        let first = self.line_of(start).saturating_sub(1);
        let mut starts = self.starts.get(..=first).unwrap_or_default().to_vec();
        lines(text.as_bytes(), self.line_start(first)..start + by.len(), &mut starts);
        let behind = self.starts.partition_point(|line| *line as usize <= end);
        let moved = |line: &u32| to_u32((*line as usize).saturating_sub(end) + start + by.len());
        starts.extend(self.starts.get(behind..).unwrap_or_default().iter().map(moved));
        Text { text: text.into(), starts: starts.into() }
    }
}

/// Adds the bytes behind the line breaks of a part of a text.
fn lines(text: &[u8], part: std::ops::Range<usize>, starts: &mut Vec<u32>) {
    let own = text.get(part.clone()).unwrap_or_default();
    for (at, byte) in (part.start..).zip(own) {
        let ends = match byte {
            b'\n' => true,
            b'\r' => text.get(at + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            starts.push(to_u32(at + 1));
        }
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, column: u32) -> LineColumn {
        LineColumn { line, column }
    }

    #[test]
    fn columns_count_units_of_utf_16() {
        let text = Text::new("a: 😀é\nb");
        assert_eq!(text.offset(at(0, 5), Units::Utf16), "a: 😀".len());
        assert_eq!(text.offset(at(0, 4), Units::Utf16), "a: ".len(), "inside of a pair is its beginning");
        assert_eq!(text.position("a: 😀é".len(), Units::Utf16), at(0, 6));
        assert_eq!(text.position("a: 😀é".len(), Units::Utf8), at(0, 9));
        assert_eq!(text.position("a: 😀é".len(), Units::Utf32), at(0, 5));
    }

    #[test]
    fn positions_past_the_end_are_the_end() {
        let text = Text::new("ab\r\ncd");
        assert_eq!(text.offset(at(0, 99), Units::Utf16), 2, "not inside of the line break");
        assert_eq!(text.offset(at(99, 0), Units::Utf16), 6);
        assert_eq!(text.offset(at(1, 99), Units::Utf16), 6);
        assert_eq!(text.position(99, Units::Utf16), at(1, 2));
        assert_eq!(text.replaced(Span { start: 90, end: 3 }, "x").as_str(), "ab\rx");
    }

    #[test]
    fn lines_end_at_each_break() {
        let text = Text::new("a\nb\r\nc\rd\n");
        let lines: Vec<&str> = (0..text.lines()).map(|line| text.line(line)).collect();
        assert_eq!(lines, ["a", "b", "c", "d", ""]);
        assert_eq!(text.line_of(5), 2);
    }

    #[test]
    fn a_text_that_was_changed_has_the_lines_of_its_text() {
        let pieces = ["", "a", "\n", "\r", "\r\n", "b\r", "\nb\n"];
        for whole in ["", "a\nb\r\nc\rd\n", "\r\n\r\n", "\r\r\n\n", "é\r"] {
            let text = Text::new(whole);
            for (start, end) in (0..=whole.len()).flat_map(|s| (s..=whole.len()).map(move |e| (s, e))) {
                for by in pieces {
                    let found = text.replaced(Span { start, end }, by);
                    let wanted = Text::new(found.as_str());
                    assert_eq!(found.starts, wanted.starts, "{whole:?} {start}..{end} {by:?}");
                }
            }
        }
    }

    #[test]
    fn every_byte_has_a_position_and_comes_back() {
        for whole in ["a: 😀\r\n\u{feff}é\rx\n", "", "\u{feff}kind: é"] {
            let text = Text::new(whole);
            for units in [Units::Utf8, Units::Utf16, Units::Utf32] {
                for (offset, c) in whole.char_indices().filter(|(_, c)| !matches!(c, '\n' | '\r')) {
                    assert_eq!(text.offset(text.position(offset, units), units), offset, "{whole:?} {c:?}");
                }
            }
        }
    }

    #[test]
    fn a_mark_of_byte_order_is_no_character_of_a_message() {
        let text = Text::new("\u{feff}kind: x");
        assert_eq!(text.offset_of_character(1, 1), 3);
        assert_eq!(text.offset_of_character(1, 7), 9);
        assert_eq!(text.offset_of_character(9, 9), 10);
    }
}
