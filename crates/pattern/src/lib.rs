//! Overlay patterns: a pattern document → a [`Pattern`] of the IR.
//!
//! In: the document of a `pattern`, an item of `anyPattern`, or either after its variables were
//! filled in. Out: shapes with keys in checking order and compiled leaves. The semantics' source is
//! `docs/semantics/patterns.md`.
//!
//! - [`layer`]: documents to be laid over objects: anchors separated, conditions compiled
//! - [`strip`]: cleaning a layer once its anchors are decided
#![forbid(unsafe_code)]

pub mod layer;
pub mod strip;

use std::collections::HashMap;

use ephor_ir::pattern::Leaf;
use ephor_ir::shape::{Anchor, Entry, ListShape, MapShape, Pattern, Shape};
use ephor_value::{Map, Str, Value, wildcard};

/// Documents nested deeper than this are refused by everything that recurses.
pub(crate) const MAX_DEPTH: usize = 256;

/// Lowers a pattern document; `None` when it nests too deeply.
pub fn lower(document: &Value) -> Option<Pattern> {
    let mut lowering = Lowering { anchors: HashMap::new() };
    let root = lowering.shape(document, 0)?;
    let anchors = u32::try_from(lowering.anchors.len()).unwrap_or(u32::MAX);
    Some(Pattern { source: document.clone(), root, anchors })
}

/// Rebuilds the pattern of labels or annotations for the labels or annotations of one object: only
/// entries with string values stay, keys with wildcards become the smallest key they match.
pub fn expand_keys(shape: &MapShape, object: &Map) -> Option<MapShape> {
    let source = shape.source.as_map()?;
    let mut entries = Map::new();
    let mut numbers = HashMap::new();
    for (raw, value) in source.sorted() {
        if value.as_str().is_none() {
            continue;
        }
        let (anchor, key) = Anchor::parse(raw);
        let mut name = raw.clone();
        if wildcard::has_wildcard(key) {
            let found = object
                .sorted()
                .into_iter()
                .find(|(k, v)| v.as_str().is_some() && wildcard::matches(key, k))
                .map(|(k, _)| k.clone());
            if let Some(found) = found {
                name = match anchor {
                    Anchor::None => found,
                    anchor => format!("{}({found})", anchor.prefix()).into(),
                };
            }
        }
        if let Some(number) = shape.entries.iter().find(|e| e.raw == *raw).and_then(|e| e.counted) {
            numbers.insert(name.clone(), number);
        }
        entries.insert(name, value.clone());
    }
    let mut lowering = Lowering { anchors: numbers };
    lowering.map(&entries, 0, Keys::Plain)
}

/// What the keys of an object pattern are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    Plain,
    /// Fields of `metadata`: the keys below `labels` and `annotations` may hold wildcards.
    Metadata,
    /// Labels or annotations.
    Labels,
}

/// Each part of the document is lowered once: what would be lowered twice on each level grows
/// beyond all bounds.
struct Lowering {
    /// Numbers of the anchor texts that are counted.
    anchors: HashMap<Str, u32>,
}

impl Lowering {
    fn shape(&mut self, v: &Value, depth: usize) -> Option<Shape> {
        if depth > MAX_DEPTH {
            return None;
        }
        Some(match v {
            Value::Map(m) => Shape::Map(Box::new(self.map(m, depth, Keys::Plain)?)),
            Value::List(l) => Shape::List(self.list(l, depth)?),
            scalar => Shape::Leaf(Box::new(Leaf::new(scalar.clone()))),
        })
    }

