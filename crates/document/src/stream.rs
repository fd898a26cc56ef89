//! Cuts a stream of any length into pieces, so that memory does not grow with its length.
//!
//! In: bytes. Out: [`Piece`]s in order, each with whole documents, lines, or items, and with the
//! line on which it begins. [`crate::resource::read`] makes objects of them, on any thread. Pieces
//! hold the documents that [`super::split`] finds in the whole text: a piece ends in front of a
//! separator only where the document before it has text.
//!
//! - A stream whose first line is a JSON object, with another one on the next line, has an object
//!   a line (`.jsonl`).
//! - A document that is longer than [`LIST_FROM`] and is a `List`, as `kubectl get -o json` or
//!   `-o yaml` prints it, is cut into its items (`list`).
//! - What is longer than [`LONGEST`] is refused: no object of a cluster has a hundredth of it.
//!
//! - `json_list`: cuts a list in JSON into its items
//! - `list`: cuts a list into pieces with its items
//! - `yaml_list`: cuts a list in YAML into its items

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use super::split::{Utf8Error, utf8};
use json_list::JsonList;
use list::CutList;
use yaml_list::YamlList;

mod json_list;
mod list;
mod yaml_list;

/// How long a piece is at least, in bytes; the last one may be shorter.
const PIECE: usize = 64 << 10;

/// How long a document is from which on it is cut into its items, if it is a list.
pub const LIST_FROM: usize = 8 << 20;

/// How long a document or an item may be.
pub const LONGEST: usize = 64 << 20;

/// Part of a stream.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its text.
    pub text: String,
    /// The line of the stream on which it begins, from 1.
    pub line: usize,
    /// What is in it.
    pub form: Form,
}

/// What a piece holds.
#[derive(Clone, Debug)]
pub enum Form {
    /// Whole documents.
    Documents,
    /// An object in JSON on each line.
    Lines,
    /// Items of a list.
    Items {
        /// Where they are.
        items: Vec<ItemText>,
        /// What the list says of itself before its items.
        head: Arc<str>,
    },
    /// The list whose items came before, without them.
    ListEnd,
}

/// Where an item of a list is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemText {
    /// Its place in the text of its piece: from the beginning of its line where only blanks are
    /// before it.
    pub range: Range<usize>,
    /// The line of the stream on which it begins, from 1.
    pub line: usize,
    /// Whether something else is before it on its line, so that its columns are not known.
    pub is_inside: bool,
}

/// Why a stream cannot be read to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// It is no text.
    #[error(transparent)]
    Utf8(Utf8Error),
    /// A document, or an item of a list, is too long.
    #[error("line {line}: a document of more than {} MiB that is no list", LONGEST >> 20)]
    TooLong {
        /// The line on which it begins, from 1.
        line: usize,
    },
    /// A list breaks off, or has something between its items.
    #[error("line {line}: the list cannot be cut into its items: {why}")]
    List {
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
}

/// The pieces of a stream. Nothing follows an error.
pub struct Pieces<R> {
    input: Buffer<R>,
    mode: Mode,
}

enum Mode {
    Start,
    Documents,
    Lines,
    Json(CutList<JsonList>),
    Yaml(CutList<YamlList>),
    End,
}

impl<R: Read> Pieces<R> {
    /// The pieces of what a reader gives.
    pub fn new(reader: R) -> Pieces<R> {
        Pieces { input: Buffer::new(reader), mode: Mode::Start }
    }

    /// The beginning of the stream, before its first piece is taken.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn peek(&mut self) -> io::Result<&[u8]> {
        self.input.fill(PIECE)?;
        Ok(self.input.rest())
    }

    /// All of the stream that is in no piece, in memory.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub fn into_text(mut self) -> Result<String, StreamError> {
        self.input.fill(usize::MAX)?;
        let length = self.input.rest().len();
        Ok(self.input.take(length, 0, Form::Documents)?.text)
    }

    fn next_piece(&mut self) -> Result<Option<Piece>, StreamError> {
        loop {
            match &mut self.mode {
                Mode::Start => {
                    self.input.fill(PIECE)?;
                    self.input.drop_mark();
                    let is_lines = has_object_a_line(self.input.rest());
                    self.mode = if is_lines { Mode::Lines } else { Mode::Documents };
                }
                Mode::Documents => match self.documents()? {
                    DocumentStep::Piece(piece) => return Ok(Some(piece)),
                    DocumentStep::Changed => {}
                    DocumentStep::End => return Ok(None),
                },
                Mode::Lines => return self.lines(),
                Mode::Json(list) => match list.next(&mut self.input)? {
                    Some(piece) => return Ok(Some(piece)),
                    None => self.mode = Mode::Documents,
                },
                Mode::Yaml(list) => match list.next(&mut self.input)? {
                    Some(piece) => return Ok(Some(piece)),
                    None => self.mode = Mode::Documents,
                },
                Mode::End => return Ok(None),
            }
        }
    }

    /// The documents up to the last separator of a piece.
    fn documents(&mut self) -> Result<DocumentStep, StreamError> {
        let mut wanted = PIECE;
        // Where no separator is, as far as the search went.
        let mut searched = 0;
        loop {
            self.input.fill(wanted)?;
            let rest = self.input.rest();
            if rest.is_empty() {
                return Ok(DocumentStep::End);
            }
            if self.input.is_at_end() && rest.len() <= wanted {
                let end = rest.len();
                return Ok(DocumentStep::Piece(self.input.take(end, 0, Form::Documents)?));
            }
            if let Some(cut) = last_cut(rest, searched) {
                return Ok(DocumentStep::Piece(self.input.take(cut.text, cut.separator, Form::Documents)?));
            }
            searched = rest.len().saturating_sub(LINE_OF_SEPARATOR);
            if rest.len() >= LIST_FROM {
                let list = JsonList::begin(rest).map(Mode::Json);
                if let Some(mode) = list.or_else(|| YamlList::begin(rest).map(Mode::Yaml)) {
                    self.mode = mode;
                    return Ok(DocumentStep::Changed);
                }
            }
            if rest.len() >= LONGEST {
                return Err(StreamError::TooLong { line: self.input.line });
            }
            wanted = rest.len().saturating_mul(2).min(LONGEST);
        }
    }

    /// Whole lines.
    fn lines(&mut self) -> Result<Option<Piece>, StreamError> {
        let mut wanted = PIECE;
        loop {
            self.input.fill(wanted)?;
            let rest = self.input.rest();
            if rest.is_empty() {
                return Ok(None);
            }
            let last_line = memchr::memrchr(b'\n', rest).map(|at| at + 1);
            let whole = if self.input.is_at_end() { Some(rest.len()) } else { last_line };
            if let Some(end) = whole {
                return Ok(Some(self.input.take(end, 0, Form::Lines)?));
            }
            if rest.len() >= LONGEST {
                return Err(StreamError::TooLong { line: self.input.line });
            }
            wanted = rest.len().saturating_mul(2).min(LONGEST);
        }
    }
}

