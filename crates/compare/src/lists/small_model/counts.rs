//! Two counts of one list.
//!
//! In: a condition that compares the number of items that pass a test with the number of those that
//! pass one more. Out: what it needs: the numbers differ where some item passes the first test
//! alone.

use ephor_analysis::tree::{Node, Tree};

use crate::lists::small_model::conditions::called;
use crate::lists::small_model::count::Count;
use crate::lists::small_model::lengths::operator;
use crate::lists::small_model::model::{Items, Need};
use crate::lists::small_model::provenance::expression;
use crate::predicates::summary::list;

impl Items {
    /// What a condition needs for it to be true that compares two such counts.
    pub(crate) fn counts(&mut self, node: &Node) -> Option<Need> {
        let side = |name: &str| node.get(name).and_then(measured);
        let (one, other) = (side("key")?, side("value")?);
        let all = if is_part(one, other) {
            one
        } else if is_part(other, one) {
            other
        } else {
            return None;
        };
        (self.grows(one) && self.grows(other)).then_some(())?;
        let is_negated = match operator(node) {
            "notEquals" => false,
            "equals" => true,
            _ => return None,
        };
        self.any = true;
        let filters = self.filters(one).and(self.filters(other));
        let to_hold = Count::of_lists(1, &self.names(Some(all)));
        let need = Need { to_hold, ..Need::default() }.and(filters);
        Some(if is_negated { need.negated() } else { need })
    }
}

/// Whether a condition compares two counts of one list.
pub(crate) fn are_counts(condition: &Node) -> bool {
    let side = |name: &str| condition.get(name).and_then(measured);
    let is_equality = matches!(operator(condition), "equals" | "notEquals");
    let sides = side("key").zip(side("value"));
    is_equality && sides.is_some_and(|(one, other)| is_part(one, other) || is_part(other, one))
}

/// The list whose length a side of a condition is.
fn measured(side: &Tree) -> Option<&Tree> {
    let call = called(expression(side)?)?;
    match list(call.get("args")) {
        [of] if call.text("function") == Some("length") => Some(of),
        _ => None,
    }
}

/// Whether a list has all items of another one but for those that fail one more test.
fn is_part(all: &Tree, some: &Tree) -> bool {
    let (Some(all), Some(some)) = (all.as_node(), some.as_node()) else { return false };
    if all == some || (all.kind, all.variant) != (some.kind, some.variant) {
        return false;
    }
    let both = |name: &str| (all.get(name), some.get(name));
    let is_same = |name: &str| all.get(name) == some.get(name);
    let is_part_of = |name: &str| matches!(both(name), (Some(all), Some(some)) if is_part(all, some));
    let is_alike = |name: &str| is_same(name) || is_part_of(name);
    match (all.kind, all.variant) {
        ("Expr", "flatten") => is_part_of(""),
        ("Expr", "rescue" | "once") => is_same("faults") && is_part_of("expr"),
        ("Expr", "project") => {
            let is_stricter = match both("keep") {
                (None, Some(_)) => true,
                (Some(all), Some(some)) => is_conjunct(all, some),
                _ => false,
            };
            let keeps = is_stricter || is_same("keep");
            // What an item becomes is a list of which items are left out, or the same.
            is_same("over") && keeps && is_alike("source") && (is_same("body") || is_part_of("body"))
        }
        _ => false,
    }
}

/// Whether a test is another one and more: it starts with it.
fn is_conjunct(test: &Tree, more: &Tree) -> bool {
    let Some(node) = more.as_node() else { return false };
    match (node.kind, node.variant) {
        ("Expr", "rescue") => node.get("expr").is_some_and(|expr| is_conjunct(test, expr)),
        ("Expr", "and") => match list(node.get("")) {
            [first, ..] => first == test || is_conjunct(test, first),
            [] => false,
        },
        _ => false,
    }
}
