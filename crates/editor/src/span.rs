//! Parts of a text, and changes of them.

/// A part of a text, in bytes of UTF-8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
}

impl Span {
    /// An empty part.
    pub fn at(offset: usize) -> Span {
        Span { start: offset, end: offset }
    }

    /// The part of this length.
    pub fn of(start: usize, length: usize) -> Span {
        Span { start, end: start.saturating_add(length) }
    }

    /// Whether it has the byte, or ends before it: a cursor behind a word is at the word.
    pub fn touches(self, offset: usize) -> bool {
        self.start <= offset && offset <= self.end
    }

    /// Whether both have a byte, or a border, in common.
    pub fn meets(self, other: Span) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// The same part of a text that begins at a byte of another text.
    #[must_use]
    pub fn moved(self, by: usize) -> Span {
        Span { start: self.start.saturating_add(by), end: self.end.saturating_add(by) }
    }
}

/// A text that takes the place of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The part that is replaced.
    pub span: Span,
    /// What is written there.
    pub text: String,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: std::sync::Arc<str>,
    /// The part.
    pub span: Span,
}
