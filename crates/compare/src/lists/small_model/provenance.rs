//! Lists of which each item comes from one item of a list that the object has.
//!
//! In: an expression. Out: whether it gives such a list: the items of lists, one list after the
//! other, each as it is, left out or replaced by what is computed of it alone. So an item of it
//! needs one item of these, and without other items it has no items more. Expressions that have a
//! name (variables, entries of a context) are looked into.

use std::collections::BTreeSet;

use ephor_analysis::tree::{Node, Tree};

use crate::lists::small_model::model::{Items, ListProvenance, comprehension};
use crate::predicates::summary::list;

impl Items {
    /// Notes which variables and entries of a rule are such lists.
    pub(crate) fn note_grown(&mut self, rule: &Node) {
        self.grown = ListProvenance {
            has_binders: has_binders(&Tree::Node(rule.clone())),
            ..ListProvenance::default()
        };
        let variables = rule.get("expressions").and_then(Tree::as_node).and_then(|own| own.get("variables"));
        for variable in list(variables) {
            let program = variable.as_node().and_then(|own| own.get("program"));
            let names = program.and_then(|program| self.computes_items(program));
            self.grown.variables.push(names);
            let part = program.and_then(expression).filter(|expr| !makes_list(expr) && self.grows(expr));
            let names = part.map(|expr| self.names(Some(expr)));
            self.grown.parts.push(names);
        }
        // Texts in which entries are put together say nothing of what they read.
        let entries = list(rule.get("bindings"));
        if entries.is_empty() || has_texts(&Tree::Node(rule.clone())) {
            return;
        }
        let name = |entry: &Tree| entry.as_node().and_then(|own| own.text("name")).map(str::to_string);
        for (at, entry) in entries.iter().enumerate() {
            let Some(name) = name(entry) else { continue };
            let is_only = entries.iter().enumerate().all(|(other, e)| {
                at == other || crate::lists::small_model::provenance::name(e) != Some(&*name)
            });
            if let Some(names) = self.computes_items(entry).filter(|_| is_only) {
                self.grown.entries.insert(name, names);
            }
        }
    }

    /// The fields of whose lists a variable, an entry or an operand computes such a list; nothing
    /// where it only reads one.
    fn computes_items(&self, tree: &Tree) -> Option<BTreeSet<String>> {
        let expr = expression(tree).filter(|expr| makes_list(expr) && self.grows(expr))?;
        Some(self.names(Some(expr)))
    }

    /// The fields of whose lists an expression gives items; none where they are not known.
    pub(crate) fn names(&self, tree: Option<&Tree>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        match tree.is_some_and(|tree| self.add_names(tree, &mut found)) {
            true => found,
            false => BTreeSet::new(),
        }
    }

