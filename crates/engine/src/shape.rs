//! Running shapes: does a document look like a pattern?
//!
//! In: a pattern and a value. Out: a verdict; for everything but a pass a `ShapeMismatch` that
//! knows the path and builds its text only when it is read. Most checks pass, so nothing is
//! allocated before something fails. The semantics' source is `docs/semantics/patterns.md`.

use std::fmt::Write;

use ephor_ir::pattern::Leaf;
use ephor_ir::shape::{Anchor, Entry, ListShape, MapShape, Pattern, Shape, type_name};
use ephor_value::print::write_display;
use ephor_value::{Map, Value, budget};

use super::leaf;

/// The result of a pattern.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// The document looks like the pattern.
    Pass,
    /// An anchor says that the pattern does not apply.
    Skip(Reason<'a>),
    /// The document differs at a path.
    Fail {
        /// `/spec/containers/0/image/`; empty when an anchor was never met.
        path: String,
        /// What differs.
        why: Reason<'a>,
    },
}

/// The reason of an outcome; its text is built when it is read.
#[derive(Debug)]
pub struct Reason<'a>(Box<ShapeMismatch<'a>>);

impl Reason<'_> {
    /// The text, as messages show it.
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// The path at which the document differs, `/spec/containers/0/image/`.
    pub fn path(&self) -> &str {
        &self.0.path
    }
}

/// A step of a path.
#[derive(Clone, Copy, Debug)]
enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

/// Where a check stands: a list linked towards the root, on the stack.
#[derive(Clone, Copy)]
struct Place<'p, 'a> {
    step: Option<PathStep<'a>>,
    parent: Option<&'p Place<'p, 'a>>,
}

impl<'p, 'a> Place<'p, 'a> {
    const ROOT: Place<'static, 'static> = Place { step: None, parent: None };

    fn key(&'p self, key: &'a str) -> Place<'p, 'a> {
        Place { step: Some(PathStep::Key(key)), parent: Some(self) }
    }

    fn index(&'p self, index: usize) -> Place<'p, 'a> {
        Place { step: Some(PathStep::Index(index)), parent: Some(self) }
    }

    fn text(&self) -> String {
        let mut out = String::with_capacity(64);
        out.push('/');
        self.write(&mut out);
        out
    }

    /// Appends the steps; patterns limit how many there can be.
    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            None => return,
            Some(PathStep::Key(k)) => out.push_str(k),
            Some(PathStep::Index(i)) => {
                let _ = write!(out, "{i}");
            }
        }
        out.push('/');
    }
}

/// Why a document does not look like a pattern.
#[derive(Debug)]
struct ShapeMismatch<'a> {
    path: String,
    kind: Kind<'a>,
}

