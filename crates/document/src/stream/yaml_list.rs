//! Cuts a list in YAML into its items, without the list in memory.
//!
//! In: the beginning of a list, as kubectl prints it, and what follows. Out: pieces with whole
//! items, then one with the list without them. An item begins with `- ` in the column of the first
//! one; what is further in belongs to it, and what is not ends the list.

use std::io::Read;
use std::sync::Arc;

use super::{Buffer, Form, ItemText, LONGEST, PIECE, Piece, StreamError};

/// A list that is being cut.
pub(super) struct YamlList {
    /// How long the text in front of the first item is.
    head: usize,
    /// How many blanks are in front of the dash of an item.
    indent: usize,
    /// The text before the items, once it was taken.
    before: Option<Arc<str>>,
    count: usize,
    is_done: bool,
}

/// How long the text in front of the items may be, and behind them.
const HEAD: usize = 1 << 20;

impl YamlList {
    /// The list that a text begins with, if its items begin in it.
    pub(super) fn begin(text: &[u8]) -> Option<YamlList> {
        let mut at = 0;
        let mut is_behind_key = false;
        while at < HEAD {
            let line = text.get(at..)?;
            let length = memchr::memchr(b'\n', line)? + 1;
            let line = line.get(..length)?;
            let bare = line.trim_ascii();
            let indent = line.iter().take_while(|byte| **byte == b' ').count();
            if is_behind_key && !bare.is_empty() && !bare.starts_with(b"#") {
                let is_item = bare.starts_with(b"- ");
                return is_item.then_some(YamlList {
                    head: at,
                    indent,
                    before: None,
                    count: 0,
                    is_done: false,
                });
            }
            is_behind_key |= line.trim_ascii_end() == b"items:";
            at += length;
        }
        None
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
            let (items, length, end) = self.items(input.rest(), input.line(), input.is_at_end());
            if !items.is_empty() {
                self.count += items.len();
                let form = Form::Items { items, head: before };
                return Ok(Some(input.take(length, 0, form)?));
            }
            if end {
                self.is_done = true;
                return self.ending(&before, input).map(Some);
            }
            if input.rest().len() >= LONGEST {
                return Err(StreamError::TooLong { line: input.line() });
            }
            wanted = input.rest().len().max(PIECE).saturating_mul(2).min(LONGEST);
        }
    }

    /// The whole items of a text, as many as make a piece, its length with them, and whether the
    /// list ends behind them.
    fn items(&self, text: &[u8], first_line: usize, is_all: bool) -> (Vec<ItemText>, usize, bool) {
        let mut items: Vec<ItemText> = Vec::new();
        let mut open: Option<(usize, usize)> = None;
        let (mut at, mut line, mut length) = (0, first_line, 0);
        let close = |items: &mut Vec<ItemText>, open: &mut Option<(usize, usize)>, end: usize| {
            if let Some((start, line)) = open.take() {
                let index = self.count + items.len();
                items.push(ItemText { range: start..end, line, index, is_inside: false });
            }
        };
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let found = memchr::memchr(b'\n', rest);
            let end = match found {
                Some(n) => at + n + 1,
                None if is_all => text.len(),
                None => break,
            };
            if rest.is_empty() {
                close(&mut items, &mut open, at);
                return (items, at, true);
            }
            let whole = text.get(at..end).unwrap_or_default();
            let bare = whole.trim_ascii();
            let indent = whole.iter().take_while(|byte| **byte == b' ').count();
            let is_content = !bare.is_empty() && !bare.starts_with(b"#");
            if is_content && indent <= self.indent {
                close(&mut items, &mut open, at);
                length = at;
                let is_item = indent == self.indent && (bare.starts_with(b"- ") || bare == b"-");
                if !is_item {
                    return (items, length, true);
                }
                if length >= PIECE {
                    break;
                }
                open = Some((at, line));
            }
            at = end;
            line += 1;
        }
        (items, length, false)
    }

    /// The list without its items.
    fn ending<R: Read>(&self, before: &str, input: &mut Buffer<R>) -> Result<Piece, StreamError> {
        input.fill(HEAD)?;
        let rest = input.rest();
        let separator = memchr::memmem::find(rest, b"\n---").map(|at| at + 1);
        let at_once = rest.starts_with(b"---").then_some(0);
        let end = at_once.or(separator).unwrap_or(rest.len());
        if end == rest.len() && !input.is_at_end() {
            return Err(StreamError::List { line: input.line(), why: "its end is too long" });
        }
        let behind = rest.get(end..).unwrap_or_default();
        let separator = memchr::memchr(b'\n', behind).map_or(behind.len(), |n| n + 1);
        let line = input.line();
        let ending = input.take(end, separator, Form::ListEnd)?;
        let (keys, comments) = before.rsplit_once("items:").unwrap_or((before, ""));
        let text = format!("{keys}items: []{comments}{}", ending.text);
        Ok(Piece { text, line, form: Form::ListEnd })
    }
}
