//! How many items of lists matter.
//!
//! In: a lowered policy. Out: [`Items`]. A rule says of a list that some item is such, or that all
//! are, several of these perhaps. What it says of a list it says of a part of it that keeps one
//! item for each such statement that is true, and this many items more as a number that its length
//! is compared with (`docs/internals/equivalence.md`, "Lists").
//!
//! Rules that check each item (patterns, `foreach`, `all`) are satisfied by a part of a list when
//! they are by the list: to keep them satisfied takes no item. Unless what they say of an item is
//! about other lists, too: then each item may need one of these, and no number is known.
//!
//! - `conditions`: how many items the lists of a condition need
//! - `count`: how many items, and of which lists
//! - `counts`: two counts of one list
//! - `lengths`: the numbers and lists that the lengths of lists, or lists as a whole, are compared
//!   with
//! - `model`: what the other files count with: the numbers of a rule, and those of one statement
//! - `provenance`: lists of which each item comes from one item of a list that the object has
//! - `rounds`: texts in which variables stand in variables
//! - `shapes`: which values that are compared may be lists, or objects with any keys
//! - `texts`: labels and annotations: texts, and so no lists
//! - `used`: lengths that are used in ways which say nothing of how many items matter

pub(crate) mod conditions;
pub(crate) mod count;
pub(crate) mod counts;
pub(crate) mod lengths;
pub(crate) mod model;
pub(crate) mod provenance;
pub(crate) mod rounds;
pub(crate) mod shapes;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod texts;
pub(crate) mod used;

use std::collections::BTreeSet;

use ephor_analysis::tree::{Node, Tree};
use ephor_ir::Policy;

use crate::lists::searched::searched;
pub(crate) use crate::lists::small_model::count::Count;
use crate::lists::small_model::lengths::names_length;
pub(crate) use crate::lists::small_model::model::Items;
use crate::lists::small_model::model::{ListProvenance, LoopUse, Need, comprehension};
pub(crate) use crate::lists::small_model::shapes::Shapes;
use crate::predicates::summary::{list, position};

impl Items {
    /// Those of a policy and of what else counts, such as exceptions.
    pub(crate) fn of(policy: &Policy, more: &[Option<Tree>], shapes: Shapes) -> Items {
        let mut found = Items { shapes, ..Items::default() };
        let mut need = Need::default();
        for rule in policy.all_rules() {
            found.constants.clear();
            found.texts.clear();
            for variable in rule.expressions.iter().flat_map(|shared| &*shared.variables) {
                let tree = Tree::of(variable);
                let is_constant = tree.as_ref().is_some_and(|tree| found.is_local(tree, &[]));
                let program = tree.as_ref().and_then(Tree::as_node).and_then(|node| node.get("program"));
                let is_text = program.is_some_and(|program| found.is_text(program));
                found.constants.push(is_constant);
                found.texts.push(is_text);
            }
            found.searched = searched(rule);
            if let Some(tree) = Tree::of(&**rule) {
                let (tree, is_all) = rounds::read(tree);
                if !is_all {
                    found.open.get_or_insert_with(|| "a text is put together from variables".into());
                }
                let prints = found.shapes.has_whole_lists() && used::prints_value(&tree);
                if prints || tree.as_node().is_some_and(used::has_other_uses) {
                    found.other_uses = true;
                }
                found.is_length_named |= names_length(&tree, false);
                tree.as_node().into_iter().for_each(|rule| found.note_grown(rule));
                need = need.and(found.tree(&tree, true));
            }
        }
        found.grown = ListProvenance::default();
        for tree in more.iter().flatten() {
            need = need.and(found.tree(tree, false).either());
        }
        for source in &policy.admit {
            if let Some(tree) = Tree::of(source) {
                need = need.and(found.tree(&tree, false).either());
            }
        }
        (found.violated, found.satisfied) = (need.to_fail, need.to_hold);
        (found.violated_by_others, found.satisfied_by_others) = (need.fails_by_others, need.holds_by_others);
        (found.violated_without, found.satisfied_without) = (need.fails_without, need.holds_without);
        found
    }

    /// `plain`: the part decides by itself, it is no operand of something else.
    fn tree(&mut self, tree: &Tree, plain: bool) -> Need {
        match tree {
            Tree::None | Tree::Scalar(_) | Tree::Text(_) => Need::default(),
            Tree::List(items) => {
                items.iter().fold(Need::default(), |sum, one| sum.and(self.tree(one, plain)))
            }
            Tree::Map(entries) => {
                entries.iter().fold(Need::default(), |sum, (_, one)| sum.and(self.tree(one, plain)))
            }
            Tree::Node(node) => self.node(node, plain),
        }
    }

