//! Deciding the anchors of a layer for one object.
//!
//! In: a layer and an object. Out: the document to be merged, empty where a condition is not met.
//! Conditions are tested by the engine of validate patterns; an add-if-absent member stays where
//! the object has no such key. An item of a list with anchors is decided for each item of the
//! object's list, and what comes out is added under that item's name. One copy serves for all of
//! them, so what the first item decides counts for the others (Kyverno's behaviour). Semantics:
//! `docs/semantics/mutate.md`, "Anchors".

use crate::shape::{self, Outcome};
use ephor_ir::mutate::{Member, Node};
use ephor_ir::shape::{Anchor, Pattern};
use ephor_patch::merge::node_kind;
use ephor_pattern::layer::{Which, holds_anchor, scalar_text};
use ephor_pattern::strip::{self, TooShort};
use ephor_value::{Map, Value};

use super::AnchorError;

/// Why a walk ended.
enum Stop {
    /// A condition is not met.
    Condition,
    /// A global condition is not met.
    Global,
    /// The documents do not fit.
    Failed(AnchorError),
}

/// The document that is merged into the object.
///
/// # Errors
/// The layer is no object, or has a list of objects where the object has something else.
pub fn decide(layer: &Node, object: &Value) -> Result<Value, AnchorError> {
    let mut document = layer.clone();
    match walk(&mut document, Some(object)) {
        Ok(()) => {}
        Err(Stop::Condition | Stop::Global) => return Ok(Value::Map(Map::new())),
        Err(Stop::Failed(error)) => return Err(error),
    }
    if !matches!(document, Node::Map(_)) {
        return Err(AnchorError::wrong_kind(&Value::Map(Map::new()), &document.to_value()));
    }
    match strip::finish(&mut document) {
        Ok(()) => match twice(&document, Some(object)) {
            Some(key) => Err(AnchorError::Twice(key.into())),
            None => Ok(document.to_value()),
        },
        Err(error) => Err(AnchorError::TooShort(error)),
    }
}

/// A key that comes twice, now that its anchor is gone, in an object that is added as a whole.
/// Merged into one that is there, the first counts.
fn twice<'n>(node: &'n Node, there: Option<&Value>) -> Option<&'n str> {
    match node {
        Node::Scalar(_) => None,
        Node::Map(members) => {
            let again = |(i, m): (usize, &'n Member)| {
                members.iter().take(i).any(|other| other.raw == m.raw).then_some(&*m.raw)
            };
            let there = there.filter(|v| v.as_map().is_some());
            let own = if there.is_none() { members.iter().enumerate().find_map(again) } else { None };
            own.or_else(|| members.iter().find_map(|m| twice(&m.value, there.and_then(|o| o.get(&m.raw)))))
        }
        Node::List(items) => items.iter().find_map(|item| {
            let name = match item {
                Node::Map(members) => members.iter().find(|m| &*m.raw == "name").map(|m| m.value.to_value()),
                _ => None,
            };
            let of_name =
                |o: &&Value| name.as_ref().is_some_and(|n| o.get("name").is_some_and(|o| o.strict_eq(n)));
            twice(item, there.and_then(Value::as_list).unwrap_or_default().iter().find(of_name))
        }),
    }
}

fn walk(node: &mut Node, object: Option<&Value>) -> Result<(), Stop> {
    match node {
        Node::Scalar(_) => Ok(()),
        Node::List(items) => match items.first() {
            Some(Node::Map(_)) => list(items, object),
            _ => Ok(()),
        },
        Node::Map(members) => {
            add_if_absent(members, object);
            conditions(members, object)?;
            let plain = members.iter_mut().filter(|m| m.anchor == Anchor::None);
            plain.into_iter().try_for_each(|m| {
                let below = object.and_then(|o| o.get(&m.raw));
                walk(&mut m.value, below)
            })
        }
    }
}

