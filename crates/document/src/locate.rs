//! Where a part of a document stands in the user's file.
//!
//! Values carry no positions: they would cost every run for what few messages need. A message that
//! wants one names the part by its path, and the text is read again, with places, until that part.
//! In: the document's text and a path. Out: line and column from 1, in characters, and the length
//! of the part on that line. A path that leads through an alias is found at the alias.
//!
//! - `places`: where all parts of a document stand, for callers that need many places

mod places;

use std::ops::Range;

use super::event::{Event, EventData, Mark, Parser};
use super::scalar::{Scalar, resolve_plain};
use ephor_value::place::PathPart;

pub use places::Places;

/// A place in a document's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line of the document, from 1.
    pub line: usize,
    /// Character of the line, from 1.
    pub col: usize,
    /// Characters, on this line only.
    pub len: usize,
}

/// The place of the value at `path`; `None` when the document has no such part or is not YAML.
pub fn locate(text: &str, path: &[PathPart]) -> Option<Position> {
    find(text, path, false)
}

/// The place of the key whose value is at `path`; that of the item when the path ends in an index.
pub fn locate_key(text: &str, path: &[PathPart]) -> Option<Position> {
    find(text, path, true)
}

/// Where an item of a list document begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The byte from which its text can be read on its own.
    start: usize,
    /// The lines before that byte.
    lines: usize,
    /// The characters of its line before that byte.
    columns: usize,
    /// Whether it stands behind a dash, and is read with it.
    is_block: bool,
}

/// Where the items below the key `items` of a list document begin; the text is read once for all of
/// them.
pub fn items(text: &str) -> Vec<Item> {
    let mut out = Vec::new();
    let Ok(mut parser) = Parser::new(text) else { return out };
    let (mut depth, mut is_inside) = (0_usize, false);
    // In the outermost mapping keys and values take turns.
    let (mut expects_key, mut is_items) = (true, false);
    while let Ok(event) = parser.next() {
        let opens = matches!(event.data, EventData::SeqStart(_) | EventData::MapStart(_));
        match &event.data {
            EventData::DocumentStart => continue,
            EventData::DocumentEnd | EventData::StreamEnd => break,
            EventData::SeqEnd | EventData::MapEnd => {
                depth = depth.saturating_sub(1);
                if depth == 1 && is_inside {
                    break;
                }
                expects_key |= depth == 1;
                continue;
            }
            _ if depth == 2 && is_inside => out.push(Item::at(text, event.start)),
            _ if depth == 1 && expects_key => {
                is_items = is_key(&event, "items");
                expects_key = false;
            }
            data if depth == 1 => {
                is_inside = is_items && matches!(data, EventData::SeqStart(_));
                expects_key = !opens;
            }
            _ => {}
        }
        depth += usize::from(opens);
    }
    out
}

impl Item {
    /// The line on which it begins, from 1.
    pub fn line(&self) -> usize {
        self.lines + 1
    }

    fn at(text: &str, start: Mark) -> Item {
        let before = text.get(..start.pos).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let own_line = before.get(line_start..).unwrap_or_default();
        let is_block = own_line.trim() == "-";
        let lines = start.line as usize;
        match is_block {
            true => Item { start: line_start, lines, columns: 0, is_block },
            false => Item { start: start.pos, lines, columns: own_line.chars().count(), is_block },
        }
    }

    /// The place of the value at `path` of the item, or with `want_key` of its key, in the text of
    /// the list.
    pub fn locate(&self, text: &str, path: &[PathPart], want_key: bool) -> Option<Position> {
        let own = text.get(self.start..)?;
        let found = if self.is_block {
            let mut below = vec![PathPart::Index(0)];
            below.extend(path.iter().cloned());
            find(own, &below, want_key)
        } else {
            find(own, path, want_key)
        }?;
        let columns = if found.line == 1 { self.columns } else { 0 };
        Some(Position { line: found.line + self.lines, col: found.col + columns, ..found })
    }
}

/// An open collection.
struct OpenCollection {
    /// How many parts of the path lead here, if the collection is on the path.
    matched: Option<usize>,
    kind: CollectionKind,
}

enum CollectionKind {
    Seq { next: usize },
    Map { key: Option<ReadKey> },
}

/// A key that has been read: whether the path goes through it, and where it stands.
struct ReadKey {
    on_path: bool,
    start: Mark,
    end: Mark,
}

/// A part of a document: bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenPart {
    /// The bytes of its key, when it has one.
    pub key: Option<Range<usize>>,
    /// The bytes of its value; a collection ends behind its last part.
    pub value: Range<usize>,
    /// The text of a scalar.
    pub scalar: Option<Box<str>>,
}