#[derive(Debug)]
enum Kind<'a> {
    Scalar { value: &'a Value, pattern: &'a Value },
    Structure { found: &'static str },
    NotAList,
    EmptyPattern,
    Length { found: usize, wanted: usize },
    NoKey { key: &'a str },
    Negated,
    Existence,
    NotAListToSearch { found: &'static str },
    PatternNotAList { found: &'static str },
    PatternItemNotAMap,
    Condition(Option<Box<ShapeMismatch<'a>>>),
    Global(Box<ShapeMismatch<'a>>),
    Skipped(Vec<ShapeMismatch<'a>>),
    TooDeep,
    Owned(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Caused by a condition or global anchor.
    Skip,
    /// Caused by a map or list all of whose parts were skipped.
    WrappedSkip,
    Negation,
    Plain,
}

impl ShapeMismatch<'_> {
    fn class(&self) -> Class {
        match &self.kind {
            Kind::Condition(_) | Kind::Global(_) => Class::Skip,
            Kind::Skipped(_) => Class::WrappedSkip,
            Kind::Negated => Class::Negation,
            _ => Class::Plain,
        }
    }

    fn skips(&self) -> bool {
        matches!(self.class(), Class::Skip | Class::WrappedSkip)
    }

    fn text(&self) -> String {
        let path = &self.path;
        match &self.kind {
            Kind::Scalar { value, pattern } => {
                let mut out = String::from("resource value '");
                write_display(&mut out, value);
                out.push_str("' does not match '");
                write_display(&mut out, pattern);
                let _ = write!(out, "' at path {path}");
                out
            }
            Kind::Structure { found } => format!(
                "pattern and resource have different structures. Path: {path}. Expected map[string]interface {{}}, found {found}"
            ),
            Kind::NotAList => format!(
                "validation rule failed at path {path}, resource does not satisfy the expected overlay pattern"
            ),
            Kind::EmptyPattern => "pattern Array empty".into(),
            Kind::Length { found, wanted } => format!(
                "validate Array failed, array length mismatch, resource Array len is {found} and pattern Array len is {wanted}"
            ),
            Kind::NoKey { key } => format!("{path}/{key} not found"),
            Kind::Negated => format!("negation anchor matched in resource: {path} is not allowed"),
            Kind::Existence => format!("existence anchor validation failed at path {path}"),
            Kind::NotAListToSearch { found } => format!(
                "invalid resource type {found}: Existence ^ () anchor can be used only on list/array type resource"
            ),
            Kind::PatternNotAList { found } => {
                format!("invalid pattern type {found}: Pattern has to be of list to compare against resource")
            }
            // The type is the list's, not the element's.
            Kind::PatternItemNotAMap => "invalid pattern type []interface {}: Pattern has to be of type map to compare against items in resource".into(),
            Kind::Condition(None) => {
                "conditional anchor mismatch: conditional anchor key doesn't exist in the resource".into()
            }
            Kind::Condition(Some(inner)) => format!("conditional anchor mismatch: {}", inner.text()),
            Kind::Global(inner) => format!("global anchor mismatch: {}", inner.text()),
            Kind::Skipped(parts) => parts.iter().map(ShapeMismatch::text).collect::<Vec<_>>().join("; "),
            Kind::TooDeep => format!("failed at '{path}', pattern contains unknown type"),
            Kind::Owned(text) => text.clone(),
        }
    }

    /// The same failure without references.
    fn owned<'b>(self) -> ShapeMismatch<'b> {
        let class = self.class();
        let text = self.text();
        let path = self.path;
        let plain = |text| Box::new(ShapeMismatch { path: String::new(), kind: Kind::Owned(text) });
        let kind = match (class, self.kind) {
            (Class::Skip, Kind::Condition(None)) => Kind::Condition(None),
            (Class::Skip, Kind::Condition(Some(inner))) => Kind::Condition(Some(plain(inner.text()))),
            (Class::Skip, Kind::Global(inner)) => Kind::Global(plain(inner.text())),
            (Class::WrappedSkip, _) => {
                Kind::Skipped(vec![ShapeMismatch { path: String::new(), kind: Kind::Owned(text) }])
            }
            (Class::Negation, _) => Kind::Negated,
            _ => Kind::Owned(text),
        };
        ShapeMismatch { path, kind }
    }
}

type Checked<'a> = Result<(), Box<ShapeMismatch<'a>>>;

fn fail<'a>(place: &Place<'_, 'a>, kind: Kind<'a>) -> Checked<'a> {
    Err(Box::new(ShapeMismatch { path: place.text(), kind }))
}

/// Compares `value` with `pattern`.
pub fn run<'a>(pattern: &'a Pattern, value: &'a Value) -> Outcome<'a> {
    let mut met = MetAnchors { anchors: vec![None; pattern.anchors as usize] };
    let Err(failure) = check(&pattern.root, value, &Place::ROOT, &mut met) else { return Outcome::Pass };
    if failure.skips() {
        return Outcome::Skip(Reason(failure));
    }
    let unmet = failure.class() != Class::Negation && met.anchors.contains(&Some(false));
    let path = if unmet { String::new() } else { failure.path.clone() };
    Outcome::Fail { path, why: Reason(failure) }
}

/// Which anchors that must be met were met: `None` = the pattern never came so far.
struct MetAnchors {
    anchors: Vec<Option<bool>>,
}

impl MetAnchors {
    fn record(&mut self, shape: &MapShape, map: &Map) {
        if self.anchors.is_empty() {
            return;
        }
        for entry in shape.entries.iter().take(shape.first) {
            let Some(slot) = entry.counted.and_then(|n| self.anchors.get_mut(n as usize)) else { continue };
            if *slot != Some(true) {
                *slot = Some(map.contains_key(&entry.key));
            }
        }
    }
}

fn check<'a>(shape: &'a Shape, value: &'a Value, place: &Place<'_, 'a>, met: &mut MetAnchors) -> Checked<'a> {
    match shape {
        Shape::Leaf(leaf) => check_leaf(leaf, value, place),
        Shape::Map(map) => check_map(map, value, place, met),
        Shape::List(list) => check_list(list, value, place, met),
    }
}

fn check_leaf<'a>(leaf: &'a Leaf, value: &'a Value, place: &Place<'_, 'a>) -> Checked<'a> {
    let matched = match value {
        Value::List(items) => items.iter().all(|item| budget::spend_step() && leaf::matches(leaf, item)),
        value => leaf::matches(leaf, value),
    };
    if matched { Ok(()) } else { fail(place, Kind::Scalar { value, pattern: &leaf.source }) }
}

fn check_map<'a>(
    shape: &'a MapShape,
    value: &'a Value,
    place: &Place<'_, 'a>,
    met: &mut MetAnchors,
) -> Checked<'a> {
    if shape.expand {
        super::trace::note(shape);
    }
    let Value::Map(map) = value else {
        return fail(place, Kind::Structure { found: type_name(value) });
    };
    if shape.expand {
        return match ephor_pattern::expand_keys(shape, map) {
            Some(expanded) => check_entries(&expanded, map, place, met).map_err(|f| Box::new(f.owned())),
            None => fail(place, Kind::TooDeep),
        };
    }
    check_entries(shape, map, place, met)
}

fn check_entries<'b, 'a: 'b>(
    shape: &'b MapShape,
    map: &'a Map,
    place: &Place<'_, 'b>,
    met: &mut MetAnchors,
) -> Checked<'b> {
    met.record(shape, map);
    let (first, second) = shape.entries.split_at(shape.first.min(shape.entries.len()));
    let mut applied = false;
    let mut skipped: Vec<ShapeMismatch<'b>> = Vec::new();
    for entry in first {
        match check_anchored(entry, map, place, met) {
            Ok(()) => applied = true,
            Err(f) if f.skips() => skipped.push(*f),
            Err(_) if skipped.iter().any(|s| s.class() == Class::Skip) => {}
            Err(f) => return Err(f),
        }
    }
    if !skipped.is_empty() && (!applied || skipped.iter().any(|s| s.class() == Class::Skip)) {
        return Err(Box::new(ShapeMismatch { path: place.text(), kind: Kind::Skipped(skipped) }));
    }
    second.iter().try_for_each(|entry| check_plain(entry, map, place, met))
}

