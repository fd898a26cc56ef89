//! Verdicts of expressions and reviews.

use super::expr::expression;
use super::{Node, literal, quoted};
use crate::ir::expressions::{Expressions, Lazy, Program, Source, Verdict};
use crate::ir::review::{Applied, Deed, Draft, Making, Proxy, Reference, Review, TextPart, View};

pub fn program(p: &Program) -> Node {
    match p {
        Ok(expr) => expression(expr),
        Err(text) => Node::new(format!("broken {}", quoted(text))),
    }
}

pub fn shared(admit: &[Source], lazies: &[Lazy]) -> Vec<Node> {
    let admit = admit.iter().map(|s| program(&s.program).labelled("admit"));
    let lazies =
        lazies.iter().map(|l| Node::new(format!("lazy {}", quoted(&l.name))).with([program(&l.program)]));
    admit.chain(lazies).collect()
}

fn verdict(v: &Verdict) -> Node {
    let mut node = program(&v.check.program).labelled("verdict");
    if let Some(made) = &v.message_program {
        node.below.push(program(made).labelled("message"));
    }
    if !v.message.is_empty() {
        node.below.push(Node::new(format!("message {}", quoted(&v.message))));
    }
    node
}

fn draft(d: &Draft) -> Node {
    match d {
        Draft::Ready(v) => Node::new(literal(v)),
        Draft::Whole(place) => program(&place.program),
        Draft::Text(parts) => Node::new("text").with(parts.iter().map(|part| match part {
            TextPart::Literal(text) => Node::new(quoted(text)),
            TextPart::Place(place) => program(&place.program),
        })),
        Draft::List(items) => Node::new("list").with(items.iter().map(draft)),
        Draft::Map(entries) => Node::new("object").with(entries.iter().map(|(k, v)| draft(v).labelled(k))),
    }
}

/// A review.
pub fn review(r: &Review) -> Node {
    let mut node = Node::new(match r.view {
        View::Request => "review",
        View::Payload => "review payload",
        View::Templates => "review templates",
        View::Check(Proxy::Http) => "review HTTP requests",
        View::Check(Proxy::Envoy) => "review Envoy requests",
    });
    node.below = shared(&r.admit, &r.lazies);
    match &r.body {
        Deed::Verdicts(all) => node.below.extend(all.iter().map(verdict)),
        Deed::Changes { changes, .. } => {
            node.below.extend(changes.iter().map(|c| {
                program(&c.program).labelled(if c.how == Applied::Merge { "merge" } else { "patch" })
            }))
        }
        Deed::Objects(all) => node.below.extend(all.iter().map(|making| match making {
            Making::Expression(p) => program(p).labelled("make"),
            Making::Documents(documents) => Node::new("make").with(documents.iter().map(draft)),
        })),
        Deed::Answers(all) => node.below.extend(all.iter().map(|p| program(p).labelled("answer"))),
        Deed::Deletion => node.below.push(Node::new("delete")),
        Deed::Images(images) => match &**images {
            Err(text) => node.below.push(Node::new(format!("broken {}", quoted(text)))),
            Ok(images) => {
                node.below.extend(images.references.iter().map(|r| match r {
                    Reference::Pattern(p) => Node::new(format!("images {}", quoted(p.as_str()))),
                    Reference::Expression(p) => program(p).labelled("images"),
                }));
                let lists = images.extractors.iter();
                node.below.extend(lists.map(|(k, p)| program(p).labelled(&format!("images {}", quoted(k)))));
                node.below.extend(images.verdicts.iter().map(verdict));
            }
        },
    }
    for a in &r.annotations {
        node.below.push(program(&a.program).labelled(&format!("annotation {}", quoted(&a.key))));
    }
    node
}

/// Verdicts of a rule.
pub fn expressions(e: &Expressions) -> Node {
    let mut node = Node::new("verdicts");
    node.below = shared(&e.admit, &e.lazies);
    node.below.extend(e.verdicts.iter().map(verdict));
    node
}
