//! The parts of a tree, as one walk over all of its nodes.
//!
//! In: a node. Out: what is directly below it, or the node with other nodes there. What is inside
//! of a loop that the parser has taken apart is none of its parts.

use ephor_cel::ast::{Entry, Kind, Node};

/// Calls `f` with every part directly below the root of a tree.
pub fn children(node: &Node, f: &mut dyn FnMut(&Node)) {
    match &node.kind {
        Kind::Const(_) | Kind::Ident(_) | Kind::Fold(_) => {}
        Kind::Select { operand, .. } => f(operand),
        Kind::Call { target, args, .. } => {
            target.iter().for_each(|t| f(t));
            args.iter().for_each(f);
        }
        Kind::List { items, .. } => items.iter().for_each(f),
        Kind::Map(entries) => entries.iter().for_each(|e| {
            f(&e.key);
            f(&e.value);
        }),
        Kind::Struct { fields, .. } => fields.iter().for_each(|e| f(&e.value)),
    }
}

/// The node with other parts directly below it.
pub fn map_children(node: &Node, f: &dyn Fn(&Node) -> Node) -> Node {
    let kind = match &node.kind {
        Kind::Const(_) | Kind::Ident(_) | Kind::Fold(_) => node.kind.clone(),
        Kind::Select { operand, field, test } => {
            Kind::Select { operand: Box::new(f(operand)), field: field.clone(), test: *test }
        }
        Kind::Call { function, target, args } => Kind::Call {
            function: function.clone(),
            target: target.as_ref().map(|target| Box::new(f(target))),
            args: args.iter().map(f).collect(),
        },
        Kind::List { items, optional } => {
            Kind::List { items: items.iter().map(f).collect(), optional: optional.clone() }
        }
        Kind::Map(entries) => {
            let of = |e: &Entry<Node>| Entry { key: f(&e.key), value: f(&e.value), ..e.clone() };
            Kind::Map(entries.iter().map(of).collect())
        }
        Kind::Struct { name, fields } => Kind::Struct {
            name: name.clone(),
            fields: fields.iter().map(|e| Entry { value: f(&e.value), ..e.clone() }).collect(),
        },
    };
    Node::new(node.at, kind)
}