const NULL: Value = Value::Null;

fn check_anchored<'b, 'a: 'b>(
    entry: &'b Entry,
    map: &'a Map,
    place: &Place<'_, 'b>,
    met: &mut MetAnchors,
) -> Checked<'b> {
    let inner = place.key(&entry.key);
    let Some(value) = map.get(&entry.key) else {
        return match entry.anchor {
            Anchor::Condition => fail(&inner, Kind::Condition(None)),
            _ => Ok(()),
        };
    };
    match entry.anchor {
        Anchor::Condition => check(&entry.shape, value, &inner, met).map_err(|f| {
            let path = f.path.clone();
            Box::new(ShapeMismatch { path, kind: Kind::Condition(Some(f)) })
        }),
        Anchor::Negation => fail(&inner, Kind::Negated),
        Anchor::Existence => check_existence(&entry.shape, value, &inner, met),
        _ => check(&entry.shape, value, &inner, met),
    }
}

fn check_plain<'b, 'a: 'b>(
    entry: &'b Entry,
    map: &'a Map,
    place: &Place<'_, 'b>,
    met: &mut MetAnchors,
) -> Checked<'b> {
    let inner = place.key(if entry.anchor == Anchor::AddIfAbsent { &entry.raw } else { &entry.key });
    match entry.anchor {
        Anchor::Global => {
            let Some(value) = map.get(&entry.key) else { return Ok(()) };
            check(&entry.shape, value, &inner, met).map_err(|f| {
                let path = f.path.clone();
                Box::new(ShapeMismatch { path, kind: Kind::Global(f) })
            })
        }
        _ => {
            let key = if entry.anchor == Anchor::AddIfAbsent { &entry.raw } else { &entry.key };
            let value = map.get(key).unwrap_or(&NULL);
            if let Shape::Leaf(leaf) = &entry.shape
                && leaf.source.as_str() == Some("*")
            {
                return if value.is_null() { fail(place, Kind::NoKey { key }) } else { Ok(()) };
            }
            check(&entry.shape, value, &inner, met)
        }
    }
}

