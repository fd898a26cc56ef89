//! Shapes: overlay patterns, lowered.
//!
//! A shape says what a document must look like. Keys are sorted into the order in which they are
//! checked, anchors are separated, leaves are compiled. Running a shape gives a verdict with the
//! path that failed (`engine::shape`).

use serde::{Deserialize, Serialize};

use ephor_value::{Str, Value};

use super::pattern::Leaf;

/// A whole pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
pub struct Pattern {
    /// As written.
    pub source: Value,
    /// Its root.
    pub root: Shape,
    /// How many different anchor texts of the counting kinds it holds; see [`Entry::counted`].
    pub anchors: u32,
}

super::nested::node!(Pattern, 64, Pattern::with_sources);

/// A pattern whose source is not its own.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a pattern has the source of another one")]
struct ForeignSource;

impl Pattern {
    /// A pattern that was read, with the source of each object, which is written once for the
    /// whole.
    ///
    /// # Errors
    /// The source is of another pattern.
    fn with_sources(mut self) -> Result<Pattern, ForeignSource> {
        let mut counted = 0;
        let fits = self.root.take_source(&self.source, self.anchors, &mut counted);
        if fits && self.anchors <= counted { Ok(self) } else { Err(ForeignSource) }
    }
}

/// What a value must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub enum Shape {
    /// A scalar.
    Leaf(Box<Leaf>),
    /// An object.
    Map(Box<MapShape>),
    /// A list.
    List(ListShape),
}

super::nested::node!(Shape, 260);

/// What an object must look like.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MapShape {
    /// The keys; first those with anchors that are checked first, then the others, each group in
    /// the order in which it is checked.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub entries: Box<[Entry]>,
    /// How many entries belong to the first group.
    pub first: usize,
    /// Labels or annotations whose keys hold wildcards, or that hold other values than strings:
    /// rebuilt for each resource.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub expand: bool,
    /// The pattern as written, for rebuilding and for messages.
    #[serde(skip)]
    pub source: Value,
}

/// A key of an object pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The key without its anchor.
    pub key: Str,
    /// The key as written.
    pub raw: Str,
    /// The anchor.
    pub anchor: Anchor,
    /// Number of this anchor text in the table of anchors that must be met; conditions and
    /// existence anchors only.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub counted: Option<u32>,
    /// What the value must look like.
    pub shape: Shape,
}

impl Shape {
    /// Gives each object its part of the source; says whether they fit. `counted` grows by the
    /// anchors that are counted.
    fn take_source(&mut self, source: &Value, anchors: u32, counted: &mut u32) -> bool {
        match (self, source) {
            (Shape::Leaf(leaf), source) => leaf.source == *source,
            (Shape::Map(map), source) => map.take_source(source, anchors, counted),
            (Shape::List(list), Value::List(items)) => list.take_source(items, anchors, counted),
            (Shape::List(_), _) => false,
        }
    }
}

impl MapShape {
    fn take_source(&mut self, source: &Value, anchors: u32, counted: &mut u32) -> bool {
        let Value::Map(map) = source else { return false };
        self.source = source.clone();
        let mut fits = |e: &mut Entry| {
            *counted += u32::from(e.counted.is_some());
            let numbered = e.counted.is_none_or(|n| n < anchors);
            numbered && map.get(&e.raw).is_some_and(|v| e.shape.take_source(v, anchors, counted))
        };
        self.first <= self.entries.len()
            && map.len() == self.entries.len()
            && self.entries.iter_mut().all(&mut fits)
    }
}

impl ListShape {
    fn take_source(&mut self, items: &[Value], anchors: u32, counted: &mut u32) -> bool {
        let mut fits = |rest: &mut [Option<MapShape>]| {
            let rest_fits = |(shape, v): (&mut Option<MapShape>, &Value)| match shape {
                Some(map) => map.take_source(v, anchors, counted),
                None => !matches!(v, Value::Map(_)),
            };
            rest.len() + 1 == items.len() && rest.iter_mut().zip(items.iter().skip(1)).all(rest_fits)
        };
        match (self, items) {
            (ListShape::Empty(_), items) => items.is_empty(),
            (ListShape::Each(map, rest), [first, ..]) => {
                fits(rest) && map.take_source(first, anchors, counted)
            }
            (ListShape::Scalars(leaf, rest), [first, ..]) => fits(rest) && leaf.source == *first,
            (ListShape::Positions(shapes), items) => {
                shapes.len() == items.len()
                    && shapes.iter_mut().zip(items).all(|(s, v)| s.take_source(v, anchors, counted))
            }
            _ => false,
        }
    }
}

/// Anchors of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// The elements of a pattern list as an existence anchor reads them: an object each, or nothing
    /// where something else stands.
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
