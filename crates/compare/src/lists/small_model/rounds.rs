//! Texts in which variables stand in variables.
//!
//! In: a rule as a tree. Out: the same with expressions in place of such texts, so that what these
//! say of lists counts: `'{{ element.name }}'` in an expression is the value of the inner variable.
//! Where an inner variable is more of an expression than a text, nothing is known. Semantics:
//! `docs/semantics/variables.md`.

use ephor_analysis::tree::{Node, Tree};
use ephor_lower::LATE;
use ephor_value::Str;
use ephor_value::variables::{expression, find_variables};

use crate::predicates::summary::list;

/// Variables nest no deeper.
const MAX_DEPTH: usize = 8;

/// What texts start with that stand for the values of inner variables.
const PLACE: char = '\u{e000}';

/// A tree with expressions in place of texts, and whether it has all of them.
pub(crate) fn read(tree: Tree) -> (Tree, bool) {
    let mut is_all = true;
    let tree = below(tree, &mut is_all);
    (tree, is_all)
}

fn below(tree: Tree, is_all: &mut bool) -> Tree {
    match tree {
        Tree::List(items) => Tree::List(items.into_iter().map(|item| below(item, is_all)).collect()),
        Tree::Node(node) => {
            let found = match (node.kind, node.variant) {
                ("Template", "rounds") => rounds(&node, false),
                ("QuerySource", "dynamic") => {
                    let text = node.get("text").and_then(Tree::as_node);
                    text.filter(|text| text.variant == "rounds").and_then(|text| rounds(text, true))
                }
                _ => None,
            };
            if let Some(found) = found {
                return found;
            }
            *is_all &= (node.kind, node.variant) != ("Template", "rounds");
            let fields = node.fields.into_iter().map(|(name, field)| match name {
                // No result depends on them.
                "message" | "rounds" => (name, field),
                _ => (name, below(field, is_all)),
            });
            Tree::Node(Node { fields: fields.collect(), ..node })
        }
        other => other,
    }
}

/// A text as the expressions in it; `as_query`: it is one itself.
fn rounds(node: &Node, as_query: bool) -> Option<Tree> {
    let rounds = node.get("")?.as_node()?;
    let names: Vec<Str> = list(rounds.get("names")).iter().filter_map(Tree::as_text).map(Str::from).collect();
    let mut text = rounds.text("source")?.to_string();
    let mut values: Vec<Tree> = Vec::new();
    let mut parts: Vec<Tree> = Vec::new();
    for _ in 0..MAX_DEPTH {
        let found = find_variables(&text);
        if found.is_empty() {
            break;
        }
        let (mut next, mut from) = (String::new(), 0);
        for at in found {
            let variable = text.get(at.clone())?;
            let value = query(&expression(variable), &names, &values)?;
            if variable == text && !as_query {
                return Some(template("whole", value));
            }
            let (before, behind) = (text.get(..at.start)?, text.get(at.end..)?);
            next.push_str(text.get(from..at.start)?);
            if before.ends_with('\'') && behind.starts_with('\'') {
                next.push_str(&format!("{PLACE}{}", values.len()));
                values.push(value);
            } else if !as_query
                && before.rfind("{{").is_none_or(|open| before.get(open..).is_some_and(|b| b.contains("}}")))
            {
                parts.push(value);
                next.push('x');
            } else {
                return None;
            }
            from = at.end;
        }
        next.push_str(text.get(from..)?);
        text = next;
    }
    match as_query {
        true => Some(Tree::Node(Node {
            kind: "QuerySource",
            variant: "ready",
            fields: vec![("", query(&text, &names, &values)?)],
        })),
        false => Some(template("text", Tree::List(parts))),
    }
}

fn template(variant: &'static str, value: Tree) -> Tree {
    let field = if variant == "whole" { "query" } else { "parts" };
    Tree::Node(Node { kind: "Template", variant, fields: vec![(field, value)] })
}

/// An expression with the values of inner variables.
fn query(text: &str, names: &[Str], values: &[Tree]) -> Option<Tree> {
    let query = LATE.plain_query(text, names);
    let expr = ephor_ir::optimise::expression(query.expr.ok()?);
    let tree = with_values(Tree::of(&expr)?, values);
    let query = |expr: Tree| Tree::Node(Node { kind: "Query", variant: "", fields: vec![("expr", expr)] });
    (!has_place(&tree)).then(|| query(tree))
}

fn with_values(tree: Tree, values: &[Tree]) -> Tree {
    match tree {
        Tree::List(items) => Tree::List(items.into_iter().map(|item| with_values(item, values)).collect()),
        Tree::Node(node) => {
            let text = node
                .get("")
                .and_then(Tree::as_text)
                .filter(|_| (node.kind, node.variant) == ("Expr", "const"));
            let at = text.and_then(|text| text.strip_prefix(PLACE)).and_then(|at| at.parse::<usize>().ok());
            if let Some(value) = at.and_then(|at| values.get(at)) {
                return value.clone();
            }
            let fields = node.fields.into_iter().map(|(name, field)| (name, with_values(field, values)));
            Tree::Node(Node { fields: fields.collect(), ..node })
        }
        other => other,
    }
}

/// Whether something is left that stands for a value.
fn has_place(tree: &Tree) -> bool {
    match tree {
        Tree::Text(text) | Tree::Scalar(text) => text.contains(PLACE),
        Tree::List(items) => items.iter().any(has_place),
        Tree::Map(entries) => entries.iter().any(|(key, value)| key.contains(PLACE) || has_place(value)),
        Tree::Node(node) => node.fields.iter().any(|(_, field)| has_place(field)),
        Tree::None => false,
    }
}
