//! Where a cursor stands in a document, also in one that is half typed.
//!
//! In: a text and a byte of it. Out: the path of the node, whether the cursor is at a key or in a
//! value, and the value so far. The text is read line by line by its indentation, for it need not
//! be YAML: what follows the cursor has no influence, and flow collections and quotes may be open.
//!
//! - `flow`: flow collections up to the cursor

mod flow;

use ephor_document::MAX_DEPTH;
use ephor_value::place::{Path, PathPart};

use crate::span::Span;
use flow::Flow;

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single quotes.
    Single,
    /// In double quotes.
    Double,
    /// In a block of lines (`|` and `>`).
    Block,
}

/// A value at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueSpot {
    /// What is written of it before the cursor, quotes and indentation left out.
    pub before: String,
    /// How it is written.
    pub style: Style,
    /// Where it begins in the text, its quote left out.
    pub start: usize,
}

/// See the module page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Where the document stands in the text.
    pub document: Span,
    /// At a key the path of the mapping that has or gets it; in a value that of the value.
    pub path: Path,
    /// The value; `None` at a key.
    pub value: Option<ValueSpot>,
    /// Where the word at the cursor begins.
    pub word: Span,
    /// Whether the word can be an item of a list as well as a key: nothing but a dash is before it.
    pub is_item: bool,
    /// The column at which keys of the mapping stand.
    pub indent: usize,
    /// Whether the cursor stands in a flow collection.
    pub is_flow: bool,
}

/// A collection that is open at the cursor, and where in it.
#[derive(Clone, Debug)]
struct Frame {
    indent: usize,
    part: PathPart,
}

/// Where a cursor stands.
pub fn cursor(text: &str, offset: usize) -> Cursor {
    let offset = floor(text, offset);
    let document = document(text, offset);
    let own = text.get(document.start..offset).unwrap_or_default();
    let mut reader = Reader::default();
    let mut at = document.start;
    for line in own.split_inclusive('\n') {
        let is_last = at + line.len() >= offset && !line.ends_with('\n');
        if !is_last {
            reader.line(line.trim_end_matches(['\n', '\r']), at);
        }
        at += line.len();
    }
    let last = own.rfind('\n').map_or(0, |n| n + 1);
    let start = document.start + last;
    reader.finish(own.get(last..).unwrap_or_default(), start, document, text)
}

/// The nearest byte at or before one at which a character begins.
fn floor(text: &str, offset: usize) -> usize {
    let offset = offset.min(text.len());
    (0..=offset).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The document around a byte.
fn document(text: &str, offset: usize) -> Span {
    let mut start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_separator = line.starts_with("---")
            && line.get(3..).is_some_and(|rest| {
                let rest = rest.trim();
                rest.is_empty() || rest.starts_with('#')
            });
        if is_separator {
            if at >= offset {
                return Span { start: start.min(offset), end: at };
            }
            if at + line.len() <= offset {
                start = at + line.len();
            }
        }
        at += line.len();
    }
    Span { start: start.min(offset), end: text.len() }
}

/// What has been read of a document.
#[derive(Default)]
struct Reader {
    frames: Vec<Frame>,
    /// A block of lines below a key or dash of this column, and what it has so far.
    block: Option<(usize, BlockText)>,
    /// A flow collection or quoted text that is open: where it begins, its length, and what was
    /// read of it.
    open: Option<(usize, usize, Flow)>,
}

#[derive(Default)]
struct BlockText {
    indent: Option<usize>,
    text: String,
    start: usize,
}

impl Reader {
    fn path(&self) -> Path {
        self.frames.iter().map(|frame| frame.part.clone()).collect()
    }

