//! Cuts a list into pieces with its items, without the list in memory.
//!
//! In: the beginning of a list, and what follows. Out: pieces with whole items, then one with the
//! list without them. What is an item, and what ends the list, is a matter of its [`ListForm`].

use std::io::Read;
use std::sync::Arc;

use super::{Buffer, Form, ItemText, LONGEST, PIECE, Piece, StreamError};

/// How long the text in front of the items may be, and behind them.
pub(super) const HEAD: usize = 1 << 20;

/// How a list is written.
pub(super) trait ListForm {
    /// The whole items at the beginning of a text, as many as make a piece. The text begins on this
    /// line, from 1, and is all that is left of the stream if `is_all`.
    fn items(&self, text: &[u8], line: usize, is_all: bool) -> FoundItems;

    /// The list without its items: `before` is the text in front of them, and the rest begins where
    /// they end.
    fn end<R: Read>(&self, before: &str, input: &mut Buffer<R>) -> Result<Piece, StreamError>;
}

/// The items of a text between those of a list.
pub(super) struct FoundItems {
    pub items: Vec<ItemText>,
    /// The length of the text with them.
    pub length: usize,
    /// What comes behind them.
    pub next: Next,
}

/// What comes behind the items that were found.
pub(super) enum Next {
    /// More text, which may have more items.
    Text,
    /// The end of the list, behind this many bytes.
    End(usize),
    /// Something else than an item, behind this many bytes.
    Other(usize),
}

/// A list that is being cut.
pub(super) struct CutList<F> {
    form: F,
    /// How long the text in front of the first item is.
    head: usize,
    /// That text, once it was taken.
    before: Option<Arc<str>>,
    is_done: bool,
}

impl<F: ListForm> CutList<F> {
    /// A list whose first item is behind this many bytes.
    pub(super) fn new(form: F, head: usize) -> CutList<F> {
        CutList { form, head, before: None, is_done: false }
    }

    /// The next piece; none behind the list.
    pub(super) fn next<R: Read>(&mut self, input: &mut Buffer<R>) -> Result<Option<Piece>, StreamError> {
        if self.is_done {
            return Ok(None);
        }
        let before = match &self.before {
            Some(before) => before.clone(),
            None => {
                let head = input.take(self.head, 0, Form::Documents)?.text;
                self.before.insert(head.into()).clone()
            }
        };
        let mut wanted = PIECE;
        loop {
            input.fill(wanted)?;
            let found = self.form.items(input.rest(), input.line(), input.is_at_end());
            if !found.items.is_empty() {
                let form = Form::Items { items: found.items, head: before };
                return Ok(Some(input.take(found.length, 0, form)?));
            }
            match found.next {
                Next::End(at) => {
                    // Blanks and commas are in front of the end.
                    let line = input.take(at, 0, Form::ListEnd)?.line;
                    self.is_done = true;
                    return Ok(Some(Piece { line, ..self.form.end(&before, input)? }));
                }
                Next::Other(at) => {
                    let text = input.rest().get(..at).unwrap_or_default();
                    let line = input.line() + memchr::memchr_iter(b'\n', text).count();
                    return Err(StreamError::List { line, why: "something else than an object is in it" });
                }
                Next::Text if input.is_at_end() => return Err(broken_off(input)),
                Next::Text if input.rest().len() >= LONGEST => {
                    return Err(StreamError::TooLong { line: input.line() });
                }
                Next::Text => wanted = input.rest().len().max(PIECE).saturating_mul(2).min(LONGEST),
            }
        }
    }
}

/// The error of a list without an end.
pub(super) fn broken_off<R: Read>(input: &Buffer<R>) -> StreamError {
    StreamError::List { line: input.line(), why: "it breaks off" }
}