    /// What variables need that are no lists which grow with others: the items of these count where
    /// they are read.
    fn variables(&mut self, variables: &[Tree]) -> Need {
        let all = variables.iter().enumerate();
        all.fold(Need::default(), |sum, (at, variable)| match self.is_grown_variable(at) {
            true => sum.and(self.filters(variable)),
            false => sum.and(self.tree(variable, false)),
        })
    }

    /// What the tests and values of items need in an expression whose items count elsewhere.
    fn filters(&mut self, tree: &Tree) -> Need {
        match tree {
            Tree::None | Tree::Scalar(_) | Tree::Text(_) | Tree::Map(_) => Need::default(),
            Tree::List(items) => items.iter().fold(Need::default(), |sum, one| sum.and(self.filters(one))),
            Tree::Node(node) => {
                let is_loop =
                    node.kind == "Comprehension" || (node.kind, node.variant) == ("Expr", "project");
                node.fields.iter().fold(Need::default(), |sum, (name, field)| match *name {
                    "origin" | "message" | "text" | "raw" | "onDelete" | "rounds" => sum,
                    "keep" if is_loop => sum.and(self.tree(field, false)),
                    _ => sum.and(self.filters(field)),
                })
            }
        }
    }

    /// The value that is looked for in a list of which each item comes from one of the object.
    fn looked_into<'t>(&self, node: &'t Node) -> Option<&'t Tree> {
        let is_search = node.kind == "Invoke" && matches!(node.text("function"), Some("@in" | "_in_"));
        match list(node.get("args")) {
            [value, list] if is_search && self.grows(list) => Some(value),
            _ => None,
        }
    }

    /// Whether two lists, or objects, are compared with each other as a whole.
    fn compares_lists(&self, node: &Node) -> bool {
        let sides = match (node.kind, node.variant) {
            ("Invoke", _) if matches!(node.text("function"), Some("_==_" | "_!=_")) => node.get("args"),
            ("Expr", "compare") => node.get("sides"),
            _ => return false,
        };
        let is_constant =
            |tree: &Tree| tree.as_node().is_some_and(|node| matches!(node.variant, "const" | "folded"));
        let may_be_list =
            |side: &Tree| !is_constant(side) && !self.is_text(side) && self.shapes.may_be_list(side);
        list(sides).iter().all(may_be_list)
    }

    /// What a conditional expression needs that decides by itself: one with a constant is like `&&`
    /// or `||`.
    fn choice(&mut self, test: &Tree, then: &Tree, other: &Tree) -> Need {
        let [test, then, otherwise] = [test, then, other].map(|part| self.tree(part, true));
        let constant = other.as_node().filter(|node| node.variant == "const").and_then(|node| node.get(""));
        match constant {
            Some(Tree::Scalar(text)) if text == "false" => test.and(then),
            Some(Tree::Scalar(text)) if text == "true" => test.negated().and(then),
            _ => test.either().and(then).and(otherwise),
        }
    }

    fn node(&mut self, node: &Node, mut plain: bool) -> Need {
        let plain_around = plain;
        if node.kind == "Binding" {
            self.is_searched =
                node.text("name").is_some_and(|name| self.searched.iter().any(|own| **own == *name));
        }
        let kind = match (node.kind, node.variant) {
            ("Expr", "project") if std::mem::take(&mut self.is_searched) => {
                self.any = true;
                None
            }
            ("Shape", "list") => Some(if self.is_existence { LoopUse::Some } else { LoopUse::Each }),
            ("ForEach", _) => Some(LoopUse::Each),
            ("Expr", "project") => Some(LoopUse::Other),
            ("Comprehension", _) => Some(match comprehension(node) {
                "all" => LoopUse::Each,
                "exists" => LoopUse::Some,
                _ => LoopUse::Other,
            }),
            _ => None,
        };
        match (node.kind, node.variant) {
            (
                "Expr",
                "decide" | "cells" | "once" | "bind" | "and" | "or" | "comprehension" | "variable" | "not",
            ) => {}
            // What is wrapped decides itself.
            ("Expr", "invoke") | ("Invoke", _) if is_negation(node) => {}
            ("Expr", "invoke") if matches!(node.get(""), Some(Tree::Node(inner)) if is_negation(inner)) => {}
            ("Expr", "invoke")
                if node
                    .get("")
                    .and_then(Tree::as_node)
                    .and_then(|inner| self.looked_into(inner))
                    .is_some() => {}
            ("Expr" | "Invoke", _) | ("Conditions" | "Condition", _) => plain = false,
            _ => {}
        }
        if node.kind == "Condition" {
            return self.condition(node);
        }
        if let Some(value) = self.looked_into(node).filter(|_| plain_around) {
            // Some item of a list is looked for.
            self.any = true;
            let searched = list(node.get("args")).last();
            let of = Count::of_lists(1, &self.names(searched));
            let filters = searched.map(|list| self.filters(list)).unwrap_or_default();
            return self.tree(value, false).and(filters).and(Need { to_hold: of, ..Need::default() });
        }
        if let ("Expr", "cond", [test, then, other]) = (node.kind, node.variant, list(node.get("")))
            && plain_around
        {
            return self.choice(test, then, other);
        }
        if self.defines_grown(node) {
            // Its items count where they are read.
            return node.fields.iter().fold(Need::default(), |sum, (_, field)| sum.and(self.filters(field)));
        }
        let mut need = Need::both(usize::from(self.reads_grown(node)));
        if matches!((node.kind, node.variant), ("Expr", "call" | "compare") | ("Invoke", _)) {
            need = need.and(Need::both(self.lengths(node)));
        }
        if self.compares_lists(node) {
            need = need.and(Need { holds_by_others: true, fails_by_others: true, ..Need::default() });
        }
        need = need.and(Need::both(usize::from(self.looks_into_list(node))));
        if matches!((node.kind, node.variant), ("Expr", "index") | ("Step", "key"))
            && position(node).is_some()
        {
            // The first item stays the first one.
            need = need.and(Need::both(1));
            self.any = true;
        }
        // Keys with wildcards look for an entry; so do filters, and their selectors.
        let is_entry = match (node.kind, node.variant) {
            ("Entry", _) => node.text("key").is_some_and(|key| key.contains(['*', '?'])),
            _ => false,
        };
        if is_entry {
            need = need.and(Need::both(1));
            self.any = true;
        }
        if node.kind == "PodSecurity" {
            // A container, volume or sysctl is enough to fail; an item of a list in it may have to
            // be there.
            self.any = true;
            return need.and(Need { to_hold: Count::of(1), to_fail: Count::of(2), ..Need::default() });
        }
        if node.kind == "Filter" {
            need = need.and(Need::both(looked_for(node)));
        }
        // An anchor says of the list below it that one item must match, instead of each.
        let anchor = node.get("anchor").and_then(Tree::as_node).map(|anchor| anchor.variant);
        let outside = std::mem::replace(&mut self.is_existence, anchor == Some("existence"));
        let walked = match node.kind {
            "Comprehension" => node.get("range").filter(|list| self.grows(list)),
            "ForEach" => node.get("list").filter(|list| {
                crate::lists::small_model::provenance::expression(list).is_some_and(|l| self.grows(l))
            }),
            _ => None,
        };
        for (name, value) in &node.fields {
            let is_walked = walked.is_some_and(|list| std::ptr::eq(list, value))
                || (node.kind == "ForEach" && *name == "list" && walked.is_some());
            if is_walked {
                need = need.and(self.filters(value));
            }
            if !is_walked && !matches!(*name, "origin" | "message" | "text" | "raw" | "onDelete" | "rounds") {
                need = need.and(match (node.kind, *name, value) {
                    ("Expressions", "variables", Tree::List(variables)) => self.variables(variables),
                    // Where one is not true the rule does not apply.
                    ("Expressions", "conditions", _) => self.tree(value, plain).negated(),
                    _ => self.tree(value, plain),
                });
            }
        }
        self.is_existence = outside;
        if is_negation(node) || (node.kind, node.variant) == ("Expr", "not") {
            need = need.negated();
        }
        let Some(kind) = kind else { return need };
        self.any = true;
        let names = match (node.kind, node.variant) {
            ("Comprehension", _) => self.names(node.get("range")),
            ("ForEach", _) => {
                self.names(node.get("list").and_then(crate::lists::small_model::provenance::expression))
            }
            ("Expr", "project") => self.names_of_projection(node),
            _ => BTreeSet::new(),
        };
        let one = Count::of_lists(1, &names);
        // Items of lists in an item come with it; those of lists around it are more.
        let is_around = reads_around(node);
        let with_one = |count: &Count| match is_around {
            true => count.clone().and(&one),
            false => count.clone().or(&one),
        };
        let is_about_items = self.is_about_items(node);
        // Of a statement about each item.
        let each = |need: Need| match is_about_items {
            // Of each item it says something of other lists, too.
            false => Need {
                to_hold: Count::default(),
                to_fail: need.to_fail.and(&one),
                holds_by_others: need.holds_by_others || need.to_hold.total > 0,
                fails_by_others: need.fails_by_others,
                holds_without: true,
                fails_without: need.fails_without,
            },
            // One item is enough to fail, with what this needs; each that stays has what it needs
            // itself, and may need items of what is around it.
            true => Need {
                to_fail: with_one(&need.to_fail),
                holds_by_others: need.holds_by_others || (need.to_hold.total > 0 && is_around),
                holds_without: true,
                ..need
            },
        };
        match kind {
            LoopUse::Each if plain => each(need),
            // Some item is such when not all are the contrary.
            LoopUse::Some if plain => each(need.negated()).negated(),
            _ => {
                // What it says of each item may need others.
                let by_others = !is_about_items && need.to_hold.total + need.to_fail.total > 0;
                let own = if comprehension(node) == "one" { Count::of_lists(2, &names) } else { one };
                need.and(Need {
                    holds_by_others: by_others,
                    fails_by_others: by_others,
                    ..Need::both_of(own)
                })
            }
        }
    }

    /// Whether an operator or function looks for items of a list by itself.
    fn looks_into_list(&self, node: &Node) -> bool {
        let is_constant = |tree: &Tree| {
            let node = tree.as_node();
            node.is_some_and(|n| matches!(n.variant, "const" | "folded"))
                || (self.is_local(tree, &[]) && !reads(tree, 0))
        };
        match (node.kind, node.variant) {
            // Of a constant list it says something of a value.
            ("Invoke", _) if matches!(node.text("function"), Some("@in" | "_in_")) => {
                match node.get("args") {
                    Some(Tree::List(args)) => !args.last().is_some_and(is_constant),
                    _ => true,
                }
            }
            ("Expr", "call") => node.text("function") == Some("contains") && !is_key_of_object(node),
            _ => false,
        }
    }

    /// Whether what a loop says of its items depends on these alone.
    fn is_about_items(&self, node: &Node) -> bool {
        let parts: &[&str] = match node.kind {
            "Comprehension" => &["keep", "body"],
            "ForEach" => &["bindings", "admit", "check"],
            "Expr" => &["keep", "body"],
            _ => return !matches!(node.variant, "list") || self.is_local(&Tree::Node(node.clone()), &[]),
        };
        // The entries of a loop have names.
        let entries = match node.get("bindings") {
            Some(Tree::List(entries)) => &**entries,
            _ => &[],
        };
        let names: Vec<&str> =
            entries.iter().filter_map(|entry| entry.as_node().and_then(|node| node.text("name"))).collect();
        let mut fields = node.fields.iter().filter(|(name, _)| parts.contains(name));
        fields.all(|(_, value)| self.is_local(value, &names))
    }

    /// Whether an expression reads nothing but what the loops around it walk, entries with these
    /// names and constants.
    fn is_local(&self, tree: &Tree, names: &[&str]) -> bool {
        match tree {
            Tree::None | Tree::Scalar(_) | Tree::Text(_) => true,
            Tree::List(items) => items.iter().all(|item| self.is_local(item, names)),
            Tree::Map(entries) => entries.iter().all(|(_, value)| self.is_local(value, names)),
            Tree::Node(node) => match (node.kind, node.variant) {
                ("Expr", "root") => false,
                ("Expr", "variable") => node.fields.iter().any(|(_, at)| {
                    let at = match at {
                        Tree::Scalar(text) => text.parse::<usize>().ok(),
                        _ => None,
                    };
                    at.and_then(|at| self.constants.get(at)).is_some_and(|is_constant| *is_constant)
                }),
                ("Expr", "path") if is_of_element(node, names) => true,
                // What is applied to the answer reads nothing else.
                ("BindingSource", "given") => {
                    node.get("answer").is_none_or(|answer| self.is_local(answer, names))
                }
                _ => {
                    let fields = node.fields.iter();
                    let mut fields = fields.filter(|(name, _)| {
                        !matches!(*name, "origin" | "message" | "text" | "raw" | "rounds")
                    });
                    fields.all(|(_, value)| self.is_local(value, names))
                }
            },
        }
    }
}