/// Members that the object has go, whatever its value; the others become plain.
fn add_if_absent(members: &mut Vec<Member>, object: Option<&Value>) {
    let has = |m: &Member| object.is_some_and(|o| o.get(&m.key).is_some());
    members.retain(|m| m.anchor != Anchor::AddIfAbsent || !has(m));
    members.iter_mut().filter(|m| m.anchor == Anchor::AddIfAbsent).for_each(Member::lose_anchor);
}

fn conditions(members: &mut [Member], object: Option<&Value>) -> Result<(), Stop> {
    for (kind, stop) in [(Anchor::Global, Stop::Global), (Anchor::Condition, Stop::Condition)] {
        for m in members.iter_mut().filter(|m| m.anchor == kind) {
            let Some(found) = object.and_then(|o| o.get(&m.key)) else { return Err(stop) };
            match &mut m.value {
                // A condition that adds something is not tested at all.
                Node::Map(inner) if inner.iter().any(|m| m.anchor == Anchor::AddIfAbsent) => {
                    add_if_absent(inner, Some(found));
                }
                _ if m.test.as_ref().is_some_and(|test| holds(test, found)) => {}
                _ => return Err(stop),
            }
        }
    }
    Ok(())
}

/// Scalars are compared as texts, numbers inside of collections as doubles.
fn holds(test: &Pattern, found: &Value) -> bool {
    let found = match found {
        Value::Map(_) | Value::List(_) => found.with_float_numbers(),
        scalar => Value::from(scalar_text(scalar)),
    };
    matches!(shape::run(test, &found), Outcome::Pass)
}

fn list(items: &mut Vec<Node>, object: Option<&Value>) -> Result<(), Stop> {
    let there: &[Value] = match object {
        None | Some(Value::Null) => &[],
        Some(Value::List(l)) => l,
        Some(other) => {
            debug_assert_ne!(node_kind(other), "SequenceNode");
            return Err(Stop::Failed(AnchorError::wrong_kind(&Value::list(Vec::new()), other)));
        }
    };
    let mut named = Vec::new();
    for item in items.iter().filter(|item| holds_anchor(item, Which::Any)) {
        let is_gate = holds_anchor(item, Which::Global);
        let mut copy = item.clone();
        let (mut passed, mut refused) = (false, false);
        for element in there {
            match walk(&mut copy, Some(element)) {
                Ok(()) if is_gate => passed = true,
                Ok(()) => match under_name(&copy, element) {
                    Ok(item) => named.extend(item),
                    Err(error) => return Err(Stop::Failed(AnchorError::TooShort(error))),
                },
                Err(Stop::Condition) => {}
                Err(Stop::Global) => refused = true,
                Err(failed) => return Err(failed),
            }
        }
        if object.is_none() {
            match walk(&mut copy, None) {
                Ok(()) | Err(Stop::Condition) => {}
                Err(stop) => return Err(stop),
            }
        }
        if refused && !passed {
            return Err(Stop::Global);
        }
    }
    items.extend(named);
    Ok(())
}

/// What was decided for an element, under the name of that element; nothing for one without a name.
fn under_name(decided: &Node, element: &Value) -> Result<Option<Node>, TooShort> {
    let name = element.get("name").filter(|v| match v {
        Value::Null => false,
        Value::List(l) => !l.is_empty(),
        Value::Map(m) => !m.is_empty(),
        _ => true,
    });
    let Some(name) = name else { return Ok(None) };
    let mut node = decided.clone();
    if strip::strip(&mut node, true)? {
        return Ok(None);
    }
    let Node::Map(members) = &mut node else { return Ok(Some(node)) };
    let value = Node::Scalar(name.clone());
    match members.iter_mut().find(|m| &*m.raw == "name") {
        Some(m) => m.value = value,
        None => members.push(Member {
            key: "name".into(),
            raw: "name".into(),
            anchor: Anchor::None,
            test: None,
            value,
        }),
    }
    Ok(Some(node))
}
