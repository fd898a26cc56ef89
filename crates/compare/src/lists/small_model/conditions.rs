//! How many items the lists of a condition need.
//!
//! In: a condition with an operator. Out: the items for it to stay true, and to stay false.
//! Operators such as `AnyIn` say of two lists that some item of one is in the other, or that each
//! is: then each item that stays needs one of the other list, and no number is known.

use ephor_analysis::tree::{Node, Tree};

use crate::lists::small_model::count::Count;
use crate::lists::small_model::lengths::operator;
use crate::lists::small_model::model::{Items, Need, is_operation};
use crate::lists::small_model::provenance::{expression, makes_list};
use crate::predicates::summary::list;

/// One side of a condition.
enum Operand {
    /// A constant, with this many items.
    Constant(usize),
    /// A list of which each item comes from one of the object.
    Grown,
    /// A single value that is read.
    Single,
    Other,
}

impl Items {
    /// What a condition needs, as what its rule says: a rule is violated when it is true.
    pub(crate) fn condition(&mut self, node: &Node) -> Need {
        if let Some(need) = self.length(node) {
            return need.negated();
        }
        if let Some(need) = self.counts(node) {
            return need.negated();
        }
        let [key, value] = ["key", "value"].map(|name| self.side(node.get(name)));
        let is_with_field =
            |of: &str, other: &Operand| is_operation(node.get(of)) && !matches!(other, Operand::Constant(_));
        self.other_uses |= is_with_field("key", &value) || is_with_field("value", &key);
        let mut need = Need::default();
        let is_membership =
            matches!(operator(node), "anyIn" | "allIn" | "anyNotIn" | "allNotIn" | "in" | "notIn");
        for (side, name) in [(&key, "key"), (&value, "value")] {
            let is_counted = is_membership && !matches!(side, Operand::Other);
            if let Some(tree) = node.get(name) {
                need = need.and(if is_counted { self.filters(tree) } else { self.tree(tree, false) });
            }
        }
        let is_list = |side: &Operand| matches!(side, Operand::Grown | Operand::Other);
        let count = |side: &Operand, name: &str| match side {
            Operand::Grown => Count::of_lists(1, &self.names(node.get(name).and_then(expression))),
            Operand::Other => Count::of(1),
            _ => Count::default(),
        };
        let (of_key, of_value) = (count(&key, "key"), count(&value, "value"));
        let is_grown = !matches!((&key, &value), (Operand::Other, _) | (_, Operand::Other));
        self.any |= is_list(&key) || is_list(&value);
        let both = of_key.and(&of_value);
        // Each constant needs an item of its own.
        let of_each = match &key {
            Operand::Constant(items) => (0..*items).fold(Count::default(), |sum, _| sum.and(&of_value)),
            _ => both.clone(),
        };
        // Each item of the key needs one of the value.
        let relates = is_list(&key) && is_list(&value);
        let name = operator(node);
        let is_true = match name {
            // Its value is known for a request.
            _ if is_operation(node.get("key")) && matches!(value, Operand::Constant(_)) => Need::default(),
            "anyIn" | "allNotIn" if is_grown => Need { to_hold: both, ..Need::default() },
            "anyIn" | "allNotIn" => Need::both_of(both),
            "allIn" | "anyNotIn" | "in" | "notIn" => {
                let need =
                    Need { to_hold: of_each, to_fail: both, holds_by_others: relates, ..Need::default() };
                if matches!(name, "in" | "notIn") { need.either() } else { need }
            }
            "equals" | "notEquals" => {
                let length = Count::of(self.lengths(node));
                Need { holds_by_others: relates, ..Need::both_of(both.or(&length)) }
            }
            // Of lists an order says nothing; what is computed of them was looked into.
            _ => Need::both(self.lengths(node)),
        };
        let is_negated = matches!(name, "allNotIn" | "anyNotIn" | "notEquals");
        let is_true = if is_negated { is_true.negated() } else { is_true };
        need.and(is_true.negated())
    }

    fn side(&self, tree: Option<&Tree>) -> Operand {
        let Some(node) = tree.and_then(Tree::as_node) else { return Operand::Constant(0) };
        if node.variant == "const" {
            return Operand::Constant(match node.get("") {
                Some(Tree::List(items)) => items.len(),
                // The text of a list is one.
                Some(Tree::Text(text)) if text.trim_start().starts_with('[') => text.matches(',').count() + 1,
                _ => 1,
            });
        }
        let Some(expr) = tree.and_then(expression) else { return Operand::Other };
        if self.shapes.is_scalar(expr) {
            return Operand::Single;
        }
        let is_list = || makes_list(expr) || self.has_grown(expr) || self.shapes.may_be_list(expr);
        match self.grows(expr) {
            true if is_list() => Operand::Grown,
            true => Operand::Single,
            false => Operand::Other,
        }
    }

    /// Of the length of a list that is compared with a number: there are at least this many items,
    /// or there are not.
    fn length(&mut self, node: &Node) -> Option<Need> {
        let number = match node.get("value")?.as_node().filter(|value| value.variant == "const")?.get("")? {
            Tree::Scalar(text) => text.parse::<f64>().ok().filter(|n| (0.0..1e6).contains(n))?,
            _ => return None,
        };
        let call = called(expression(node.get("key")?)?)?;
        let [measured] = list(call.get("args")) else { return None };
        (call.text("function") == Some("length") && self.grows(measured)).then_some(())?;
        let order = node.get("operator")?.as_node()?.get("")?.as_node()?.variant;
        let (least, is_negated) = match order {
            "ge" => (number.ceil(), false),
            "gt" => (number.floor() + 1.0, false),
            "lt" => (number.ceil(), true),
            "le" => (number.floor() + 1.0, true),
            _ => return None,
        };
        self.any = true;
        let least = self.limited(least as usize);
        let to_hold = Count::of_lists(least, &self.names(Some(measured)));
        let need = Need { to_hold, ..Need::default() }.and(self.filters(measured));
        Some(if is_negated { need.negated() } else { need })
    }
}

/// A call of a function.
pub(crate) fn called(expr: &Tree) -> Option<&Node> {
    let node = expr.as_node()?;
    match node.get("function") {
        Some(_) => Some(node),
        None => called(node.get("")?),
    }
}
