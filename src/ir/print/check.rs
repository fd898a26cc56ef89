//! What rules and loops check.

use super::condition::conditions;
use super::expressions::validation;
use super::rule::bindings;
use super::template::{placed, query};
use super::{Node, literal, quoted, shape};
use crate::ir::Origin;
use crate::ir::check::{Check, ForEach, Overlay, Overlays};
use crate::value::place::parse;

/// A check.
pub fn check(c: &Check) -> Node {
    match c {
        Check::Deny(c) => conditions("deny when", c),
        Check::Pattern(Overlay::Ready(p), origin) => shape::pattern("looks like", p, origin),
        Check::Pattern(Overlay::Broken(text), origin) => broken(text, origin),
        Check::Pattern(Overlay::Dynamic(t), origin) => {
            Node::new("looks like, once filled in").at(parse(&origin.path)).with([placed(t, origin)])
        }
        Check::AnyPattern(Overlays::Ready(patterns), origin) => {
            let patterns = patterns
                .iter()
                .enumerate()
                .map(|(i, p)| shape::pattern(&format!("[{i}]"), p, &origin.index(i)));
            Node::new("looks like one of").at(parse(&origin.path)).with(patterns)
        }
        Check::AnyPattern(Overlays::Broken(text), origin) => broken(text, origin),
        Check::AnyPattern(Overlays::Dynamic(t), origin) => any_pattern(t, origin),
        Check::ForEach(loops) => Node::new("for each").with(loops.iter().map(for_each)),
        Check::Assert(validations) => Node::new("assert all").with(validations.iter().map(validation)),
        Check::PodSecurity(p) => {
            let mut node = Node::new(format!("pod security {} {}", p.level, p.version));
            if !p.exclude.is_null() {
                node.below.push(Node::new(format!("exclude: {}", literal(&p.exclude))));
            }
            node
        }
        Check::Nothing => Node::new("nothing"),
    }
}

fn broken(text: &str, origin: &Origin) -> Node {
    Node::new(format!("broken {}", quoted(text))).at(parse(&origin.path))
}

fn any_pattern(t: &crate::ir::Template, origin: &Origin) -> Node {
    let node = Node::new("looks like one of, once filled in").at(parse(&origin.path));
    match t {
        // Steps that generation put in stand below the items.
        crate::ir::Template::List(items) => node.with(
            items.iter().enumerate().map(|(i, t)| placed(t, &origin.index(i)).labelled(&format!("[{i}]"))),
        ),
        t => node.with([placed(t, origin)]),
    }
}

fn for_each(l: &ForEach) -> Node {
    let scope = match l.element_scope {
        None => "when it is an object",
        Some(true) => "always",
        Some(false) => "never",
    };
    let mut node = Node::new("loop").at(parse(&l.origin.path)).with([query(&l.list).labelled("over")]);
    node.below.push(Node::new(format!("patterns see the element: {scope}")));
    node.below.extend(bindings(&l.bindings));
    node.below.extend(l.admit.as_ref().map(|c| conditions("admit", c)));
    node.below.push(check(&l.check));
    node
}