    /// Reads a whole line.
    fn line(&mut self, line: &str, start: usize) {
        if let Some((_, length, flow)) = &mut self.open {
            *length += 1 + line.len();
            flow.read("\n");
            flow.read(line);
            if !flow.is_open() {
                self.open = None;
            }
            return;
        }
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        if self.in_block(line, indent, start) || trimmed.is_empty() || trimmed.starts_with('#') {
            return;
        }
        let (indent, content, _) = self.dashes(indent, trimmed);
        let Some((key, value, behind)) = split_key(content) else { return };
        self.key(indent, key);
        let at = start + line.len() - content.len() + behind;
        self.value(value, indent, at);
    }

    /// Takes a line as one of a block, if it is.
    fn in_block(&mut self, line: &str, indent: usize, start: usize) -> bool {
        let Some((of, block)) = &mut self.block else { return false };
        if line.trim().is_empty() {
            block.text.push('\n');
            return true;
        }
        if indent <= *of {
            self.block = None;
            return false;
        }
        let own = *block.indent.get_or_insert(indent);
        if block.start == 0 {
            block.start = start + own.min(line.len());
        }
        block.text.push_str(line.get(own.min(indent)..).unwrap_or_default());
        block.text.push('\n');
        true
    }

    /// Takes the dashes at the beginning of a line: each is an item of a list.
    fn dashes<'l>(&mut self, mut indent: usize, mut content: &'l str) -> (usize, &'l str, bool) {
        let mut has_dash = false;
        while let Some(rest) =
            content.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '))
        {
            if self.frames.len() >= MAX_DEPTH {
                break;
            }
            has_dash = true;
            while self.frames.last().is_some_and(|frame| frame.indent > indent) {
                self.frames.pop();
            }
            match self.frames.last_mut() {
                Some(Frame { indent: of, part: PathPart::Index(index) }) if *of == indent => *index += 1,
                _ => self.frames.push(Frame { indent, part: PathPart::Index(0) }),
            }
            let trimmed = rest.trim_start_matches(' ');
            indent += content.len() - trimmed.len();
            content = trimmed;
        }
        (indent, content, has_dash)
    }

    /// Closes what ended before a key of this column.
    fn close(&mut self, indent: usize) {
        while self.frames.last().is_some_and(|frame| frame.indent >= indent) {
            self.frames.pop();
        }
    }

    fn key(&mut self, indent: usize, key: &str) {
        self.close(indent);
        self.frames.push(Frame { indent, part: PathPart::Key(unquoted(key).into()) });
    }

    /// Takes what is behind a key.
    fn value(&mut self, value: &str, indent: usize, start: usize) {
        let value = value.trim_start();
        if value.starts_with(['|', '>']) {
            self.block = Some((indent, BlockText::default()));
        } else if value.starts_with(['{', '[', '"', '\'']) {
            let flow = Flow::of(value);
            self.open = flow.is_open().then_some((start, value.len(), flow));
        }
    }

    /// The cursor at the end of the last line.
    fn finish(mut self, line: &str, start: usize, document: Span, text: &str) -> Cursor {
        let end = start + line.len();
        let make = |path: Path, value: Option<ValueSpot>, word: Span, is_item: bool, indent: usize| Cursor {
            document,
            path,
            value,
            word: Span { start: word.start, end: word_end(text, word.end) },
            is_item,
            indent,
            is_flow: false,
        };
        if let Some((at, length, mut flow)) = self.open.take() {
            flow.read("\n");
            flow.read(line);
            return self.in_flow(flow, at + length + 1 + line.len(), end, document, text);
        }
        let trimmed = line.trim_start_matches(' ');
        let indent = line.len() - trimmed.len();
        if let Some((of, block)) = &self.block
            && (indent > *of || trimmed.is_empty() && line.len() > *of)
        {
            let own = block.indent.unwrap_or(indent).min(line.len());
            let before = format!("{}{}", block.text, line.get(own..).unwrap_or_default());
            let first = if block.start == 0 { start + own } else { block.start };
            let value = ValueSpot { before, style: Style::Block, start: first };
            let word = Span { start: end - word_of(line).len(), end };
            return make(self.path(), Some(value), word, false, indent);
        }
        let (indent, content, has_dash) = self.dashes(indent, trimmed);
        let at = start + line.len() - content.len();
        match split_key(content) {
            Some((key, value, behind)) => {
                self.key(indent, key);
                let blanks = value.len() - value.trim_start().len();
                self.at_value(value.trim_start(), at + behind + blanks, end, document, text)
            }
            // A value that follows its key on the next lines.
            None if content.starts_with(['{', '[', '"', '\'']) => {
                self.at_value(content, at, end, document, text)
            }
            None => {
                self.close(indent);
                let word = Span { start: at, end };
                make(self.path(), None, word, has_dash, indent)
            }
        }
    }

    /// The cursor in a value that begins on its line.
    fn at_value(self, value: &str, at: usize, end: usize, document: Span, text: &str) -> Cursor {
        if value.starts_with(['{', '[']) && flow::is_open(value) {
            return self.in_flow(Flow::of(value), at + value.len(), end, document, text);
        }
        let (style, skipped) = match value.chars().next() {
            Some('"') => (Style::Double, 1),
            Some('\'') => (Style::Single, 1),
            _ => (Style::Plain, 0),
        };
        let before = value.get(skipped..).unwrap_or_default().to_string();
        let word = Span { start: end - word_of(&before).len(), end: word_end(text, end) };
        let value = ValueSpot { before, style, start: at + skipped };
        let (path, indent) = (self.path(), self.frames.last().map_or(0, |frame| frame.indent));
        Cursor { document, path, value: Some(value), word, is_item: false, indent, is_flow: false }
    }

    /// The cursor in a flow collection that was read up to a byte.
    fn in_flow(self, flow: Flow, read: usize, end: usize, document: Span, text: &str) -> Cursor {
        let inner = flow::at_end(flow);
        let path: Path = self.path().into_iter().chain(inner.path).collect();
        let style = match inner.quote {
            Some('"') => Style::Double,
            Some(_) => Style::Single,
            None => Style::Plain,
        };
        let word = Span { start: end - word_of(&inner.text).len(), end: word_end(text, end) };
        let start = read.min(end).saturating_sub(inner.text.len());
        let value = inner.is_value.then_some(ValueSpot { before: inner.text, style, start });
        let is_item = inner.is_item;
        Cursor { document, path, value, word, is_item, indent: 0, is_flow: true }
    }
}

