//! Cuts a list in JSON into its items, without the list in memory.
//!
//! In: the beginning of a list (`{"apiVersion": "v1", "items": [`) and what follows. Out: pieces
//! with whole items, then one with the list without them. The keys of kubectl are sorted, so the
//! kind of the list stands behind its items; those of the API server stand before them.

use std::io::Read;
use std::sync::Arc;

use super::{Buffer, Form, ItemText, LONGEST, PIECE, Piece, StreamError};

/// A list that is being cut.
pub(super) struct JsonList {
    /// How long the text in front of the first item is.
    head: usize,
    /// The same text without items, once it was taken.
    before: Option<Arc<str>>,
    /// How many items were found.
    count: usize,
    /// Whether the bracket behind the items was found.
    is_done: bool,
}

/// How long the text in front of the items may be, and behind them.
const HEAD: usize = 1 << 20;

impl JsonList {
    /// The list that a text begins with, if its items begin in it.
    pub(super) fn begin(text: &[u8]) -> Option<JsonList> {
        let head = items_of(text.get(..HEAD.min(text.len()))?)?;
        Some(JsonList { head, before: None, count: 0, is_done: false })
    }

    /// The next piece; none behind the list.
    pub(super) fn next<R: Read>(&mut self, input: &mut Buffer<R>) -> Result<Option<Piece>, StreamError> {
        let Some(before) = self.before.clone() else {
            let head = input.take(self.head, 0, Form::Documents)?;
            self.before = Some(head.text.into());
            return self.next(input);
        };
        if self.is_done {
            return Ok(None);
        }
        let mut wanted = PIECE;
        loop {
            input.fill(wanted)?;
            let found = items(input.rest(), input.line(), self.count);
            if !found.items.is_empty() {
                self.count += found.items.len();
                let form = Form::Items { items: found.items, head: before };
                return Ok(Some(input.take(found.length, 0, form)?));
            }
            match found.stopped {
                Stopped::Bracket(at) => {
                    self.is_done = true;
                    return self.ending(at, &before, input).map(Some);
                }
                Stopped::Other(at) => {
                    let text = input.rest().get(..at).unwrap_or_default();
                    let line = input.line() + memchr::memchr_iter(b'\n', text).count();
                    return Err(StreamError::List { line, why: "something else than an object is in it" });
                }
                Stopped::End if input.is_at_end() => {
                    return Err(StreamError::List { line: input.line(), why: "it breaks off" });
                }
                Stopped::End if input.rest().len() >= LONGEST => {
                    return Err(StreamError::TooLong { line: input.line() });
                }
                Stopped::End => wanted = input.rest().len().max(PIECE).saturating_mul(2).min(LONGEST),
            }
        }
    }

    /// The list without its items, whose end begins with the bracket at a position.
    fn ending<R: Read>(
        &self,
        bracket: usize,
        before: &str,
        input: &mut Buffer<R>,
    ) -> Result<Piece, StreamError> {
        input.fill(bracket + HEAD)?;
        let rest = input.rest().get(bracket..).unwrap_or_default();
        let Some(end) = end_of_object(rest, 2) else {
            return Err(StreamError::List { line: input.line(), why: "it breaks off" });
        };
        let line = input.line();
        let ending = input.take(bracket + end, 0, Form::ListEnd)?;
        let text = format!("{before}{}", ending.text.get(bracket..).unwrap_or_default());
        Ok(Piece { text, line, form: Form::ListEnd })
    }
}

/// The items of a text between those of a list.
struct Items {
    items: Vec<ItemText>,
    /// The length of the text with them.
    length: usize,
    /// Why no more was found.
    stopped: Stopped,
}

enum Stopped {
    /// At the end of the text.
    End,
    /// At the bracket behind the items.
    Bracket(usize),
    /// At something else than an object.
    Other(usize),
}

/// The whole items from the beginning of a text, as many as make a piece. The first one has this
/// position, and begins on this line or later.
fn items(text: &[u8], mut line: usize, first: usize) -> Items {
    let mut found = Items { items: Vec::new(), length: 0, stopped: Stopped::End };
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
                found.items.push(ItemText {
                    range: start..at + length,
                    line,
                    index: first + found.items.len(),
                    is_inside,
                });
                let inside = text.get(at..at + length).unwrap_or_default();
                line += memchr::memchr_iter(b'\n', inside).count();
                at += length;
                found.length = at;
                continue;
            }
            b']' => {
                found.stopped = Stopped::Bracket(at);
                break;
            }
            _ => {
                found.stopped = Stopped::Other(at);
                break;
            }
        }
        at += 1;
    }
    found
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