    /// The same of a projection.
    pub(crate) fn names_of_projection(&self, node: &Node) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        match self.add_names_of_loop([node.get("source"), node.get("body")], &mut found) {
            true => found,
            false => BTreeSet::new(),
        }
    }

    fn add_names(&self, tree: &Tree, out: &mut BTreeSet<String>) -> bool {
        let Some(node) = tree.as_node() else { return false };
        let mut all =
            |trees: &[Tree]| !trees.is_empty() && trees.iter().all(|tree| self.add_names(tree, out));
        match (node.kind, node.variant) {
            ("Expr", "const") => is_empty(tree),
            ("Expr", "variable") => match variable(node).and_then(|at| self.grown.variables.get(at)) {
                Some(Some(names)) => {
                    out.extend(names.iter().cloned());
                    !names.is_empty()
                }
                _ => self.part(node).is_some_and(|names| {
                    out.extend(names.iter().cloned());
                    !names.is_empty()
                }),
            },
            ("Expr", "path") => match (entry(node), list(node.get("keys"))) {
                (Some(name), [_]) => self.grown.entries.get(name).is_some_and(|names| {
                    out.extend(names.iter().cloned());
                    !names.is_empty()
                }),
                (None, [.., last]) => last.as_text().is_some_and(|last| {
                    out.insert(last.to_string());
                    !matches!(last, "element" | "object" | "oldObject" | "request")
                }),
                _ => false,
            },
            ("Expr", "walk" | "comprehension" | "invoke" | "flatten") => {
                node.get("").is_some_and(|inner| self.add_names(inner, out))
            }
            ("Expr", "once" | "rescue") => node.get("expr").is_some_and(|expr| self.add_names(expr, out)),
            ("Expr", "let") => node.get("body").is_some_and(|body| self.add_names(body, out)),
            ("Expr", "or") => match list(node.get("")) {
                // It has no items, either.
                [first, other] if is_empty_text(other) => self.add_names(first, out),
                sides => all(sides),
            },
            ("Expr", "list") => all(list(node.get(""))),
            ("Expr", "orElse") => all(list(node.get("sides"))),
            ("Expr", "cond" | "unlessNull") => match list(node.get("")) {
                [_, rest @ ..] => all(rest),
                [] => false,
            },
            ("Walk", _) => match list(node.get("steps")) {
                [] => node.get("base").is_some_and(|base| self.add_names(base, out)),
                [.., last] => last.as_node().and_then(|step| step.text("key")).is_some_and(|key| {
                    out.insert(key.to_string());
                    true
                }),
            },
            ("Invoke", _) => all(list(node.get("args"))),
            // What is computed of an item may be a list of it.
            ("Comprehension", _) => self.add_names_of_loop([node.get("range"), node.get("body")], out),
            ("Expr", "project") => self.add_names_of_loop([node.get("source"), node.get("body")], out),
            _ => false,
        }
    }

    fn add_names_of_loop(&self, [walked, body]: [Option<&Tree>; 2], out: &mut BTreeSet<String>) -> bool {
        if let Some(body) = body {
            self.add_names(body, out);
        }
        walked.is_some_and(|walked| self.add_names(walked, out))
    }

    /// Whether a node reads a list that has a name.
    pub(crate) fn reads_grown(&self, node: &Node) -> bool {
        match (node.kind, node.variant) {
            ("Expr", "variable") => variable(node).is_some_and(|at| self.is_grown_variable(at)),
            ("Expr", "path") => entry(node).is_some_and(|name| self.grown.entries.contains_key(name)),
            _ => false,
        }
    }

    /// Whether an expression reads one somewhere.
    pub(crate) fn has_grown(&self, tree: &Tree) -> bool {
        has_node(tree, &|node| self.reads_grown(node))
    }

    /// Whether what is defined here is such a list: its items count where it is read.
    pub(crate) fn defines_grown(&self, node: &Node) -> bool {
        match node.kind {
            "Binding" => node.text("name").is_some_and(|name| self.grown.entries.contains_key(name)),
            _ => false,
        }
    }

    pub(crate) fn is_grown_variable(&self, at: usize) -> bool {
        self.grown.variables.get(at).is_some_and(Option::is_some)
    }

    /// The fields of a variable that is a part of the object.
    fn part(&self, variable: &Node) -> Option<&BTreeSet<String>> {
        self.grown.parts.get(crate::lists::small_model::provenance::variable(variable)?)?.as_ref()
    }

    /// Whether an expression gives such a list, or reads a list or a single value.
    pub(crate) fn grows(&self, tree: &Tree) -> bool {
        let Some(node) = tree.as_node() else { return false };
        let inner = || node.get("").is_some_and(|inner| self.grows(inner));
        let all = |trees: &[Tree]| !trees.is_empty() && trees.iter().all(|tree| self.grows(tree));
        let or_empty = |sides: &[Tree]| match sides {
            [first, other] => self.grows(first) && is_empty(other),
            _ => false,
        };
        match (node.kind, node.variant) {
            ("Expr", "const") => is_empty(tree),
            // Binders that are no loops name anything.
            ("Expr", "local") => !self.grown.has_binders,
            ("Expr", "variable") => {
                variable(node).is_some_and(|at| self.is_grown_variable(at)) || self.part(node).is_some()
            }
            ("Expr", "path") => match node.get("base").and_then(Tree::as_node) {
                Some(base) if base.variant == "root" => {
                    entry(node).is_none_or(|name| self.grown.entries.contains_key(name))
                }
                _ => node.get("base").is_some_and(|base| self.grows(base)),
            },
            ("Expr", "walk" | "comprehension" | "invoke" | "flatten") => inner(),
            ("Expr", "once" | "rescue") => node.get("expr").is_some_and(|expr| self.grows(expr)),
            ("Expr", "list") => all(list(node.get(""))),
            // Lists below an object that has a name.
            ("Expr", "let") if !is_other_binder(node) => {
                node.get("body").is_some_and(|body| self.grows(body))
            }
            ("Expr", "unlessNull") => match list(node.get("")) {
                [object, given] => is_path(object) && self.grows(given),
                _ => false,
            },
            ("Expr", "or") => match list(node.get("")) {
                [first, other] if is_empty_text(other) => self.grows(first),
                sides => or_empty(sides),
            },
            ("Expr", "orElse") => or_empty(list(node.get("sides"))),
            ("Expr", "cond") => match list(node.get("")) {
                [test, given, other] => {
                    let is_test =
                        test.as_node().is_some_and(|test| (test.kind, test.variant) == ("Expr", "test"));
                    is_test && self.grows(given) && is_empty(other)
                }
                _ => false,
            },
            ("Walk", _) => {
                let is_key = |step: &Tree| {
                    let step = step.as_node();
                    step.is_some_and(|step| matches!(step.get("key"), Some(Tree::Text(_))))
                };
                list(node.get("steps")).iter().all(is_key)
                    && node.get("base").is_some_and(|base| self.grows(base))
            }
            ("Invoke", _) => {
                matches!(node.text("function"), Some("_+_" | "dyn")) && all(list(node.get("args")))
            }
            ("Comprehension", _) => {
                let is_list = comprehension(node) == "list" && node.get("two").is_none();
                is_list && self.walks(node.get("range"), [node.get("keep"), node.get("body")])
            }
            ("Expr", "project") => self.walks(node.get("source"), [node.get("keep"), node.get("body")]),
            _ => false,
        }
    }

    /// Whether a loop over a list says something of each item alone.
    fn walks(&self, list: Option<&Tree>, of_item: [Option<&Tree>; 2]) -> bool {
        list.is_some_and(|list| self.grows(list))
            && of_item.into_iter().flatten().all(|tree| self.is_local(tree, &[]))
    }
}