/// The bytes of the part at `path`; `None` when the document has no such part, an alias stands for
/// it, or it is not YAML.
pub fn part(text: &str, path: &[PathPart]) -> Option<WrittenPart> {
    let skipped = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let text = text.get(skipped..)?;
    let mut parser = Parser::new(text).ok()?;
    let Node { key, event } = node(&mut parser, path)?;
    let range = |start: Mark, end: Mark| start.pos + skipped..end.pos + skipped;
    let key = key.map(|key| range(key.start, key.end));
    match event.data {
        EventData::Alias(_) => None,
        EventData::Scalar { value, .. } => {
            Some(WrittenPart { key, value: range(event.start, event.end), scalar: Some(value.into()) })
        }
        _ => {
            let (mut depth, mut last) = (1_usize, event.end);
            while depth > 0 {
                let event = parser.next().ok()?;
                match event.data {
                    EventData::SeqStart(_) | EventData::MapStart(_) => depth += 1,
                    EventData::SeqEnd | EventData::MapEnd => depth -= 1,
                    EventData::Scalar { .. } | EventData::Alias(_) => {}
                    _ => return None,
                }
                // A block ends where the next part begins, which is not its own.
                if event.end.pos > event.start.pos {
                    last = event.end;
                }
            }
            Some(WrittenPart { key, value: range(event.start, last), scalar: None })
        }
    }
}

fn find(text: &str, path: &[PathPart], want_key: bool) -> Option<Position> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new(text).ok()?;
    let Node { key, event } = node(&mut parser, path)?;
    Some(match key.filter(|_| want_key) {
        Some(key) => position(text, key.start, Some(key.end)),
        None => {
            let scalar = matches!(event.data, EventData::Scalar { .. } | EventData::Alias(_));
            position(text, event.start, scalar.then_some(event.end))
        }
    })
}

/// The event with which a part of a document begins, and its key.
struct Node<'a> {
    key: Option<ReadKey>,
    event: Event<'a>,
}

/// Reads up to the part at `path`, or the alias that stands for a part above it.
fn node<'a>(parser: &mut Parser<'a>, path: &[PathPart]) -> Option<Node<'a>> {
    let mut stack: Vec<OpenCollection> = Vec::new();
    loop {
        let event = parser.next().ok()?;
        match &event.data {
            EventData::DocumentStart => continue,
            EventData::DocumentEnd | EventData::StreamEnd => return None,
            EventData::SeqEnd | EventData::MapEnd => {
                stack.pop();
                continue;
            }
            EventData::Alias(_)
            | EventData::Scalar { .. }
            | EventData::SeqStart(_)
            | EventData::MapStart(_) => {}
        }
        let (matched, key) = match stack.last_mut() {
            None => (Some(0), None),
            Some(frame) => {
                let wanted = frame.matched.and_then(|n| path.get(n));
                let here = match &mut frame.kind {
                    CollectionKind::Seq { next } => {
                        let index = *next;
                        *next += 1;
                        (matches!(wanted, Some(PathPart::Index(i)) if *i == index), None)
                    }
                    CollectionKind::Map { key } => match key.take() {
                        None => {
                            let on_path = matches!(wanted, Some(PathPart::Key(k)) if is_key(&event, k));
                            *key = Some(ReadKey { on_path, start: event.start, end: event.end });
                            // A collection as key is skipped like any value.
                            open(&mut stack, &event, None);
                            continue;
                        }
                        Some(key) => (key.on_path, Some(key)),
                    },
                };
                (frame.matched.filter(|_| here.0).map(|n| n + 1), here.1)
            }
        };
        let found =
            matched == Some(path.len()) || (matched.is_some() && matches!(event.data, EventData::Alias(_)));
        if found {
            return Some(Node { key, event });
        }
        open(&mut stack, &event, matched);
    }
}

fn open(stack: &mut Vec<OpenCollection>, event: &Event<'_>, matched: Option<usize>) {
    let kind = match event.data {
        EventData::SeqStart(_) => CollectionKind::Seq { next: 0 },
        EventData::MapStart(_) => CollectionKind::Map { key: None },
        _ => return,
    };
    stack.push(OpenCollection { matched, kind });
}

/// Whether a node is the key `name` of the value that the document becomes.
fn is_key(event: &Event<'_>, name: &str) -> bool {
    let EventData::Scalar { value, plain, .. } = &event.data else { return false };
    if value == name {
        return true;
    }
    *plain && matches!(resolve_plain(value), Scalar::Bool(b) if name == if b { "true" } else { "false" })
}

/// The place from `start` to `end`, or to the end of the line for what has no end on it.
fn position(text: &str, start: Mark, end: Option<Mark>) -> Position {
    let line_start = start.pos.saturating_sub(start.col as usize);
    let before = text.get(line_start..start.pos).unwrap_or("");
    let rest = text.get(start.pos..).unwrap_or("");
    let rest = rest.lines().next().unwrap_or("").trim_end();
    let len = match end {
        Some(end) => end.pos.saturating_sub(start.pos).min(rest.len()),
        None => rest.len(),
    };
    Position {
        line: start.line as usize + 1,
        col: before.chars().count() + 1,
        len: rest.get(..len).unwrap_or(rest).chars().count().max(1),
    }
}
