//! What rules change.

use super::condition::conditions;
use super::rule::bindings;
use super::template::{placed, query, template};
use super::{Node as Printed, literal, quoted, shape};
use crate::ir::Origin;
use crate::ir::mutate::{
    Change, Json, Layer, Member, Merge, Mutation, MutationTarget, Node, Patch, PatchLoop,
};
use crate::ir::shape::Anchor;
use crate::patch::Operation;
use crate::value::place::parse;

/// A mutation.
pub fn mutation(m: &Mutation) -> Printed {
    let head = if m.targets.is_some() { "change other objects" } else { "change the object" };
    let mut node = Printed::new(head);
    node.below.extend(m.targets.iter().flat_map(|list| list.iter()).map(target));
    node.below.push(change(&m.change));
    if !m.beside.is_empty() {
        node.below.push(Printed::new("also filled in").with(m.beside.iter().map(template)));
    }
    let existing = m.existing.iter().map(|r| Printed::new("existing objects").with([super::rule::rule(r)]));
    node.below.extend(existing);
    node
}

fn target(t: &MutationTarget) -> Printed {
    let mut node = Printed::new("target").at(parse(&t.origin.path));
    node.below.push(placed(&t.wanted, &t.origin).labelled("named by"));
    node.below.extend(bindings(&t.bindings));
    node.below.extend(t.admit.as_ref().map(|c| conditions("admit", c)));
    node
}

fn change(c: &Change) -> Printed {
    match c {
        Change::Patch(p, origin) => patch(p, origin).at(parse(&origin.path)),
        Change::ForEach(loops) => Printed::new("for each").with(loops.iter().map(patch_loop)),
        Change::Expressions { patches, replaces_atomic, reinvoked } => {
            let atomic = if *replaces_atomic { ", atomic values replaced" } else { "" };
            let again = if *reinvoked { ", again after later changes" } else { "" };
            let how = format!("patches{atomic}{again}");
            Printed::new(how).with(patches.iter().map(super::expressions::patch))
        }
    }
}

fn patch_loop(l: &PatchLoop) -> Printed {
    let order = if l.descending { "loop, last element first" } else { "loop" };
    let mut node = Printed::new(order).at(parse(&l.origin.path)).with([query(&l.list).labelled("over")]);
    node.below.extend(bindings(&l.bindings));
    node.below.extend(l.admit.as_ref().map(|c| conditions("admit", c)));
    node.below.push(change(&l.change));
    node
}

fn patch(p: &Patch, origin: &Origin) -> Printed {
    match p {
        Patch::Merge(Merge::Ready(layer)) => match &**layer {
            Layer::Plain(v) => Printed::new("lay over").with([constant(v)]),
            Layer::Anchored(n) => Printed::new("lay over, anchors decided").with([node(n)]),
        },
        Patch::Merge(Merge::Dynamic(t)) => Printed::new("lay over, once filled in").with([placed(t, origin)]),
        Patch::Json(Json::Ready(Ok(patch))) => {
            Printed::new("operations").with(patch.operations.iter().map(operation))
        }
        Patch::Json(Json::Ready(Err(text))) => Printed::new(format!("broken {}", quoted(text))),
        Patch::Json(Json::Dynamic(t)) => Printed::new("operations, once filled in").with([placed(t, origin)]),
        Patch::Empty => Printed::new("no patch: an error"),
    }
}

fn constant(v: &crate::value::Value) -> Printed {
    Printed { inline: Some(literal(v)), ..Printed::new(literal(v)) }
}

fn operation(o: &Operation) -> Printed {
    Printed::new(literal(&o.to_value()))
}

fn node(n: &Node) -> Printed {
    match n {
        Node::Scalar(v) => constant(v),
        Node::List(items) => Printed::new("list")
            .with(items.iter().enumerate().map(|(i, item)| node(item).labelled(&format!("[{i}]")))),
        Node::Map(members) => Printed::new("object").with(members.iter().map(member)),
    }
}

fn member(m: &Member) -> Printed {
    let what = match m.anchor {
        Anchor::Condition => "if ",
        Anchor::Global => "if anywhere ",
        Anchor::AddIfAbsent => "add-if-absent ",
        _ => "",
    };
    let value = node(&m.value).labelled(&format!("{what}{}", quoted(&m.key)));
    match &m.test {
        Some(test) => value.with([shape::pattern("tested as", test, &Origin::default())]),
        None => value,
    }
}
