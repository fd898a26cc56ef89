//! The numbers and lists that the lengths of lists, or lists as a whole, are compared with.
//!
//! In: a comparison. Out: how many items a list needs so that it stays as it is.

use ephor_analysis::tree::{Node, Tree};

use crate::lists::small_model::model::Items;

/// Longer lists are not tried.
const MAX_TRIED_LENGTH: usize = 8;

impl Items {
    /// The numbers that lengths are compared with, and the lists that are compared as a whole.
    pub(crate) fn lengths(&mut self, node: &Node) -> usize {
        let compares = match node.kind {
            "Condition" | "Invoke" => true,
            _ => node.variant == "compare" || node.text("function").is_some_and(is_comparison),
        };
        let mut found = Constants::default();
        for (name, value) in &node.fields {
            if !matches!(*name, "origin" | "message" | "onDelete" | "rounds") {
                found.collect(value, false);
            }
        }
        let Constants { all: constants, any: has_constant, has_length, .. } = found;
        let has_length = has_length || self.is_length_named;
        if !compares {
            return 0;
        }
        // A text may be a list, too: of how many characters is a matter of classes of texts.
        let is_whole = match node.kind {
            "Condition" => matches!(operator(node), "equals" | "notEquals"),
            _ => node.text("function").is_none_or(|name| matches!(name, "_==_" | "_!=_")),
        };
        // A label or annotation is a text, which is the same as no list.
        let is_text = match node.get("args") {
            Some(Tree::List(sides)) => sides.iter().any(|side| self.is_text(side)),
            _ => false,
        };
        // Two lists, or objects, are different when one item is.
        let may_be_lists = match (node.kind, node.variant) {
            ("Invoke", _) | ("Expr", "compare") => self.compares_lists(node),
            _ => true,
        };
        let mut most = usize::from(is_whole && !has_constant && !is_text && may_be_lists);
        for constant in constants {
            match constant {
                Constant::Number(n) if has_length => {
                    most = most.max(usize::try_from(n.max(0)).unwrap_or(usize::MAX).saturating_add(1));
                }
                // A list may be looked for in a list of lists.
                Constant::List { length, is_inner } if is_whole || is_inner => most = most.max(length + 1),
                _ => {}
            }
        }
        self.any |= most > 0;
        self.limited(most)
    }

    /// This many items, if lists of them can be tried.
    pub(crate) fn limited(&mut self, items: usize) -> usize {
        if items <= MAX_TRIED_LENGTH {
            return items;
        }
        self.open.get_or_insert_with(|| "the length of a long list".into());
        0
    }
}

/// Whether an entry, a variable or the value of a binder is computed of a length; `named`: the tree
/// is a part of one.
pub(crate) fn names_length(tree: &Tree, named: bool) -> bool {
    match tree {
        Tree::None | Tree::Scalar(_) | Tree::Text(_) => false,
        Tree::List(items) => items.iter().any(|item| names_length(item, named)),
        Tree::Map(entries) => entries.iter().any(|(_, value)| names_length(value, named)),
        Tree::Node(node) => {
            if named && matches!(node.text("function"), Some("size" | "length")) {
                return true;
            }
            let is_name = matches!(node.kind, "Binding" | "Variable");
            let below = |(field, value): &(&str, Tree)| match (node.kind, node.variant, value) {
                // Its value, and what sees it.
                ("Expr", "bind", Tree::List(parts)) => {
                    parts.iter().enumerate().any(|(at, part)| names_length(part, named || at == 0))
                }
                ("Expr", "let", value) => names_length(value, named || *field == "value"),
                (_, _, value) => names_length(value, named || is_name),
            };
            node.fields.iter().any(below)
        }
    }
}

enum Constant {
    Number(i64),
    List { length: usize, is_inner: bool },
}

/// The constants below a node.
#[derive(Default)]
struct Constants {
    /// Those that say something of lengths.
    all: Vec<Constant>,
    /// Whether there are others, too.
    any: bool,
    /// Whether a length is computed.
    has_length: bool,
    /// In how many lists and objects of a constant those are that come next.
    depth: usize,
}

impl Constants {
    fn list(&mut self, constant: bool, length: usize) {
        if constant {
            self.all.push(Constant::List { length, is_inner: self.depth > 0 });
        }
    }

    fn collect(&mut self, tree: &Tree, constant: bool) {
        self.any |= constant;
        match tree {
            Tree::Scalar(text) | Tree::Text(text) if constant => {
                // Numbers of JMESPath are doubles.
                let number = text.parse::<f64>().ok().filter(|n| n.abs() < 1e15);
                self.all.extend(number.map(|n| Constant::Number(n.ceil() as i64)));
            }
            Tree::List(items) => {
                self.list(constant, items.len());
                self.depth += 1;
                items.iter().for_each(|item| self.collect(item, constant));
                self.depth -= 1;
            }
            Tree::Map(entries) => {
                self.list(constant, entries.len());
                self.depth += 1;
                entries.iter().for_each(|(_, value)| self.collect(value, constant));
                self.depth -= 1;
            }
            Tree::None | Tree::Scalar(_) | Tree::Text(_) => {}
            Tree::Node(node) => {
                self.has_length |= matches!(node.text("function"), Some("size" | "length"));
                let is_constant =
                    constant || matches!(node.variant, "const" | "folded") || node.kind == "Folded";
                let outside = std::mem::take(&mut self.depth);
                node.fields.iter().for_each(|(_, value)| self.collect(value, is_constant));
                self.depth = outside;
            }
        }
    }
}

/// The operator of a condition.
pub(crate) fn operator(condition: &Node) -> &'static str {
    condition.get("operator").and_then(Tree::as_node).map_or("", |operator| operator.variant)
}

fn is_comparison(name: &str) -> bool {
    matches!(name, "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_")
}
