//! How many items the lists of a condition need.
//!
//! In: a condition with an operator. Out: the items for it to stay true, and to stay false.
//! Operators such as `AnyIn` say of two lists that some item of one is in the other, or that each
//! is: then each item that stays needs one of the other list, and no number is known.

use ephor_ir::condition::{Condition, Operator, Ordering};
use ephor_ir::parts::RulePart;
use ephor_ir::{Expr, Template};
use ephor_value::Value;

use crate::lists::small_model::count::Count;
use crate::lists::small_model::counts::measured;
use crate::lists::small_model::model::{Items, Need, is_operation};
use crate::lists::small_model::provenance::{makes_list, of_template};

/// One side of a condition.
enum Operand<'c> {
    /// A constant, with this many items.
    Constant(usize),
    /// A list of which each item comes from one of the object.
    Grown(&'c Expr),
    /// A single value that is read.
    Single,
    Other,
}

impl Items {
    /// What a condition needs, as what its rule says: a rule is violated when it is true.
    pub(crate) fn condition(&mut self, condition: &Condition) -> Need {
        if let Some(need) = self.length(condition) {
            return need.negated();
        }
        if let Some(need) = self.counts(condition) {
            return need.negated();
        }
        let (key, value) = (self.side(&condition.key), self.side(&condition.value));
        let is_with_field =
            |of: &Template, other: &Operand| is_operation(of) && !matches!(other, Operand::Constant(_));
        self.other_uses |= is_with_field(&condition.key, &value) || is_with_field(&condition.value, &key);
        let mut need = Need::default();
        let is_membership = condition.operator.is_some_and(Operator::is_membership);
        for (side, template) in [(&key, &condition.key), (&value, &condition.value)] {
            let is_counted = is_membership && !matches!(side, Operand::Other);
            let part = RulePart::Template(template);
            need = need.and(if is_counted { self.filters(part) } else { self.part(part, false) });
        }
        let is_list = |side: &Operand| matches!(side, Operand::Grown(_) | Operand::Other);
        let count = |side: &Operand| match side {
            Operand::Grown(expr) => Count::of_lists(1, &self.names(expr)),
            Operand::Other => Count::of(1),
            Operand::Constant(_) | Operand::Single => Count::default(),
        };
        let (of_key, of_value) = (count(&key), count(&value));
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
        let is_true = match condition.operator {
            // Its value is known for a request.
            _ if is_operation(&condition.key) && matches!(value, Operand::Constant(_)) => Need::default(),
            Some(Operator::AnyIn | Operator::AllNotIn) if is_grown => {
                Need { to_hold: both, ..Need::default() }
            }
            Some(Operator::AnyIn | Operator::AllNotIn) => Need::both_of(both),
            Some(operator @ (Operator::AllIn | Operator::AnyNotIn | Operator::In | Operator::NotIn)) => {
                let need =
                    Need { to_hold: of_each, to_fail: both, holds_by_others: relates, ..Need::default() };
                if matches!(operator, Operator::In | Operator::NotIn) { need.either() } else { need }
            }
            Some(Operator::Equals | Operator::NotEquals) => {
                let length = Count::of(self.lengths_of_condition(condition));
                Need { holds_by_others: relates, ..Need::both_of(both.or(&length)) }
            }
            // Of lists an order says nothing; what is computed of them was looked into.
            Some(Operator::Order(_) | Operator::DurationOrder(_) | Operator::Never) | None => {
                Need::both(self.lengths_of_condition(condition))
            }
        };
        let is_negated =
            matches!(condition.operator, Some(Operator::AllNotIn | Operator::AnyNotIn | Operator::NotEquals));
        let is_true = if is_negated { is_true.negated() } else { is_true };
        need.and(is_true.negated())
    }

    fn side<'c>(&self, side: &'c Template) -> Operand<'c> {
        if let Template::Const(value) = side {
            return Operand::Constant(match value {
                Value::List(items) => items.len(),
                // The text of a list is one.
                Value::Str(text) if text.trim_start().starts_with('[') => text.matches(',').count() + 1,
                _ => 1,
            });
        }
        let Some(expr) = of_template(side) else { return Operand::Other };
        if self.shapes.is_scalar(expr) {
            return Operand::Single;
        }
        let is_list = || makes_list(expr) || self.has_grown(expr) || self.shapes.may_be_list(expr);
        match self.grows(expr) {
            true if is_list() => Operand::Grown(expr),
            true => Operand::Single,
            false => Operand::Other,
        }
    }

    /// Of the length of a list that is compared with a number: there are at least this many items,
    /// or there are not.
    fn length(&mut self, condition: &Condition) -> Option<Need> {
        let number = match condition.value.as_const()? {
            Value::Int(n) => *n as f64,
            Value::Float(f) => *f,
            _ => return None,
        };
        (0.0..1e6).contains(&number).then_some(())?;
        let measured = measured(&condition.key).filter(|measured| self.grows(measured))?;
        let (Operator::Order(order) | Operator::DurationOrder(order)) = condition.operator? else {
            return None;
        };
        let (least, is_negated) = match order {
            Ordering::Ge => (number.ceil(), false),
            Ordering::Gt => (number.floor() + 1.0, false),
            Ordering::Lt => (number.ceil(), true),
            Ordering::Le => (number.floor() + 1.0, true),
        };
        self.any = true;
        let least = self.limited(least as usize);
        let to_hold = Count::of_lists(least, &self.names(measured));
        let need = Need { to_hold, ..Need::default() }.and(self.filters_of(measured));
        Some(if is_negated { need.negated() } else { need })
    }
}
