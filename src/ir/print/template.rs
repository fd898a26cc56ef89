//! Templates and queries.

use super::{Node, expression, literal, quoted};
use crate::ir::rule::QuerySource;
use crate::ir::template::{Needs, Part};
use crate::ir::{Origin, Query, Template};
use crate::value::place::PathPart;

/// A template without a place.
pub fn template(t: &Template) -> Node {
    node(t, None, &mut Vec::new())
}

/// A template that stands at a place, with the places of its variables.
pub fn placed(t: &Template, origin: &Origin) -> Node {
    node(t, Some(origin), &mut Vec::new())
}

fn node(t: &Template, origin: Option<&Origin>, steps: &mut Vec<PathPart>) -> Node {
    let here = |node: Node, steps: &[PathPart]| match origin {
        Some(origin) if !steps.is_empty() => node.at(origin.below(steps)),
        _ => node,
    };
    match t {
        Template::Const(v) => Node { inline: Some(literal(v)), ..Node::new(literal(v)) },
        Template::Whole(hole) => here(Node::new("value of").with([query(&hole.query)]), steps),
        Template::Text(text) => {
            let parts = text.parts.iter().map(|part| match part {
                Part::Literal(s) => Node::new(quoted(s)),
                Part::Hole(q) => query(q),
            });
            here(Node::new("text of").with(parts), steps)
        }
        Template::Rounds(rounds) => here(Node::new(format!("rounds {}", quoted(&rounds.source))), steps),
        Template::Fail(text) => here(Node::new(format!("fail {}", quoted(text))), steps),
        Template::List(items) => {
            let items = items.iter().enumerate().map(|(i, t)| {
                steps.push(PathPart::Index(i));
                let item = node(t, origin, steps).labelled(&format!("[{i}]"));
                steps.pop();
                item
            });
            Node::new("list").with(items.collect::<Vec<_>>())
        }
        Template::Object(pairs) => {
            let pairs = pairs.iter().map(|(key, value)| {
                let name = match key {
                    Template::Const(k) => literal(k),
                    Template::Whole(hole) => quoted(&hole.rounds.source),
                    Template::Text(text) => quoted(&text.rounds.source),
                    Template::Rounds(rounds) => quoted(&rounds.source),
                    _ => "?".into(),
                };
                let step = match key {
                    Template::Const(k) => k.as_str().unwrap_or_default().into(),
                    _ => name.trim_matches('"').into(),
                };
                steps.push(PathPart::Key(step));
                let value = node(value, origin, steps);
                steps.pop();
                match key {
                    Template::Const(_) => value.labelled(&name),
                    key => Node::new(format!("computed key {name}"))
                        .with([node(key, None, &mut Vec::new()).labelled("key"), value.labelled("value")]),
                }
            });
            Node::new("object").with(pairs.collect::<Vec<_>>())
        }
    }
}

/// A query: its text, what it needs, its expression.
pub fn query(q: &Query) -> Node {
    let expr = match &q.expr {
        Ok(expr) => expression(expr),
        Err(text) => Node::new(format!("broken {}", quoted(text))),
    };
    let mut node =
        Node::new(format!("query `{}`{}", q.text.replace('\n', " "), needs(&q.needs))).with([expr]);
    if let Some(other) = &q.on_delete {
        node.below.push(query(other).labelled("on delete"));
    }
    node
}

fn needs(needs: &Needs) -> String {
    let mut names: Vec<String> = needs.bindings.iter().map(|b| format!("binding {b}")).collect();
    names.extend(needs.images.then(|| "images".to_string()));
    if names.is_empty() { String::new() } else { format!(" needs {}", names.join(", ")) }
}

/// A query whose text may hold variables.
pub fn source(q: &QuerySource) -> Node {
    match q {
        QuerySource::Ready(q) => query(q),
        QuerySource::Dynamic { text, .. } => Node::new("query of").with([template(text)]),
    }
}