/// The letters at the end of a text that belong to a name.
fn word_of(text: &str) -> &str {
    let at = text.char_indices().rev().take_while(|(_, c)| is_word(*c)).last();
    at.and_then(|(at, _)| text.get(at..)).unwrap_or_default()
}

/// Where a word ends that has the byte before.
fn word_end(text: &str, offset: usize) -> usize {
    let rest = text.get(offset..).unwrap_or_default();
    offset + rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
}

/// Whether a character belongs to names of fields, functions and kinds.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// A line's key, what is behind its colon, and the byte at which that begins.
fn split_key(content: &str) -> Option<(&str, &str, usize)> {
    let end = match content.chars().next()? {
        quote @ ('"' | '\'') => {
            let close = content.get(1..)?.find(quote)? + 2;
            let rest = content.get(close..)?;
            close + rest.len() - rest.trim_start().len()
        }
        '{' | '[' | '#' | '|' | '>' => return None,
        _ => {
            let colon = content.match_indices(':').map(|(at, _)| at).find(|at| {
                let next = content.get(at + 1..).and_then(|rest| rest.chars().next());
                next.is_none_or(|c| c == ' ' || c == '\t' || c == '\r')
            })?;
            return Some((content.get(..colon)?.trim_end(), content.get(colon + 1..)?, colon + 1));
        }
    };
    let rest = content.get(end..)?.strip_prefix(':')?;
    Some((content.get(..end)?.trim_end(), rest, end + 1))
}

fn unquoted(key: &str) -> &str {
    let inner = |quote: char| key.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(key)
}

#[cfg(test)]
mod tests;
