//! Flow collections and quoted texts up to the cursor.

use ephor_document::MAX_DEPTH;
use ephor_value::place::{Path, PathPart};

/// Where the end of an unfinished flow collection stands in it.
pub(super) struct FlowSpot {
    /// The path within the collection: at a key that of its mapping.
    pub(super) path: Path,
    /// Whether it is in a value.
    pub(super) is_value: bool,
    /// Whether it is an item of a list.
    pub(super) is_item: bool,
    /// What is written of the key or value, its quote left out.
    pub(super) text: String,
    /// The quote that is open.
    pub(super) quote: Option<char>,
}

/// A collection that is open.
enum FlowLevel {
    /// A mapping: the key whose value comes.
    Map(Option<String>),
    /// A list: how many items are before this one.
    List(usize),
}

/// Whether a text that begins a flow collection or a quoted text does not end it.
pub(super) fn is_open(text: &str) -> bool {
    Flow::of(text).is_open()
}

/// A flow collection or a quoted text, as far as it was read: lines are added one by one, so that
/// a long one is read once.
#[derive(Default)]
pub(super) struct Flow {
    levels: Vec<FlowLevel>,
    quote: Option<char>,
    word: String,
    /// Whether the outermost collection was closed; what follows is not its own.
    is_over: bool,
}

impl Flow {
    /// What a text begins.
    pub(super) fn of(text: &str) -> Flow {
        let mut flow = Flow::default();
        flow.read(text);
        flow
    }

    /// Whether it does not end in what was read.
    pub(super) fn is_open(&self) -> bool {
        self.quote.is_some() || !self.levels.is_empty()
    }

    /// Reads on.
    pub(super) fn read(&mut self, text: &str) {
        if !self.is_over {
            self.is_over = read(text, &mut self.levels, &mut self.quote, &mut self.word);
        }
    }
}

/// Reads a part of a text; returns whether the outermost collection was closed.
fn read(text: &str, levels: &mut Vec<FlowLevel>, quote: &mut Option<char>, word: &mut String) -> bool {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if let Some(open) = *quote {
            if c == open && open == '\'' && chars.peek() == Some(&'\'') {
                chars.next();
                word.push(c);
            } else if c == open {
                *quote = None;
            } else {
                if c == '\\' && open == '"' {
                    word.push(c);
                    word.extend(chars.next());
                    continue;
                }
                word.push(c);
            }
            continue;
        }
        let is_end =
            |next: Option<&char>| next.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | '}' | ']'));
        match c {
            '"' | '\'' if word.trim().is_empty() => {
                *quote = Some(c);
                word.clear();
            }
            '{' | '[' if levels.len() >= MAX_DEPTH => word.clear(),
            '{' => {
                levels.push(FlowLevel::Map(None));
                word.clear();
            }
            '[' => {
                levels.push(FlowLevel::List(0));
                word.clear();
            }
            '}' | ']' => {
                levels.pop();
                word.clear();
                if levels.is_empty() {
                    return true;
                }
            }
            ',' => {
                match levels.last_mut() {
                    Some(FlowLevel::Map(key)) => *key = None,
                    Some(FlowLevel::List(index)) => *index += 1,
                    None => {}
                }
                word.clear();
            }
            ':' if is_end(chars.peek()) => {
                if let Some(FlowLevel::Map(key)) = levels.last_mut() {
                    *key = Some(word.trim().to_string());
                }
                word.clear();
            }
            _ => word.push(c),
        }
    }
    false
}

/// The spot at the end of what was read.
pub(super) fn at_end(flow: Flow) -> FlowSpot {
    let Flow { levels, quote, word, .. } = flow;
    let mut path = Path::new();
    for level in &levels {
        match level {
            FlowLevel::Map(Some(key)) => path.push(PathPart::Key(key.as_str().into())),
            FlowLevel::Map(None) => {}
            FlowLevel::List(index) => path.push(PathPart::Index(*index)),
        }
    }
    let (is_value, is_item) = match levels.last() {
        Some(FlowLevel::Map(key)) => (key.is_some(), false),
        Some(FlowLevel::List(_)) => (true, true),
        None => (true, false),
    };
    let text = if quote.is_some() { word } else { word.trim_start().to_string() };
    FlowSpot { path, is_value, is_item, text, quote }
}
