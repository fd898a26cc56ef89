//! Changes of the user's text that mend findings.
//!
//! In: a finding's place and what stands there then. Out: edits by bytes of the file, which an
//! editor offers and `ephor lint --fix` applies.

use std::ops::Range;

/// A change that mends a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as an editor offers it: ``write `AnyIn` ``.
    pub title: String,
    /// Whether it is what was meant as far as the policy shows; others choose a meaning, and are
    /// for a person to take.
    pub is_safe: bool,
    /// The edits of the finding's file, by their places; none overlaps another.
    pub edits: Vec<TextEdit>,
}

/// A part of a file, and what stands there then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The bytes of the file; an empty range inserts.
    pub range: Range<usize>,
    /// What stands there then.
    pub text: String,
}

/// The text with all edits made, which are in the order of their places; `None` when one is outside
/// of the text.
pub(super) fn edited(source: &str, edits: &[(Range<usize>, String)]) -> Option<String> {
    let mut out = String::new();
    let mut at = 0;
    for (range, text) in edits {
        out.push_str(source.get(at..range.start)?);
        out.push_str(text);
        at = range.end;
    }
    out.push_str(source.get(at..)?);
    Some(out)
}

/// The text with all edits made; `None` when two overlap or one is outside of the text.
pub fn apply(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut sorted: Vec<&TextEdit> = edits.iter().collect();
    sorted.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in sorted {
        out.push_str(text.get(at..edit.range.start)?);
        out.push_str(&edit.text);
        // The bytes between are those of characters.
        text.get(edit.range.clone())?;
        at = edit.range.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Line and column of a byte of a text, from 1; columns count characters.
pub fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(start..).unwrap_or_default().chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(range: Range<usize>, text: &str) -> TextEdit {
        TextEdit { range, text: text.into() }
    }

    #[test]
    fn edits_are_applied_in_the_order_of_their_places() {
        let edits = [edit(4..5, "C"), edit(0..1, "AA"), edit(2..2, "-")];
        assert_eq!(apply("a b c", &edits).as_deref(), Some("AA -b C"));
    }

    #[test]
    fn edits_that_overlap_or_cut_a_character_make_no_text() {
        assert_eq!(apply("abc", &[edit(0..2, ""), edit(1..3, "")]), None);
        assert_eq!(apply("é", &[edit(1..2, "")]), None);
        assert_eq!(apply("a", &[edit(0..2, "")]), None);
    }

    #[test]
    fn a_byte_has_a_line_and_a_column_of_characters() {
        assert_eq!(line_and_column("a\néb", 4), (2, 2));
        assert_eq!(line_and_column("a", 1), (1, 2));
    }
}