    fn map(&mut self, m: &Map, depth: usize, keys: Keys) -> Option<MapShape> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut first = Vec::new();
        let mut front = Vec::new();
        let mut back = Vec::new();
        for (raw, value) in m.sorted() {
            let (anchor, key) = Anchor::parse(raw);
            let counted = matches!(anchor, Anchor::Condition | Anchor::Existence).then(|| {
                let next = u32::try_from(self.anchors.len()).unwrap_or(u32::MAX);
                *self.anchors.entry(raw.clone()).or_insert(next)
            });
            let below = match (keys, key) {
                (Keys::Metadata, "labels" | "annotations") => Keys::Labels,
                (_, "metadata") => Keys::Metadata,
                _ => Keys::Plain,
            };
            let shape = match value {
                Value::Map(inner) => Shape::Map(Box::new(self.map(inner, depth + 1, below)?)),
                value => self.shape(value, depth + 1)?,
            };
            let entry = Entry { key: Str::from(key), raw: raw.clone(), anchor, counted, shape };
            match anchor {
                Anchor::Condition | Anchor::Existence | Anchor::Equality | Anchor::Negation => {
                    first.push(entry);
                }
                Anchor::Global => front.push(entry),
                _ if holds_anchor(value) => front.push(entry),
                _ => back.push(entry),
            }
        }
        let count = first.len();
        // Each key that goes to the front is put before those that went there earlier.
        front.reverse();
        first.extend(front);
        first.extend(back);
        let expand = keys == Keys::Labels
            && m.iter().any(|(raw, v)| v.as_str().is_none() || wildcard::has_wildcard(Anchor::parse(raw).1));
        Some(MapShape { entries: first.into(), first: count, expand, source: Value::Map(m.clone()) })
    }

    fn list(&mut self, items: &[Value], depth: usize) -> Option<ListShape> {
        let Some((head, rest)) = items.split_first() else {
            return Some(ListShape::Empty(Value::list(Vec::new())));
        };
        Some(match head {
            Value::Map(m) => {
                let head = Box::new(self.map(m, depth + 1, Keys::Plain)?);
                ListShape::Each(head, self.objects(rest, depth + 1)?)
            }
            Value::List(_) => ListShape::Positions(
                items.iter().map(|item| self.shape(item, depth + 1)).collect::<Option<_>>()?,
            ),
            scalar => {
                let head = Box::new(Leaf::new(scalar.clone()));
                ListShape::Scalars(head, self.objects(rest, depth + 1)?)
            }
        })
    }

    fn objects(&mut self, items: &[Value], depth: usize) -> Option<Box<[Option<MapShape>]>> {
        let object = |item: &Value| match item {
            Value::Map(m) => self.map(m, depth, Keys::Plain).map(Some),
            _ => Some(None),
        };
        items.iter().map(object).collect()
    }
}