impl<R: Read> Iterator for Pieces<R> {
    type Item = Result<Piece, StreamError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_piece();
        if !matches!(next, Ok(Some(_))) {
            self.mode = Mode::End;
        }
        next.transpose()
    }
}

enum DocumentStep {
    Piece(Piece),
    Changed,
    End,
}

/// Whether a text has a JSON object on its first line, and on its second one, too.
fn has_object_a_line(text: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b'\n', text) else { return false };
    let (first, rest) = text.split_at(end);
    let begins = |line: &[u8]| line.trim_ascii_start().first() == Some(&b'{');
    begins(first)
        && begins(rest)
        && std::str::from_utf8(first).is_ok_and(|line| super::json::parse(line.trim()).is_ok())
}

/// How far back a separator may begin whose line had not yet ended.
const LINE_OF_SEPARATOR: usize = 1 << 10;

/// Where a piece ends.
struct Cut {
    /// The length of its text.
    text: usize,
    /// The length of the separator behind it.
    separator: usize,
}

/// The last separator from a position on in front of which a document has text, if its line is
/// whole.
fn last_cut(text: &[u8], from: usize) -> Option<Cut> {
    let mut end = text.len();
    loop {
        let area = text.get(from..end)?;
        let at = from + memchr::memmem::rfind(area, b"\n---")?;
        end = at + 1;
        let line = text.get(at + 1..)?;
        let Some(length) = memchr::memchr(b'\n', line) else { continue };
        let after = line.get(3..length).unwrap_or_default().trim_ascii();
        let before = text.get(..at).unwrap_or_default();
        let last_line =
            memchr::memrchr(b'\n', before).map_or(before, |n| before.get(n + 1..).unwrap_or(before));
        if (after.is_empty() || after.starts_with(b"#")) && !last_line.starts_with(b"---") {
            return Some(Cut { text: at + 1, separator: length + 1 });
        }
    }
}

/// What was read of a stream and is not yet in a piece.
struct Buffer<R> {
    reader: R,
    bytes: Vec<u8>,
    /// How much of it is in pieces.
    taken: usize,
    /// How many bytes of the stream are in front of it.
    before: usize,
    /// The line of the first byte that is in no piece, from 1.
    line: usize,
    ended: bool,
}

impl<R: Read> Buffer<R> {
    fn new(reader: R) -> Buffer<R> {
        Buffer { reader, bytes: Vec::new(), taken: 0, before: 0, line: 1, ended: false }
    }

    /// What is in no piece.
    fn rest(&self) -> &[u8] {
        self.bytes.get(self.taken..).unwrap_or_default()
    }

    fn is_at_end(&self) -> bool {
        self.ended
    }

    /// The line on which the rest begins, from 1.
    fn line(&self) -> usize {
        self.line
    }

    /// Reads until the rest has this length, or the stream ends.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.ended || self.rest().len() >= wanted {
            return Ok(());
        }
        self.before += self.taken;
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let missing = wanted.saturating_sub(self.bytes.len());
        let read = self.reader.by_ref().take(missing as u64).read_to_end(&mut self.bytes)?;
        self.ended = read < missing;
        Ok(())
    }

    /// Drops the mark of Unicode at the beginning.
    fn drop_mark(&mut self) {
        if self.rest().starts_with("\u{feff}".as_bytes()) {
            self.taken += '\u{feff}'.len_utf8();
        }
    }

    /// Takes text, and what is behind it, out of the rest.
    fn take(&mut self, text: usize, behind: usize, form: Form) -> Result<Piece, StreamError> {
        let bytes = self.rest().get(..text).unwrap_or_default();
        let lines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count();
        let text_of = utf8(bytes).map_err(|e| {
            StreamError::Utf8(Utf8Error { at: self.before + self.taken + e.at, line: self.line + e.line - 1 })
        })?;
        let piece = Piece { text: text_of.to_owned(), line: self.line, form };
        self.line += lines(self.rest().get(..text + behind).unwrap_or_default());
        self.taken += text + behind;
        Ok(piece)
    }
}

#[cfg(test)]
mod tests;
