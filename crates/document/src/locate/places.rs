//! Where all parts of a document stand, for callers that need many places: the text is read once.
//!
//! In: the text of a document. Out: [`Places`], which give what [`locate`](super::locate) and
//! [`locate_key`](super::locate_key) give.

use std::collections::HashMap;

use super::{EventData, Mark, Parser, Position, Scalar, position, resolve_plain};
use ephor_value::place::PathPart;

/// See the module page.
#[derive(Clone, Debug, Default)]
pub struct Places(HashMap<String, FoundPart>);

#[derive(Clone, Copy, Debug)]
struct FoundPart {
    key: Position,
    value: Position,
    /// Whether what is below it stands elsewhere.
    is_alias: bool,
}

/// A collection that is open.
struct Level {
    /// Its path; `None` below a key that is no scalar.
    path: Option<String>,
    kind: LevelKind,
}

enum LevelKind {
    Seq(usize),
    Map(Option<PendingKey>),
}

/// A key that has been read: its names, and where it stands.
struct PendingKey {
    names: Vec<String>,
    start: Mark,
    end: Mark,
}

impl Places {
    /// Reads a document, as far as it is YAML.
    pub fn of(text: &str) -> Places {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut out = Places::default();
        let Ok(mut parser) = Parser::new(text) else { return out };
        let mut stack: Vec<Level> = Vec::new();
        while let Ok(event) = parser.next() {
            let (is_scalar, is_alias) = match &event.data {
                EventData::DocumentStart => continue,
                EventData::DocumentEnd | EventData::StreamEnd => break,
                EventData::SeqEnd | EventData::MapEnd => {
                    stack.pop();
                    continue;
                }
                EventData::Scalar { .. } => (true, false),
                EventData::Alias(_) => (true, true),
                EventData::SeqStart(_) | EventData::MapStart(_) => (false, false),
            };
            let kind = match event.data {
                EventData::SeqStart(_) => Some(LevelKind::Seq(0)),
                EventData::MapStart(_) => Some(LevelKind::Map(None)),
                _ => None,
            };
            let (names, key) = match stack.last_mut() {
                None => (vec![String::new()], None),
                Some(Level { path, kind: LevelKind::Seq(next) }) => {
                    let name = path.as_ref().map(|path| format!("{path}\u{1}{next}"));
                    *next += 1;
                    (name.into_iter().collect(), None)
                }
                Some(Level { path, kind: LevelKind::Map(key) }) => match key.take() {
                    None => {
                        let names = match path {
                            Some(path) => names(path, &event.data),
                            None => Vec::new(),
                        };
                        *key = Some(PendingKey { names, start: event.start, end: event.end });
                        stack.extend(kind.map(|kind| Level { path: None, kind }));
                        continue;
                    }
                    Some(key) => (key.names.clone(), Some(key)),
                },
            };
            let value = position(text, event.start, is_scalar.then_some(event.end));
            let key = key.map_or(value, |key| position(text, key.start, Some(key.end)));
            for name in &names {
                // Of equal keys the first counts.
                out.0.entry(name.clone()).or_insert(FoundPart { key, value, is_alias });
            }
            stack.extend(kind.map(|kind| Level { path: names.into_iter().next(), kind }));
        }
        out
    }

    /// As [`locate`](super::locate).
    pub fn locate(&self, path: &[PathPart]) -> Option<Position> {
        self.find(path, |place| place.value)
    }

    /// As [`locate_key`](super::locate_key).
    pub fn locate_key(&self, path: &[PathPart]) -> Option<Position> {
        self.find(path, |place| place.key)
    }

    fn find(&self, path: &[PathPart], which: fn(&FoundPart) -> Position) -> Option<Position> {
        let mut name = String::new();
        for depth in 0..=path.len() {
            let found = self.0.get(&name);
            if let Some(found) = found.filter(|found| found.is_alias || depth == path.len()) {
                return Some(which(found));
            }
            match path.get(depth)? {
                PathPart::Key(key) => name.push_str(&format!("\u{0}{key}")),
                PathPart::Index(index) => name.push_str(&format!("\u{1}{index}")),
            }
        }
        None
    }
}

/// The names of the value of a key.
fn names(path: &str, key: &EventData<'_>) -> Vec<String> {
    let EventData::Scalar { value, plain, .. } = key else { return Vec::new() };
    let mut out = vec![format!("{path}\u{0}{value}")];
    if let (true, Scalar::Bool(set)) = (*plain, resolve_plain(value)) {
        out.push(format!("{path}\u{0}{set}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{locate, locate_key};
    use super::*;
    use ephor_value::place::parse;

    #[test]
    fn every_place_is_that_of_reading_again() {
        let text = "\u{feff}a:\n  - b: &x {c: [1, \"é\"], d: |\n      t\n    }\n  - *x\non: {y: 'z'}\n? [k]\n: v\na: twice\n? {q: r}\n: {s: t}\n";
        let places = Places::of(text);
        for path in [
            "",
            "a",
            "a[0]",
            "a[0].b",
            "a[0].b.c",
            "a[0].b.c[1]",
            "a[0].b.d",
            "a[1]",
            "a[1].c",
            "a[1].c[0]",
            "on",
            "true",
            "true.y",
            "on.y",
            "on.true",
            "k",
            "a[2]",
            "nothing",
            "q",
            "s",
            "a[0].b.c[7]",
        ] {
            let path = parse(path);
            assert_eq!(places.locate(&path), locate(text, &path), "{path:?}");
            assert_eq!(places.locate_key(&path), locate_key(text, &path), "{path:?}");
        }
    }

    #[test]
    fn what_is_read_before_a_mistake_has_places() {
        let text = "a: b\nc: [d\n";
        assert_eq!(Places::of(text).locate(&parse("a")), locate(text, &parse("a")));
        assert_eq!(Places::of(text).locate(&parse("e")), None);
    }
}