/// For each pattern of the list some element must match without any failure.
fn check_existence<'b, 'a: 'b>(
    shape: &'b Shape,
    value: &'a Value,
    place: &Place<'_, 'b>,
    met: &mut MetAnchors,
) -> Checked<'b> {
    let Value::List(items) = value else {
        return fail(place, Kind::NotAListToSearch { found: type_name(value) });
    };
    let wanted = match shape {
        Shape::List(list) => list.existence(),
        Shape::Leaf(leaf) => {
            return fail(place, Kind::PatternNotAList { found: type_name(&leaf.source) });
        }
        Shape::Map(m) => return fail(place, Kind::PatternNotAList { found: type_name(&m.source) }),
    };
    for pattern in wanted {
        let Some(pattern) = pattern else { return fail(place, Kind::PatternItemNotAMap) };
        let found = budget::any(items.iter().enumerate(), |(i, item)| {
            check_map(pattern, item, &place.index(i), met).is_ok()
        });
        if !found {
            return fail(place, Kind::Existence);
        }
    }
    Ok(())
}

fn check_list<'a>(
    shape: &'a ListShape,
    value: &'a Value,
    place: &Place<'_, 'a>,
    met: &mut MetAnchors,
) -> Checked<'a> {
    let Value::List(items) = value else { return fail(place, Kind::NotAList) };
    let items: &'a [Value] = items;
    match shape {
        ListShape::Empty(_) => fail(place, Kind::EmptyPattern),
        ListShape::Scalars(leaf, _) => {
            if items.iter().all(|item| budget::spend_step() && leaf::matches(leaf, item)) {
                return Ok(());
            }
            fail(place, Kind::Scalar { value, pattern: &leaf.source })
        }
        ListShape::Each(map, _) => each(items.len(), place, |i| {
            items.get(i).map_or(Ok(()), |item| check_map(map, item, &place.index(i), met))
        }),
        ListShape::Positions(shapes) => {
            if items.len() < shapes.len() {
                let kind = Kind::Length { found: items.len(), wanted: shapes.len() };
                return Err(Box::new(ShapeMismatch { path: String::new(), kind }));
            }
            each(shapes.len(), place, |i| match (shapes.get(i), items.get(i)) {
                (Some(shape), Some(item)) => check(shape, item, &place.index(i), met),
                _ => Ok(()),
            })
        }
    }
}

/// Checks elements; skipped ones are left out unless none is left.
fn each<'a>(count: usize, place: &Place<'_, 'a>, mut one: impl FnMut(usize) -> Checked<'a>) -> Checked<'a> {
    let mut matched = false;
    let mut skipped = Vec::new();
    for i in 0..count {
        if !budget::spend_step() {
            // The result counts for nothing.
            break;
        }
        match one(i) {
            Ok(()) => matched = true,
            Err(f) if f.skips() => skipped.push(*f),
            Err(f) => return Err(f),
        }
    }
    if !matched && !skipped.is_empty() {
        return Err(Box::new(ShapeMismatch { path: place.text(), kind: Kind::Skipped(skipped) }));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