/// The expression that a part with one expression computes.
pub(crate) fn expression(tree: &Tree) -> Option<&Tree> {
    let node = tree.as_node()?;
    if node.kind == "Expr" {
        return Some(tree);
    }
    let is_other = match node.kind {
        "Template" => node.variant != "whole",
        "BindingSource" => node.variant != "variable",
        _ => node.variant == "dynamic",
    };
    if is_other {
        return None;
    }
    if node.get("value").is_some() || node.get("default").is_some() {
        return None;
    }
    expression(["", "query", "expr", "source"].iter().find_map(|name| node.get(name))?)
}

/// The name that a path reads below the root, if it is not the request.
fn entry(path: &Node) -> Option<&str> {
    let base = path.get("base").and_then(Tree::as_node)?;
    let first = list(path.get("keys")).first().and_then(Tree::as_text)?;
    let is_request = matches!(first, "request" | "object" | "oldObject" | "element");
    (base.variant == "root" && !is_request).then_some(first)
}

fn name(entry: &Tree) -> Option<&str> {
    entry.as_node()?.text("name")
}

/// Which variable a node reads.
fn variable(node: &Node) -> Option<usize> {
    match node.get("")? {
        Tree::Scalar(at) => at.parse().ok(),
        _ => None,
    }
}

/// Whether there are texts that are put together of others.
fn has_texts(tree: &Tree) -> bool {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => false,
        Tree::List(items) => items.iter().any(has_texts),
        Tree::Map(entries) => entries.iter().any(|(_, value)| has_texts(value)),
        Tree::Node(node) => {
            let is_text = node.kind == "Template" && matches!(node.variant, "text" | "rounds");
            let mut below =
                node.fields.iter().filter(|(name, _)| !matches!(*name, "message" | "rounds" | "raw"));
            is_text || below.any(|(_, value)| has_texts(value))
        }
    }
}

/// Whether an expression computes a list of items, and is no path.
pub(crate) fn makes_list(tree: &Tree) -> bool {
    has_node(tree, &|node| {
        node.kind == "Comprehension" || (node.kind == "Expr" && matches!(node.variant, "project" | "flatten"))
    })
}

fn has_binders(tree: &Tree) -> bool {
    has_node(tree, &is_other_binder)
}

/// Whether a node gives a name to something else than a part of the object.
fn is_other_binder(node: &Node) -> bool {
    node.kind == "Expr"
        && (node.variant == "bind" || (node.variant == "let" && !node.get("value").is_some_and(is_path)))
}

fn is_path(tree: &Tree) -> bool {
    tree.as_node().is_some_and(|node| match (node.kind, node.variant) {
        ("Expr", "local") => true,
        ("Expr", "path") => node
            .get("base")
            .and_then(Tree::as_node)
            .is_some_and(|base| base.variant == "root" || base.variant == "local"),
        ("Expr", "rescue") => node.get("expr").is_some_and(is_path),
        _ => false,
    })
}

fn has_node(tree: &Tree, is: &dyn Fn(&Node) -> bool) -> bool {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => false,
        Tree::List(items) => items.iter().any(|item| has_node(item, is)),
        Tree::Map(entries) => entries.iter().any(|(_, value)| has_node(value, is)),
        Tree::Node(node) => is(node) || node.fields.iter().any(|(_, value)| has_node(value, is)),
    }
}

/// Whether an expression is a list without items.
fn is_empty(tree: &Tree) -> bool {
    let constant = tree.as_node().filter(|node| (node.kind, node.variant) == ("Expr", "const"));
    matches!(constant.and_then(|node| node.get("")), Some(Tree::List(items)) if items.is_empty())
}

/// Whether an expression is a text without letters, which queries write for a list that is not
/// there.
fn is_empty_text(tree: &Tree) -> bool {
    let constant = tree.as_node().filter(|node| (node.kind, node.variant) == ("Expr", "const"));
    constant.and_then(|node| node.get("")).and_then(Tree::as_text).is_some_and(|text| text.is_empty())
}