/// Whether what a loop says of its items is about values of loops around it, too.
fn reads_around(node: &Node) -> bool {
    reads(&Tree::Node(node.clone()), 0)
}

/// Whether a part of a loop reads the value of one that is this many further out.
fn reads(tree: &Tree, depth: usize) -> bool {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => false,
        Tree::List(items) => items.iter().any(|item| reads(item, depth)),
        Tree::Map(entries) => entries.iter().any(|(_, value)| reads(value, depth)),
        Tree::Node(node) => match (node.kind, node.variant) {
            ("Expr", "local") => match node.get("") {
                Some(Tree::Scalar(at)) => at.parse::<usize>().is_ok_and(|at| at >= depth),
                _ => true,
            },
            ("Expr", "path") => {
                let first = list(node.get("keys")).first().and_then(Tree::as_text);
                let rest = first.and_then(|key| key.strip_prefix("element"));
                rest.is_some_and(|rest| !rest.is_empty())
                    || node.get("base").is_some_and(|base| reads(base, depth))
            }
            _ => node.fields.iter().any(|(name, field)| {
                let is_two = matches!(node.get("two"), Some(Tree::Scalar(two)) if two == "true");
                let binders = match (node.kind, node.variant, *name) {
                    ("Comprehension", _, "keep" | "body") => 1 + usize::from(is_two),
                    ("Expr", "project", "keep" | "body") | ("Expr", "let", "body") => 1,
                    ("Expr", "bind", _) => 1,
                    _ => 0,
                };
                reads(field, depth + binders)
            }),
        },
    }
}

