//! Places in a document: the keys and indices that lead from the root to a part of it.
//!
//! Findings of the schema check and of the policy check keep their place as data, so that a caller
//! who has the source text can show file, line and column.

use std::fmt::{self, Display, Write};

use super::{Str, Value};

/// One step into a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// A member of an object.
    Key(Str),
    /// An item of a list.
    Index(usize),
}

/// A place in a document, from the root.
pub type Path = Vec<PathPart>;

/// The path as people write it: `spec.rules[0].name`.
pub fn dotted(path: &[PathPart]) -> String {
    Dotted(path).to_string()
}

struct Dotted<'a>(&'a [PathPart]);

impl Display for Dotted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            match part {
                PathPart::Key(key) => {
                    if i > 0 {
                        f.write_char('.')?;
                    }
                    f.write_str(key)?;
                }
                PathPart::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Reads a path in the form of [`dotted`]; what is no index is a key.
pub fn parse(text: &str) -> Path {
    let mut path = Path::new();
    for piece in text.split('.').filter(|p| !p.is_empty()) {
        let mut parts = piece.split('[');
        if let Some(key) = parts.next().filter(|k| !k.is_empty()) {
            path.push(PathPart::Key(key.into()));
        }
        path.extend(parts.map(|part| match part.trim_end_matches(']').parse() {
            Ok(index) => PathPart::Index(index),
            Err(_) => PathPart::Key(part.into()),
        }));
    }
    path
}

/// The part of `document` at `path`, or at the longest beginning of it that exists.
pub fn follow<'v>(document: &'v Value, path: &[PathPart]) -> (&'v Value, usize) {
    let mut at = document;
    for (depth, part) in path.iter().enumerate() {
        let next = match part {
            PathPart::Key(key) => at.get(key),
            PathPart::Index(index) => at.as_list().and_then(|items| items.get(*index)),
        };
        match next {
            Some(value) => at = value,
            None => return (at, depth),
        }
    }
    (at, path.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_path_reads_back() {
        for text in ["spec.rules[0].match.any[1].resources", "", "a", "spec[0][1].x"] {
            assert_eq!(dotted(&parse(text)), text);
        }
    }
}
