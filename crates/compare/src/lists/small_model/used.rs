//! Lengths that are used in ways which say nothing of how many items matter.
//!
//! In: a rule as a tree. Out: whether each length of a list or text is compared with a number that
//! is written there. How a length is used otherwise is not described: it is a part of a sum or a
//! text, an index, an item of a list, or is compared with another length or a field.

use ephor_analysis::tree::{Node, Tree};

use crate::lists::small_model::conditions::called;
use crate::lists::small_model::provenance::makes_list;
use crate::predicates::summary::list;

/// What a walk knows of the values with names.
#[derive(Clone, Default)]
struct UsedNames {
    /// Variables that are lengths.
    variables: Vec<bool>,
    /// Entries of the context that are.
    entries: Vec<String>,
    /// Values of binders that are, the innermost last.
    locals: Vec<bool>,
}

impl UsedNames {
    /// With the values of more binders.
    fn with(&self, values: impl IntoIterator<Item = bool>) -> UsedNames {
        let locals = self.locals.iter().copied().chain(values).collect();
        UsedNames { locals, ..self.clone() }
    }
}

/// Whether lengths are used in another way somewhere in a rule.
pub(crate) fn has_other_uses(rule: &Node) -> bool {
    let mut names = UsedNames::default();
    for variable in list(rule.get("expressions").and_then(Tree::as_node).and_then(|own| own.get("variables")))
    {
        let is_length = is_length(variable, &names);
        names.variables.push(is_length);
    }
    add_entries(&Tree::Node(rule.clone()), &mut names);
    is_other(&Tree::Node(rule.clone()), false, &names)
}

/// The entries of the context that are lengths, in loops too.
fn add_entries(tree: &Tree, names: &mut UsedNames) {
    match tree {
        Tree::Node(node) => {
            if node.kind == "Binding"
                && let Some(name) = node.text("name")
                && node.get("source").is_some_and(|source| is_length(source, names))
            {
                names.entries.push(name.to_string());
            }
            node.fields.iter().for_each(|(_, field)| add_entries(field, names));
        }
        Tree::List(items) => items.iter().for_each(|item| add_entries(item, names)),
        Tree::None | Tree::Scalar(_) | Tree::Text(_) | Tree::Map(_) => {}
    }
}

/// Whether a value is a length, and not what is computed of one.
fn is_length(tree: &Tree, names: &UsedNames) -> bool {
    let Some(node) = tree.as_node() else { return false };
    if is_call(node, names) {
        return true;
    }
    let inner = inner(node);
    !inner.is_empty() && inner.iter().any(|tree| is_length(tree, names))
}

/// Whether a node is a length, or the name of one.
fn is_call(node: &Node, names: &UsedNames) -> bool {
    match (node.kind, node.variant) {
        ("Expr", "variable") => {
            let at = node.get("").and_then(|at| match at {
                Tree::Scalar(text) => text.parse::<usize>().ok(),
                _ => None,
            });
            at.and_then(|at| names.variables.get(at)).copied().unwrap_or_default()
        }
        ("Expr", "local") => {
            let at = match node.get("") {
                Some(Tree::Scalar(text)) => text.parse::<usize>().ok(),
                _ => None,
            };
            let at = at.and_then(|at| names.locals.len().checked_sub(at + 1));
            at.and_then(|at| names.locals.get(at)).copied().unwrap_or_default()
        }
        ("Expr", "path") => match list(node.get("keys")) {
            [only] => only.as_text().is_some_and(|key| names.entries.iter().any(|own| *own == *key)),
            _ => false,
        },
        _ => matches!(node.text("function"), Some("size" | "length")),
    }
}

/// Whether a length is that of an element, which may be a name of a field.
fn is_of_element(call: &Node) -> bool {
    fn is_element(tree: &Tree) -> bool {
        let Some(node) = tree.as_node() else { return false };
        match (node.variant, list(node.get("keys"))) {
            ("rescue", _) => node.get("expr").is_some_and(is_element),
            ("path", [only]) => only.as_text() == Some("element"),
            _ => false,
        }
    }
    list(call.get("args")).iter().any(is_element)
}

