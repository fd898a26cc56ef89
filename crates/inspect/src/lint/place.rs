//! Where a character of a value stands in the user's file.
//!
//! In: the text of a document, the path of a value, and the number of one of its characters. Out:
//! line and column. Values are written in many ways (plain, quoted, on several lines, in literal
//! and folded blocks); each is read again from its beginning.

use std::cell::{Cell, OnceCell};

use ephor_document::locate::{Places, Position, locate, locate_key};
use ephor_value::place::PathPart;

/// A place in a document: line and column from 1, and how many characters of the line it has.
pub(super) type LintPosition = Position;

/// Bytes of a document from which on all places are read at once: reading again up to each place
/// takes time that grows with the square of the document.
const LARGE: usize = 64 << 10;

/// Places of a smaller document that are looked up one by one; after these all are read at once.
const FEW: u32 = 32;

/// A document whose places are looked up.
#[derive(Default)]
pub(super) struct Lookup {
    places: OnceCell<Places>,
    /// How many places were looked up.
    count: Cell<u32>,
    /// The bytes at which its lines begin.
    lines: OnceCell<Vec<usize>>,
}

impl Lookup {
    /// All places, where it is worth to read them.
    fn all(&self, text: &str) -> Option<&Places> {
        self.count.set(self.count.get().saturating_add(1));
        let is_worth = text.len() >= LARGE || self.count.get() > FEW;
        is_worth.then(|| self.places.get_or_init(|| Places::of(text)))
    }

    fn locate(&self, text: &str, path: &[PathPart]) -> Option<Position> {
        self.all(text).map_or_else(|| locate(text, path), |places| places.locate(path))
    }

    fn locate_key(&self, text: &str, path: &[PathPart]) -> Option<Position> {
        self.all(text).map_or_else(|| locate_key(text, path), |places| places.locate_key(path))
    }

    /// A line, from 1, without its break; empty where there is none.
    pub(super) fn line<'t>(&self, text: &'t str, line: usize) -> &'t str {
        let starts = || std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let starts: &Vec<usize> = self.lines.get_or_init(starts);
        let start = line.checked_sub(1).and_then(|at| starts.get(at));
        start.and_then(|start| text.get(*start..)).and_then(|rest| rest.lines().next()).unwrap_or_default()
    }

    /// The place of `length` characters of the text at `path`, `offset` characters from its
    /// beginning.
    pub(super) fn inside(
        &self,
        text: &str,
        path: &[PathPart],
        offset: usize,
        length: usize,
    ) -> Option<LintPosition> {
        let start = self.locate(text, path)?;
        // What is missing at the end stands behind the last character.
        let near = |back: usize| {
            character(text, start, offset.checked_sub(back)?).map(|(line, col)| (line, col + back))
        };
        let found = (0..=2).find_map(near).unwrap_or((start.line, start.col));
        let width = text.lines().nth(found.0 - 1).map_or(0, |l| l.trim_end().chars().count());
        let left = (width + 1).saturating_sub(found.1).max(1);
        Some(Position { line: found.0, col: found.1, len: length.clamp(1, left) })
    }

    /// The place of the value at `path`, or of the nearest part above it that exists.
    pub(super) fn value(&self, text: &str, path: &[PathPart]) -> Option<LintPosition> {
        self.locate(text, path).or_else(|| self.above(text, path))
    }

    /// The place of the key at `path`, or of the nearest part above it that exists.
    pub(super) fn key(&self, text: &str, path: &[PathPart]) -> Option<LintPosition> {
        self.locate_key(text, path).or_else(|| self.above(text, path))
    }

    fn above(&self, text: &str, path: &[PathPart]) -> Option<LintPosition> {
        let mut path = path;
        while let Some((_, shorter)) = path.split_last() {
            path = shorter;
            if path.is_empty() {
                return None;
            }
            if let Some(found) = self.locate_key(text, path) {
                return Some(found);
            }
        }
        None
    }
}

