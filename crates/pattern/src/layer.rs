//! Documents to be laid over objects: anchors separated, conditions compiled.
//!
//! In: the document of a strategic merge, its variables filled in. Out: a [`Layer`]. A document
//! without anchors is cleaned of empty objects here, once; one with anchors becomes a tree whose
//! conditions are patterns. Semantics: `docs/semantics/mutate.md`, "Anchors".

use std::sync::Arc;

use ephor_ir::mutate::{Layer, Member, Node};
use ephor_ir::pattern::Leaf;
use ephor_ir::shape::{Anchor, Pattern, Shape};
use ephor_value::{Value, print};

use super::{MAX_DEPTH, strip};

/// Lowers a document; `None` when it nests too deeply.
pub fn lower(document: &Value) -> Option<Layer> {
    // Kyverno reads the document into doubles.
    let document = document.with_float_numbers().with_whole_numbers();
    let node = node(&document, 0)?;
    if matches!(node, Node::Map(_)) && !holds_anchor(&node, Which::Any) {
        let mut clean = node.clone();
        // A failure is reported where there is an object to report it for.
        if strip::finish(&mut clean).is_ok() {
            return Some(Layer::Plain(clean.to_value()));
        }
    }
    Some(Layer::Anchored(node))
}

/// The anchor of a key as far as it means something in a patch.
fn anchor(raw: &str) -> (Anchor, &str) {
    match Anchor::parse(raw) {
        found @ (Anchor::Condition | Anchor::Global | Anchor::AddIfAbsent, _) => found,
        _ => (Anchor::None, raw),
    }
}

/// Which anchors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Any that means something in a patch.
    Any,
    /// Global conditions.
    Global,
}

/// Whether an anchor, or a text that reads as a condition, occurs anywhere inside.
pub fn holds_anchor(node: &Node, which: Which) -> bool {
    match node {
        Node::Map(members) => members.iter().any(|m| {
            let counts = match which {
                Which::Any => m.anchor != Anchor::None,
                Which::Global => m.anchor == Anchor::Global,
            };
            counts || (!m.value.is_empty() && holds_anchor(&m.value, which))
        }),
        Node::List(items) => items.iter().any(|item| holds_anchor(item, which)),
        Node::Scalar(Value::Str(s)) => {
            matches!(Anchor::parse(s).0, Anchor::Condition | Anchor::Global)
        }
        Node::Scalar(_) => false,
    }
}

fn node(v: &Value, depth: usize) -> Option<Node> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match v {
        Value::Map(m) => Node::Map(
            m.sorted()
                .into_iter()
                .map(|(raw, value)| {
                    let (anchor, key) = anchor(raw);
                    let test = match anchor {
                        Anchor::Condition | Anchor::Global => Some(Arc::new(test(value)?)),
                        _ => None,
                    };
                    let value = node(value, depth + 1)?;
                    Some(Member { key: key.into(), raw: raw.clone(), anchor, test, value })
                })
                .collect::<Option<Vec<Member>>>()?,
        ),
        Value::List(l) => Node::List(l.iter().map(|v| node(v, depth + 1)).collect::<Option<Vec<Node>>>()?),
        scalar => Node::Scalar(scalar.clone()),
    })
}

/// What an object must look like for a condition. Scalars are compared as texts, numbers inside of
/// collections as doubles.
fn test(v: &Value) -> Option<Pattern> {
    match v {
        Value::Map(_) | Value::List(_) => super::lower(&v.with_float_numbers()),
        scalar => {
            let source = Value::from(scalar_text(scalar));
            Some(Pattern { root: Shape::Leaf(Box::new(Leaf::new(source.clone()))), source, anchors: 0 })
        }
    }
}

/// The text of a scalar as it is written.
pub fn scalar_text(v: &Value) -> String {
    match v {
        Value::Str(s) => s.to_string(),
        other => print::json(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_document::yaml_value;

    fn layer(text: &str) -> Layer {
        lower(&yaml_value(text).unwrap()).unwrap()
    }

    #[test]
    fn a_document_without_anchors_is_cleaned_of_empty_objects_at_once() {
        for (text, clean) in [
            ("{a: {b: {}}, c: 1}", "{c: 1}"),
            ("{a: {b: null}}", "{a: {b: null}}"),
            // Other signs mean nothing in a patch.
            ("{=(a): 1, X(b): 2}", "{=(a): 1, X(b): 2}"),
            ("{a: []}", "{a: []}"),
        ] {
            match layer(text) {
                Layer::Plain(value) => assert_eq!(value, yaml_value(clean).unwrap(), "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn conditions_additions_and_texts_that_read_as_conditions_keep_their_tree() {
        for text in ["{(a): 1}", "{a: {<(b): 1}}", "{a: [{+(b): 1}]}", "{a: (x)}", "{a: ['<(x)']}"] {
            assert!(matches!(layer(text), Layer::Anchored(_)), "{text}");
        }
    }

    #[test]
    fn what_nests_too_deeply_is_refused() {
        let nested = |n: usize| yaml_value(&format!("{}1{}", "{a: ".repeat(n), "}".repeat(n))).unwrap();
        assert!(lower(&nested(MAX_DEPTH)).is_some());
        assert!(lower(&nested(MAX_DEPTH + 1)).is_none());
    }
}
