//! Whether two sides may leave the items of a list in another order.
//!
//! In: two sides. Out: whether one has a strategic merge that moves items of lists and the other
//! one lacks it. Objects are compared without the order of items where the schema of their kind
//! says that it has no meaning (`effects::results`); an API server keeps it all the same, so an
//! answer names it.
//!
//! A merge puts the items that it changes or adds in front of the others, an apply configuration
//! and a JSON patch leave them where they are (recorded from Kyverno 1.19.1,
//! `docs/reference/migrate.md`, "The order of items"). Items stay in place where a merge changes
//! each of its list: by a condition alone that the key of each item fulfils.

use std::collections::BTreeSet;

use ephor_analysis::reads::Step;
use ephor_analysis::tree::Tree;
use ephor_ir::mutate::{Change, Layer, Member, Merge, Node, Patch};
use ephor_ir::rule::Body;
use ephor_ir::shape::Anchor;
use ephor_ir::{Rule, Template};
use ephor_kubernetes::Types;
use ephor_value::{Str, Value};

use crate::model::environment::Environment;
use crate::model::field_types::keyed_at;
use crate::normal::print::written;
use crate::sides::environments::environments;
use crate::sides::side::Side;

/// Deeper documents are taken for ones that move items.
const MAX_DEPTH: usize = 64;

impl Side {
    /// Whether the items of a list may have another order behind one side than behind the other,
    /// which is no difference of its own.
    pub fn may_order_otherwise(&self, other: &Side) -> bool {
        may_differ([self, other])
    }
}

/// Whether a merge of one side moves items of lists, and the other side lacks it.
pub(crate) fn may_differ(sides: [&Side; 2]) -> bool {
    environments(sides).0.iter().any(|environment| {
        let [old, new] = sides.map(|side| moves(side, environment));
        old != new
    })
}

/// The changes of a side that move items of objects of a kind, as texts; `None` stands for those
/// without a text.
fn moves(side: &Side, environment: &Environment) -> BTreeSet<Option<String>> {
    let rules = side.policies().iter().flat_map(|policy| policy.rules_for(&environment.resource.kind));
    rules.filter_map(|rule| change_of(rule, environment)).collect()
}

/// The change of a rule, if it moves items.
fn change_of(rule: &Rule, environment: &Environment) -> Option<Option<String>> {
    let Body::Mutate(mutation) = &rule.body else { return None };
    let is_one = environment.is_about(rule) && is_moving(&mutation.change, &environment.object);
    is_one.then(|| Tree::of(&mutation.change).map(|tree| written(&tree)))
}

fn is_moving(change: &Change, kind: &[Str; 3]) -> bool {
    match change {
        Change::Patch(Patch::Merge(Merge::Ready(layer)), _) => match &**layer {
            Layer::Plain(value) => of_value(value, 0),
            Layer::Anchored(node) => of_node(node, kind, &mut Vec::new()),
        },
        Change::Patch(Patch::Merge(Merge::Dynamic(document)), _) => of_template(document, 0),
        Change::Patch(..) | Change::Expressions { .. } => false,
        Change::ForEach(loops) => loops.iter().any(|one| is_moving(&one.change, kind)),
    }
}

/// Whether a document without anchors has a list of objects.
fn of_value(value: &Value, depth: usize) -> bool {
    match value {
        _ if depth > MAX_DEPTH => true,
        Value::List(items) => items.iter().any(|item| matches!(item, Value::Map(_))),
        Value::Map(fields) => fields.values().any(|value| of_value(value, depth + 1)),
        _ => false,
    }
}

/// The same of one with variables, which may be lists.
fn of_template(document: &Template, depth: usize) -> bool {
    match document {
        _ if depth > MAX_DEPTH => true,
        Template::Const(value) => of_value(value, depth),
        Template::Whole(_) => true,
        Template::Text(_) | Template::Rounds(_) | Template::Fail(_) => false,
        Template::List(items) => items.iter().any(|item| match item {
            Template::Const(value) => matches!(value, Value::Map(_)),
            Template::Object(_) | Template::Whole(_) => true,
            _ => false,
        }),
        Template::Object(fields) => fields.iter().any(|(_, value)| of_template(value, depth + 1)),
    }
}

fn of_members(members: &[Member], kind: &[Str; 3], path: &mut Vec<Step>) -> bool {
    members.iter().any(|member| {
        path.push(Step::Key(member.key.clone()));
        let found = of_node(&member.value, kind, path);
        path.pop();
        found
    })
}

/// The same of one with anchors, at a path.
fn of_node(node: &Node, kind: &[Str; 3], path: &mut Vec<Step>) -> bool {
    match node {
        _ if path.len() > MAX_DEPTH => true,
        Node::Scalar(_) => false,
        Node::Map(members) => of_members(members, kind, path),
        Node::List(items) => match &**items {
            [Node::Map(members)] if is_for_each(members, kind, path) => {
                path.push(Step::Items);
                let found = of_members(members, kind, path);
                path.pop();
                found
            }
            items => items.iter().any(|item| matches!(item, Node::Map(_))),
        },
    }
}

/// Whether the item of a merge changes each one of its list: its only anchor is a condition that
/// the key of each fulfils.
fn is_for_each(members: &[Member], kind: &[Str; 3], list: &[Step]) -> bool {
    let [key] = keyed_at(Types::built_in(), kind, list).map_or(&[][..], |(keys, _)| keys) else {
        return false;
    };
    let (conditions, others): (Vec<&Member>, Vec<&Member>) =
        members.iter().partition(|member| member.anchor != Anchor::None);
    let is_any =
        |value: &Node| matches!(value, Node::Scalar(Value::Str(text)) if matches!(&**text, "*" | "?*"));
    let [only] = &*conditions else { return false };
    only.anchor == Anchor::Condition
        && only.key == *key
        && is_any(&only.value)
        && others.iter().all(|member| member.key != *key && has_no_anchor(&member.value, 0))
}

fn has_no_anchor(node: &Node, depth: usize) -> bool {
    match node {
        _ if depth > MAX_DEPTH => false,
        Node::Scalar(_) => true,
        Node::List(items) => items.iter().all(|item| has_no_anchor(item, depth + 1)),
        Node::Map(members) => members
            .iter()
            .all(|member| member.anchor == Anchor::None && has_no_anchor(&member.value, depth + 1)),
    }
}