/// The parts of a node that have its value.
fn inner(node: &Node) -> Vec<&Tree> {
    let field = |name: &str| node.get(name).into_iter().collect::<Vec<&Tree>>();
    match (node.kind, node.variant) {
        ("Expr", "rescue" | "once") => field("expr"),
        ("Expr", "let" | "cells") => field("body"),
        ("Expr", "bind") => list(node.get("")).get(1).into_iter().collect(),
        ("Expr", "or") => list(node.get("")).iter().collect(),
        ("Expr", "orElse") => list(node.get("sides")).iter().collect(),
        ("Expr", "unlessNull") => list(node.get("")).get(1).into_iter().collect(),
        ("Expr", "call" | "invoke" | "walk") => field(""),
        ("Walk", _) if list(node.get("steps")).is_empty() => field("base"),
        ("Invoke", _) if matches!(node.text("function"), Some("dyn" | "int" | "double" | "to_number")) => {
            list(node.get("args")).iter().collect()
        }
        ("Variable", _) => field("program"),
        ("Result", _) | ("Hole" | "Query" | "QuerySource" | "BindingSource" | "Template", _) => {
            ["", "query", "expr", "source"].iter().find_map(|name| node.get(name)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The value that a binder names, and what sees it.
fn bound(node: &Node) -> Option<(&Tree, &Tree)> {
    match (node.kind, node.variant) {
        ("Expr", "let") => node.get("value").zip(node.get("body")),
        ("Expr", "bind") => match list(node.get("")) {
            [value, body] => Some((value, body)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a length stands somewhere where it is not compared with a number; `compared`: what
/// stands here is.
fn is_other(tree: &Tree, compared: bool, names: &UsedNames) -> bool {
    let node = match tree {
        Tree::Node(node) => node,
        Tree::List(items) => return items.iter().any(|item| is_other(item, false, names)),
        Tree::None | Tree::Scalar(_) | Tree::Text(_) | Tree::Map(_) => return false,
    };
    if is_call(node, names) && (!compared || is_of_element(node)) {
        return true;
    }
    if node.kind == "Query" && makes_list(tree) && prints_value(tree) {
        return true;
    }
    if is_computed_index(node) {
        return true;
    }
    if let Some((number, sides)) = comparison(node) {
        return sides.iter().any(|side| is_other(side, number, names));
    }
    if let Some((value, body)) = bound(node) {
        let is_length = is_length(value, names);
        return is_other(value, is_length, names) || is_other(body, compared, &names.with([is_length]));
    }
    let is_two = matches!(node.get("two"), Some(Tree::Scalar(two)) if two == "true");
    let in_loop = match (node.kind, node.variant) {
        ("Comprehension", _) => Some(names.with(std::iter::repeat_n(false, 1 + usize::from(is_two)))),
        ("Expr", "project") => Some(names.with([false])),
        _ => None,
    };
    let with_value = inner(node);
    node.fields.iter().any(|(name, field)| match *name {
        "origin" | "message" | "messageProgram" | "raw" | "onDelete" | "rounds" | "text" => false,
        // What has a name is compared where it is read.
        "source" | "value" if node.kind == "Binding" => is_other(field, is_length(field, names), names),
        "program" if node.kind == "Variable" => is_other(field, is_length(field, names), names),
        "keep" | "body" if in_loop.is_some() => is_other(field, false, in_loop.as_ref().unwrap_or(names)),
        _ => match field {
            Tree::List(items) => items.iter().any(|item| {
                let is_value = with_value.iter().any(|own| std::ptr::eq(*own, item));
                is_other(item, compared && is_value, names)
            }),
            _ => {
                let is_value = with_value.iter().any(|own| std::ptr::eq(*own, field));
                is_other(field, compared && is_value, names)
            }
        },
    })
}

/// Whether an item of a constant list is read by a value: its positions are what the value is
/// compared with. Of an object they are known (`analysis::reads`).
fn is_computed_index(node: &Node) -> bool {
    let is_known = |step: &Tree| step.as_node().is_some_and(|step| step.variant == "key");
    let is_constant = |tree: &Tree| {
        tree.as_node().is_some_and(|node| {
            matches!(node.variant, "const" | "folded")
                && !node.fields.iter().any(|(_, value)| matches!(value, Tree::Map(_)))
        })
    };
    node.kind == "Walk"
        && node.get("base").is_some_and(is_constant)
        && !list(node.get("steps")).iter().all(is_known)
}

/// Functions that give numbers.
const NUMBERS: [&str; 12] = [
    "length",
    "sum",
    "add",
    "subtract",
    "multiply",
    "divide",
    "modulo",
    "round",
    "abs",
    "ceil",
    "floor",
    "to_number",
];

/// Whether something that is no number becomes a text.
pub(crate) fn prints_value(tree: &Tree) -> bool {
    let is_number = |tree: &Tree| {
        called(tree).and_then(|call| call.text("function")).is_some_and(|name| NUMBERS.contains(&name))
    };
    match tree {
        Tree::Node(node) => {
            let prints = node.text("function") == Some("to_string");
            (prints && !list(node.get("args")).iter().all(is_number))
                || node.fields.iter().any(|(_, field)| prints_value(field))
        }
        Tree::List(items) => items.iter().any(prints_value),
        Tree::None | Tree::Scalar(_) | Tree::Text(_) | Tree::Map(_) => false,
    }
}

/// The sides of a comparison, and whether one of them is a number that is no less than zero.
fn comparison(node: &Node) -> Option<(bool, Vec<&Tree>)> {
    let (sides, compares): (Vec<&Tree>, bool) = match (node.kind, node.variant) {
        ("Condition", _) => {
            let operator =
                node.get("operator").and_then(Tree::as_node).map_or("", |operator| operator.variant);
            let sides = ["key", "value"].iter().filter_map(|side| node.get(side)).collect();
            (sides, matches!(operator, "equals" | "notEquals" | "order"))
        }
        ("Expr", "compare") => (list(node.get("sides")).iter().collect(), true),
        ("Invoke", _) => {
            let is = matches!(node.text("function"), Some("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_"));
            is.then_some(())?;
            (list(node.get("args")).iter().collect(), true)
        }
        _ => return None,
    };
    let is_number =
        sides.iter().any(|side| is_number(side)) || crate::lists::small_model::counts::are_counts(node);
    Some((compares && is_number, sides))
}

fn is_number(tree: &Tree) -> bool {
    match tree {
        Tree::Scalar(text) | Tree::Text(text) => text.parse::<f64>().is_ok_and(|n| (0.0..1e6).contains(&n)),
        Tree::Node(node) if matches!(node.variant, "const" | "folded") || node.kind == "Folded" => {
            node.fields.iter().any(|(_, value)| is_number(value))
        }
        _ => false,
    }
}