/// Whether an anchor occurs anywhere inside.
fn holds_anchor(v: &Value) -> bool {
    match v {
        Value::Map(m) => m.iter().any(|(k, v)| {
            !matches!(Anchor::parse(k).0, Anchor::None | Anchor::AddIfAbsent) || holds_anchor(v)
        }),
        Value::List(l) => l.iter().any(holds_anchor),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use ephor_document::yaml_value;

    /// The pattern `levels` times around itself, with `{}` for what is inside.
    fn nested(form: &str, levels: usize) -> Value {
        let text = (0..levels).fold("1".to_string(), |inner, _| form.replace("{}", &inner));
        yaml_value(&text).unwrap()
    }

    #[test]
    fn a_pattern_is_lowered_in_space_that_grows_with_its_text() {
        for form in [
            r#"[{"a":{}}]"#,
            r#"[[],{"a":{}}]"#,
            r#"[[],[{"a":{}}]]"#,
            r#"{"^(a)":[{"a":{}}]}"#,
            r#"{"metadata":{"labels":{}}}"#,
            r#"[{"metadata":{"annotations":{"metadata":{"labels":{}}}}}]"#,
        ] {
            let size = |levels| format!("{:?}", lower(&nested(form, levels)).unwrap()).len();
            assert!(size(14) < 8 * size(7), "{form}: {} {}", size(7), size(14));
        }
    }

    #[test]
    fn patterns_that_nest_too_deeply_are_refused_whatever_their_keys() {
        for form in
            [r#"{"a":{}}"#, r#"{"metadata":{}}"#, r#"{"metadata":{"labels":{}}}"#, "[{}]", r#"[{"a":{}}]"#]
        {
            assert!(lower(&nested(form, MAX_DEPTH + 20)).is_none(), "{form}");
        }
    }

    #[test]
    fn patterns_must_have_the_source_that_they_were_lowered_from() {
        let good = r#"{"source":{"(a)":["x",{"b":1}]},"root":{"map":{"entries":[{"key":"a","raw":"(a)","anchor":"condition","counted":0,
            "shape":{"list":{"scalars":["x",[{"entries":[{"key":"b","raw":"b","anchor":"none","shape":{"leaf":1}}],"first":0}]]}}}],
            "first":1}},"anchors":1}"#;
        let read: Pattern = ephor_ir::json::read(good).unwrap();
        let source = serde_json::from_str(r#"{"(a)":["x",{"b":1}]}"#).unwrap();
        assert_eq!(Some(read), lower(&source));
        for (part, other) in [
            (r#""b":1}]}"#, r#""b":2}]}"#),
            (r#""b":1}]}"#, r#""c":1}]}"#),
            (r#""counted":0"#, r#""counted":1"#),
            (r#""anchors":1"#, r#""anchors":4000000000"#),
            (r#""first":1"#, r#""first":2"#),
            (r#"["x",{"b":1}]}"#, r#"["x",{"b":1},2]}"#),
        ] {
            let bad = good.replacen(part, other, 1);
            assert_ne!(bad, good);
            assert!(
                ephor_ir::json::read::<Pattern>(&bad)
                    .unwrap_err()
                    .to_string()
                    .starts_with("a pattern has the source of another one"),
                "{bad}"
            );
        }
    }

    /// The keys of an object pattern in checking order.
    fn order(pattern: &str) -> Vec<String> {
        match lower(&yaml_value(pattern).unwrap()).unwrap().root {
            Shape::Map(map) => map.entries.iter().map(|e| e.raw.to_string()).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn keys_that_decide_whether_the_pattern_applies_are_checked_first() {
        for (pattern, expected) in [
            ("{b: 1, a: 1, c: 1}", &["a", "b", "c"][..]),
            // By their full text: the sign counts.
            ("{=(a): 1, X(b): 1, (c): 1, ^(d): [], z: 1}", &["(c)", "=(a)", "X(b)", "^(d)", "z"]),
            // Behind them what holds an anchor, descending, then the rest.
            (
                "{<(a): 1, <(c): 1, b: {(x): 1}, a: 1, d: [{=(y): 1}], +(e): 1}",
                &["d", "b", "<(c)", "<(a)", "+(e)", "a"],
            ),
            // What is added when absent is no condition.
            ("{b: {+(x): 1}, a: 1}", &["a", "b"]),
        ] {
            assert_eq!(order(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn equal_texts_of_anchors_that_must_be_met_are_one() {
        let count = |pattern: &str| lower(&yaml_value(pattern).unwrap()).unwrap().anchors;
        assert_eq!(count("{(a): 1, ^(b): [{(a): 1}], c: {(a): 1}}"), 2);
        assert_eq!(count("{=(a): 1, X(b): 1, <(c): 1, +(d): 1}"), 0);
    }

    #[test]
    fn only_labels_and_annotations_of_metadata_are_rebuilt_for_an_object() {
        fn expanded(shape: &Shape, at: &str, out: &mut Vec<String>) {
            let Shape::Map(map) = shape else { return };
            if map.expand {
                out.push(at.to_string());
            }
            for e in &map.entries {
                expanded(&e.shape, &format!("{at}/{}", e.raw), out);
            }
        }
        for (pattern, expected) in [
            ("{metadata: {labels: {'a*': x}}}", &["/metadata/labels"][..]),
            ("{metadata: {=(annotations): {'?': x}}}", &["/metadata/=(annotations)"]),
            ("{spec: {template: {metadata: {labels: {a: 1}}}}}", &["/spec/template/metadata/labels"]),
            // Without wildcards and with strings alone there is nothing to rebuild.
            ("{metadata: {labels: {a: x}}}", &[]),
            ("{metadata: {names: {'a*': x}}}", &[]),
            ("{labels: {'a*': x}}", &[]),
            (
                "{metadata: {labels: {a: x, metadata: {labels: {'b*': x}}}}}",
                &["/metadata/labels", "/metadata/labels/metadata/labels"],
            ),
        ] {
            let mut found = Vec::new();
            expanded(&lower(&yaml_value(pattern).unwrap()).unwrap().root, "", &mut found);
            found.sort();
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn a_key_with_wildcards_becomes_the_smallest_key_with_a_string_that_it_matches() {
        let labels = |pattern: &str, object: &str| {
            let Shape::Map(shape) = lower(&yaml_value(pattern).unwrap()).unwrap().root else { panic!() };
            let object = yaml_value(object).unwrap();
            let expanded = expand_keys(&shape, object.as_map().unwrap()).unwrap();
            expanded.entries.iter().map(|e| e.raw.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(labels("{'a*': x}", "{ac: 1, ad: x, ab: x}"), ["ab"]);
        assert_eq!(labels("{=(a*): x}", "{ab: x}"), ["=(ab)"]);
        assert_eq!(labels("{'a*': x}", "{b: x}"), ["a*"]);
        assert_eq!(labels("{'a*': 1, b: x}", "{ab: x}"), ["b"]);
    }
}