/// Line and column of a character of the scalar that begins at `start`.
fn character(text: &str, start: Position, offset: usize) -> Option<(usize, usize)> {
    let line = text.lines().nth(start.line - 1)?;
    let rest: String = line.chars().skip(start.col - 1).collect();
    match rest.chars().next()? {
        style @ ('|' | '>') => block(text, start.line, style == '>', offset),
        quote @ ('"' | '\'') => flow(text, (start.line, start.col + 1), Some(quote), offset),
        _ => flow(text, (start.line, start.col), None, offset),
    }
}

/// In a block whose head stands on line `head`.
fn block(text: &str, head: usize, folded: bool, offset: usize) -> Option<(usize, usize)> {
    let lines: Vec<(usize, &str)> = text.lines().enumerate().skip(head).collect();
    let indent =
        lines.iter().find(|(_, l)| !l.trim().is_empty()).map(|(_, l)| l.len() - l.trim_start().len())?;
    let mut left = offset;
    for (at, (i, l)) in lines.iter().enumerate() {
        let blank = l.trim().is_empty();
        let length = l.chars().count().saturating_sub(indent);
        if !blank && left < length {
            return Some((i + 1, indent + left + 1));
        }
        // Of the breaks around blank lines, folding drops the first.
        let before_blank =
            folded && !blank && lines.get(at + 1).is_some_and(|(_, next)| next.trim().is_empty());
        left = left.checked_sub(length + usize::from(!before_blank))?;
    }
    None
}

/// In a plain or quoted text, whose lines are folded.
fn flow(
    text: &str,
    (line, col): (usize, usize),
    quote: Option<char>,
    offset: usize,
) -> Option<(usize, usize)> {
    let (mut at, mut left) = ((line, col), offset);
    let mut lines = text.lines().skip(line - 1);
    let mut chars: Vec<char> = lines.next()?.chars().collect();
    let mut i = col - 1;
    loop {
        let end = chars.iter().rposition(|c| !c.is_whitespace()).map_or(0, |n| n + 1);
        if i >= end {
            // A break is a blank, unless blank lines follow.
            let next: Vec<char> = lines.next()?.chars().collect();
            let begin = next.iter().position(|c| !c.is_whitespace()).unwrap_or(next.len());
            if left == 0 {
                return Some(at);
            }
            left -= 1;
            at = (at.0 + 1, begin + 1);
            (chars, i) = (next, begin);
            continue;
        }
        at.1 = i + 1;
        if left == 0 {
            return Some(at);
        }
        let escape = match (quote, chars.get(i), chars.get(i + 1)) {
            (Some('"'), Some('\\'), _) | (Some('\''), Some('\''), Some('\'')) => 2,
            (Some(q), Some(c), _) if q == *c => return None,
            _ => 1,
        };
        i += escape;
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_document::yaml_value;
    use ephor_value::place::parse;

    #[test]
    fn each_character_of_a_text_is_found_however_it_is_written() {
        for text in [
            "a: b zz c\n",
            "a: 'b ''q'' zz'\n",
            "a: \"b \\\"q\\\" zz\"\n",
            "a: b\n  c\n  zz\n",
            "a: \"b\n  c zz\"\n",
            "a: |\n  b\n\n  c zz\n",
            "a: >-\n  b\n  c\n\n  d zz\n",
            "x: 1\na: >\n    b c d\n    zz\n",
        ] {
            let value = yaml_value(text).unwrap_or_default();
            let written = value.text_at(&["a"]);
            let offset = written.find("zz").map(|b| written[..b].chars().count()).unwrap_or_default();
            let found = Lookup::default().inside(text, &parse("a"), offset, 2);
            let line = text.lines().position(|l| l.contains("zz")).unwrap_or_default();
            let col = text.lines().nth(line).and_then(|l| l.find("zz")).unwrap_or_default();
            assert_eq!(found, Some(Position { line: line + 1, col: col + 1, len: 2 }), "{text}");
        }
    }
}
