//! Cuts a list in YAML into its items, without the list in memory.
//!
//! In: the beginning of a list, as kubectl prints it, and what follows. Out: pieces with whole
//! items, then one with the list without them. An item begins with `- ` in the column of the first
//! one; what is further in belongs to it, and what is not ends the list.

use std::io::Read;

use super::list::{CutList, FoundItems, HEAD, ListForm, Next};
use super::{Buffer, Form, ItemText, PIECE, Piece, StreamError};

/// A list in YAML.
pub(super) struct YamlList {
    /// How many blanks are in front of the dash of an item.
    indent: usize,
}

/// A line with its indent, and what is on it without the blanks around it.
fn parts(line: &[u8]) -> (usize, &[u8]) {
    (line.iter().take_while(|byte| **byte == b' ').count(), line.trim_ascii())
}

fn is_content(bare: &[u8]) -> bool {
    !bare.is_empty() && !bare.starts_with(b"#")
}

impl YamlList {
    /// The list that a text begins with, if its items begin in it.
    pub(super) fn begin(text: &[u8]) -> Option<CutList<YamlList>> {
        let mut at = 0;
        let mut is_behind_key = false;
        while at < HEAD {
            let line = text.get(at..)?;
            let length = memchr::memchr(b'\n', line)? + 1;
            let line = line.get(..length)?;
            let (indent, bare) = parts(line);
            if is_behind_key && is_content(bare) {
                return bare.starts_with(b"- ").then(|| CutList::new(YamlList { indent }, at));
            }
            is_behind_key |= line.trim_ascii_end() == b"items:";
            at += length;
        }
        None
    }
}

impl ListForm for YamlList {
    fn items(&self, text: &[u8], mut line: usize, is_all: bool) -> FoundItems {
        let mut found = FoundItems { items: Vec::new(), length: 0, next: Next::Text };
        // Where the item begins whose end was not yet found, and its line.
        let mut open: Option<(usize, usize)> = None;
        let mut at = 0;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let length = match memchr::memchr(b'\n', rest) {
                Some(n) => n + 1,
                None if is_all => rest.len(),
                None => return found,
            };
            let (indent, bare) = parts(rest.get(..length).unwrap_or_default());
            let is_end = rest.is_empty();
            if is_end || is_content(bare) && indent <= self.indent {
                if let Some((start, line)) = open.take() {
                    found.items.push(ItemText { range: start..at, line, is_inside: false });
                }
                found.length = at;
                let is_item = indent == self.indent && (bare.starts_with(b"- ") || bare == b"-");
                if is_end || !is_item {
                    found.next = Next::End(at);
                    return found;
                }
                if at >= PIECE {
                    return found;
                }
                open = Some((at, line));
            }
            at += length;
            line += 1;
        }
    }

    fn end<R: Read>(&self, before: &str, input: &mut Buffer<R>) -> Result<Piece, StreamError> {
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
        let ending = input.take(end, separator, Form::ListEnd)?;
        let (keys, comments) = before.rsplit_once("items:").unwrap_or((before, ""));
        Ok(Piece { text: format!("{keys}items: []{comments}{}", ending.text), ..ending })
    }
}
