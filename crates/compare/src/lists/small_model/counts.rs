//! Two counts of one list.
//!
//! In: a condition that compares the number of items that pass a test with the number of those that
//! pass one more. Out: what it needs: the numbers differ where some item passes the first test
//! alone.

use ephor_functions::registry::Operation;
use ephor_ir::condition::{Condition, Operator};
use ephor_ir::{Expr, Template};

use crate::lists::small_model::count::Count;
use crate::lists::small_model::model::{Items, Need};
use crate::lists::small_model::provenance::of_template;

impl Items {
    /// What a condition needs for it to be true that compares two such counts.
    pub(crate) fn counts(&mut self, condition: &Condition) -> Option<Need> {
        let (one, other) = (measured(&condition.key)?, measured(&condition.value)?);
        let all = if is_part(one, other) {
            one
        } else if is_part(other, one) {
            other
        } else {
            return None;
        };
        (self.grows(one) && self.grows(other)).then_some(())?;
        let is_negated = match condition.operator? {
            Operator::NotEquals => false,
            Operator::Equals => true,
            _ => return None,
        };
        self.any = true;
        let filters = self.filters_of(one).and(self.filters_of(other));
        let to_hold = Count::of_lists(1, &self.names(all));
        let need = Need { to_hold, ..Need::default() }.and(filters);
        Some(if is_negated { need.negated() } else { need })
    }
}

/// Whether a condition compares two counts of one list.
pub(crate) fn are_counts(condition: &Condition) -> bool {
    let is_equality = matches!(condition.operator, Some(Operator::Equals | Operator::NotEquals));
    let sides = measured(&condition.key).zip(measured(&condition.value));
    is_equality && sides.is_some_and(|(one, other)| is_part(one, other) || is_part(other, one))
}

/// The list whose length a side of a condition is.
pub(crate) fn measured(side: &Template) -> Option<&Expr> {
    match of_template(side)?.applied()? {
        (Operation::Size, [of]) => Some(of),
        _ => None,
    }
}

/// Whether a list has all items of another one but for those that fail one more test.
fn is_part(all: &Expr, some: &Expr) -> bool {
    match (all, some) {
        (all, some) if all == some => false,
        (Expr::Flatten(all), Expr::Flatten(some)) => is_part(all, some),
        (Expr::Rescue { expr: all, faults }, Expr::Rescue { expr: some, faults: same }) => {
            faults == same && is_part(all, some)
        }
        (Expr::Once { expr: all, .. }, Expr::Once { expr: some, .. }) => is_part(all, some),
        (
            Expr::Project { over, source, keep, body },
            Expr::Project { over: same, source: from, keep: test, body: of_part },
        ) => {
            let is_stricter = match (keep, test) {
                (None, Some(_)) => true,
                (Some(all), Some(some)) => is_conjunct(all, some),
                _ => false,
            };
            let is_part_of = |all: &Option<Box<Expr>>, some: &Option<Box<Expr>>| match (all, some) {
                (Some(all), Some(some)) => is_part(all, some),
                _ => false,
            };
            // What an item becomes is a list of which items are left out, or the same.
            over == same
                && (is_stricter || keep == test)
                && (source == from || is_part(source, from))
                && (body == of_part || is_part_of(body, of_part))
        }
        _ => false,
    }
}

/// Whether a test is another one and more: it starts with it.
fn is_conjunct(test: &Expr, more: &Expr) -> bool {
    match more {
        Expr::Rescue { expr, .. } => is_conjunct(test, expr),
        Expr::And(sides) => sides[0] == *test || is_conjunct(test, &sides[0]),
        _ => false,
    }
}