/// Whether a call says whether an object has a key: `contains(keys(object), 'key')`.
fn is_key_of_object(contains: &Node) -> bool {
    fn is_keys(tree: &Tree) -> bool {
        tree.as_node().is_some_and(|node| match node.variant {
            "rescue" => node.get("expr").is_some_and(is_keys),
            "call" => node.text("function") == Some("keys"),
            _ => false,
        })
    }
    let is_text = |tree: &Tree| {
        let constant = tree.as_node().filter(|node| node.variant == "const");
        constant.and_then(|node| node.get("")).is_some_and(|value| value.as_text().is_some())
    };
    matches!(list(contains.get("args")), [keys, key] if is_keys(keys) && is_text(key))
}

/// How many entries of annotations and labels a filter looks for by patterns.
fn looked_for(filter: &Node) -> usize {
    fn patterns(tree: &Tree) -> usize {
        match tree {
            Tree::Text(text) => usize::from(text.contains(['*', '?'])),
            Tree::List(items) => items.iter().map(patterns).sum(),
            Tree::Map(entries) => entries
                .iter()
                .map(|(key, value)| usize::from(key.contains(['*', '?'])) + patterns(value))
                .sum(),
            Tree::Node(node) => node.fields.iter().map(|(_, value)| patterns(value)).sum(),
            Tree::None | Tree::Scalar(_) => 0,
        }
    }
    let annotations = match filter.get("annotations") {
        Some(Tree::List(pairs)) => &**pairs,
        _ => &[],
    };
    // Under a name that is known there is one annotation at most.
    let is_wild = |pair: &&Tree| match pair {
        Tree::List(parts) => parts.first().is_none_or(|name| patterns(name) > 0),
        _ => true,
    };
    let annotations: usize = annotations.iter().filter(is_wild).map(patterns).sum();
    annotations + filter.get("selector").map_or(0, patterns)
}

/// Whether a path is one of the element of a loop of `foreach`, or of an entry with one of these
/// names.
fn is_of_element(path: &Node, names: &[&str]) -> bool {
    let is_root =
        matches!(path.get("base"), Some(Tree::Node(base)) if (base.kind, base.variant) == ("Expr", "root"));
    let first = match path.get("keys") {
        Some(Tree::List(keys)) => keys.first().and_then(Tree::as_text),
        _ => None,
    };
    let is_element = |key: &str| {
        let rest = key.strip_prefix("element").map(|rest| rest.strip_prefix("Index").unwrap_or(rest));
        rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
    };
    is_root && first.is_some_and(|key| is_element(key) || names.contains(&key))
}

fn is_negation(node: &Node) -> bool {
    node.kind == "Invoke" && node.text("function") == Some("!_")
}
