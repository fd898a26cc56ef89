//! Shapes: overlay patterns, lowered.
//!
//! A shape says what a document must look like. Keys are sorted into the order in which they are
//! checked, anchors are told apart, leaves are compiled. Running a shape gives a verdict with the
//! path that failed (`engine::shape`).

use crate::value::{Str, Value};

use super::pattern::Leaf;

/// A whole pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// Its root.
    pub root: Shape,
    /// How many different anchor texts of the counting kinds it holds; see [`Entry::counted`].
    pub anchors: u32,
}

/// What a value must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A scalar.
    Leaf(Box<Leaf>),
    /// An object.
    Map(Box<MapShape>),
    /// A list.
    List(ListShape),
}

/// What an object must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapShape {
    /// The keys; first those with anchors that are checked first, then the others, each group in
    /// the order in which it is checked.
    pub entries: Box<[Entry]>,
    /// How many entries belong to the first group.
    pub first: usize,
    /// Labels or annotations whose keys hold wildcards, or that hold other values than strings:
    /// rebuilt for each resource.
    pub expand: bool,
    /// The pattern as written, for rebuilding and for messages.
    pub source: Value,
}

/// A key of an object pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    /// The key without its anchor.
    pub key: Str,
    /// The key as written.
    pub raw: Str,
    /// The anchor.
    pub anchor: Anchor,
    /// Number of this anchor text in the table of anchors that must be met; conditions and
    /// existence anchors only.
    pub counted: Option<u32>,
    /// What the value must look like.
    pub shape: Shape,
}

/// Anchors of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Anchor {
    /// No anchor.
    None,
    /// `(k)`
    Condition,
    /// `<(k)`
    Global,
    /// `=(k)`
    Equality,
    /// `^(k)`
    Existence,
    /// `X(k)`
    Negation,
    /// `+(k)`, which has a meaning in mutation only.
    AddIfAbsent,
}

/// What a list must look like; the first element of the pattern decides.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListShape {
    /// An empty pattern list, which nothing satisfies.
    Empty(Value),
    /// Every element looks like this object; only an existence anchor reads the elements after it.
    Each(Box<MapShape>, Box<[Option<MapShape>]>),
    /// Every element looks like this scalar; only an existence anchor reads the elements after it.
    Scalars(Box<Leaf>, Box<[Option<MapShape>]>),
    /// Position by position.
    Positions(Box<[Shape]>),
}

impl ListShape {
    /// The elements of a pattern list as an existence anchor reads them: an object each, or nothing where
    /// something else stands.
    pub fn existence(&self) -> impl Iterator<Item = Option<&MapShape>> {
        let (first, rest, shapes): (Option<Option<&MapShape>>, &[Option<MapShape>], &[Shape]) = match self {
            ListShape::Empty(_) => (None, &[], &[]),
            ListShape::Each(map, rest) => (Some(Some(map)), rest, &[]),
            ListShape::Scalars(_, rest) => (Some(None), rest, &[]),
            ListShape::Positions(shapes) => (None, &[], shapes),
        };
        let objects = shapes.iter().map(|shape| match shape {
            Shape::Map(map) => Some(&**map),
            _ => None,
        });
        first.into_iter().chain(rest.iter().map(Option::as_ref)).chain(objects)
    }
}

impl Anchor {
    /// Splits a key into its anchor and what is inside; blanks around the text do not count.
    pub fn parse(raw: &str) -> (Anchor, &str) {
        let text = raw.trim();
        let (anchor, rest) = match text.as_bytes().first() {
            Some(b'(') => (Anchor::Condition, text),
            Some(b'<') => (Anchor::Global, &text[1..]),
            Some(b'=') => (Anchor::Equality, &text[1..]),
            Some(b'^') => (Anchor::Existence, &text[1..]),
            Some(b'X') => (Anchor::Negation, &text[1..]),
            Some(b'+') => (Anchor::AddIfAbsent, &text[1..]),
            _ => return (Anchor::None, raw),
        };
        match rest.strip_prefix('(').and_then(|r| r.strip_suffix(')')) {
            Some(inner) if !inner.is_empty() => (anchor, inner),
            _ => (Anchor::None, raw),
        }
    }

    /// The text before the parenthesis.
    pub fn prefix(self) -> &'static str {
        match self {
            Anchor::None | Anchor::Condition => "",
            Anchor::Global => "<",
            Anchor::Equality => "=",
            Anchor::Existence => "^",
            Anchor::Negation => "X",
            Anchor::AddIfAbsent => "+",
        }
    }
}

/// The type name that messages use for a value.
pub fn type_name(v: &Value) -> &'static str {
    match v {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::UInt(_) => "uint64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        other => other.json_type(),
    }
}
