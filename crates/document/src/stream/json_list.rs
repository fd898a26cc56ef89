//! Cuts a list in JSON into its items, without the list in memory.
//!
//! In: the beginning of a list (`{"apiVersion": "v1", "items": [`) and what follows. Out: pieces
//! with whole items, then one with the list without them. The keys of kubectl are sorted, so the
//! kind of the list stands behind its items; those of the API server stand before them.

use std::io::Read;

use super::list::{CutList, FoundItems, HEAD, ListForm, Next, broken_off};
use super::{Buffer, Form, ItemText, PIECE, Piece, StreamError};

/// A list in JSON.
pub(super) struct JsonList;

impl JsonList {
    /// The list that a text begins with, if its items begin in it.
    pub(super) fn begin(text: &[u8]) -> Option<CutList<JsonList>> {
        Some(CutList::new(JsonList, items_of(text.get(..HEAD.min(text.len()))?)?))
    }
}

impl ListForm for JsonList {
    fn items(&self, text: &[u8], mut line: usize, _: bool) -> FoundItems {
        let mut found = FoundItems { items: Vec::new(), length: 0, next: Next::Text };
        let mut at = 0;
        // Where the line begins, if only blanks are before the item.
        let mut line_start = None;
        while let Some(&byte) = text.get(at).filter(|_| found.length < PIECE) {
            match byte {
                b'\n' => {
                    line += 1;
                    line_start = Some(at + 1);
                }
                b' ' | b'\t' | b'\r' => {}
                b',' => line_start = None,
                b'{' => {
                    let Some(length) = text.get(at..).and_then(|rest| end_of_object(rest, 0)) else { break };
                    let start = line_start.take().unwrap_or(at);
                    let is_inside = start == at && at > 0 && text.get(at - 1) != Some(&b'\n');
                    found.items.push(ItemText { range: start..at + length, line, is_inside });
                    let inside = text.get(at..at + length).unwrap_or_default();
                    line += memchr::memchr_iter(b'\n', inside).count();
                    at += length;
                    found.length = at;
                    continue;
                }
                b']' => {
                    found.next = Next::End(at);
                    break;
                }
                _ => {
                    found.next = Next::Other(at);
                    break;
                }
            }
            at += 1;
        }
        found
    }

    fn end<R: Read>(&self, before: &str, input: &mut Buffer<R>) -> Result<Piece, StreamError> {
        input.fill(HEAD)?;
        let Some(end) = end_of_object(input.rest(), 2) else { return Err(broken_off(input)) };
        let ending = input.take(end, 0, Form::ListEnd)?;
        Ok(Piece { text: format!("{before}{}", ending.text), ..ending })
    }
}

/// Behind the brace that ends an object, in a text that begins with its first brace, or is as deep
/// in it.
fn end_of_object(text: &[u8], depth: usize) -> Option<usize> {
    let mut depth = depth;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_text(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

/// Behind the quote that ends a text which begins at a position.
fn end_of_text(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at) {
            Some(b'"') => return Some(at + 1),
            _ => at += 2,
        }
    }
}

/// The length of a text up to behind the bracket that opens the items, if it begins with an object
/// that has a list `items`.
fn items_of(text: &[u8]) -> Option<usize> {
    let blanks = |at: usize| {
        let rest = text.get(at..)?;
        Some(at + rest.iter().position(|byte| !byte.is_ascii_whitespace())?)
    };
    let mut at = blanks(0)?;
    if text.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        at = blanks(at)?;
        match text.get(at)? {
            b',' => at += 1,
            b'"' => {
                let end = end_of_text(text, at)?;
                let key = text.get(at..end)?;
                at = blanks(end)?;
                if text.get(at) != Some(&b':') {
                    return None;
                }
                at = blanks(at + 1)?;
                let first = *text.get(at)?;
                if key == b"\"items\"" {
                    return (first == b'[').then_some(at + 1);
                }
                at = match first {
                    b'"' => end_of_text(text, at)?,
                    b'{' | b'[' => at + end_of_object(text.get(at..)?, 0)?,
                    _ => at + text.get(at..)?.iter().position(|byte| matches!(byte, b',' | b'}'))?,
                };
            }
            _ => return None,
        }
    }
}
