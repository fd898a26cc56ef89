//! What rules make.

use super::Node;
use super::condition::conditions;
use super::rule::bindings;
use super::template::{placed, query};
use crate::ir::generate::{Described, Generation, GenerationLoop};
use crate::value::place::parse;

/// A generation.
pub fn generation(g: &Generation) -> Node {
    match g {
        Generation::One(d) => described(d),
        Generation::ForEach(loops) => Node::new("for each").with(loops.iter().map(each)),
        Generation::Expressions(all) => {
            Node::new("objects").with(all.iter().map(super::expressions::generator))
        }
    }
}

fn described(d: &Described) -> Node {
    let head = if d.synchronize { "make and keep in step" } else { "make" };
    Node::new(head).at(parse(&d.origin.path)).with([placed(&d.template, &d.origin)])
}

fn each(l: &GenerationLoop) -> Node {
    let mut node = Node::new("loop").at(parse(&l.origin.path)).with([query(&l.list).labelled("over")]);
    node.below.extend(bindings(&l.bindings));
    node.below.extend(l.admit.as_ref().map(|c| conditions("admit", c)));
    node.below.push(described(&l.described));
    node
}
