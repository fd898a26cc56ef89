//! Conditions that look for items of lists, or count them, taken out of a rule.
//!
//! In: conditions, or an expression of JMESPath. Out: each that reads items as a check of its
//! own, and the conditions without them.

use std::sync::Arc;

use ephor_functions::registry::{Language, Operation, find};
use ephor_ir::check::Check;
use ephor_ir::condition::{Operator, Ordering};
use ephor_ir::expr::Missing;
use ephor_ir::template::{Hole, Needs, Query};
use ephor_ir::walk::{map_children, shift};
use ephor_ir::{Condition, Conditions, Expr, Template};
use ephor_value::Value;

use crate::lists::iteration::{Range, is_closed, range};
use crate::lists::loops::LoopCutter;
use crate::model::limits::MAX_COUNTED_LENGTH;

impl LoopCutter<'_> {
    pub(crate) fn conditions(&mut self, conditions: &Conditions) -> Conditions {
        let mut each = |all: &[Condition]| all.iter().map(|one| self.condition(one)).collect::<Box<[_]>>();
        Conditions {
            any: conditions.any.as_deref().map(&mut each),
            all: each(&conditions.all),
            ..conditions.clone()
        }
    }

    /// A side of a condition that walks lists, with its query.
    fn walked(&self, side: &Template) -> Option<(Range, Expr, Query)> {
        let Template::Whole(hole) = side else { return None };
        let list = match query(&hole.query, self.is_deletion)? {
            // What stands for an empty list is known, too.
            Expr::Or(sides) if sides[1].constant().is_some() => &sides[0],
            list => list,
        };
        let range = range(list, self.around(&[]))?;
        self.is_wanted(&range).then(|| (range, list.clone(), hole.query.clone()))
    }

    /// The condition without the loops in it.
    fn condition(&mut self, condition: &Condition) -> Condition {
        use Operator::{AllIn, AllNotIn, AnyIn, AnyNotIn, Equals, NotEquals, Order};
        let Some(operator) = condition.operator else { return condition.clone() };
        let nothing = Template::Const(Value::from(""));
        let origin = condition.origin.clone();
        let alone = || {
            let all = [condition.clone()].into();
            Check::Deny(Conditions { origin: origin.clone(), any: None, all, flat: false })
        };
        if let (Some((range, list, query)), Some(value)) =
            (self.walked(&condition.key), condition.value.as_const())
            && matches!(operator, AnyIn | AnyNotIn | AllIn | AllNotIn)
            && is_list_of_scalars(value)
        {
            self.add(alone(), &range);
            self.count(&query, &list, &range, 0);
            return Condition { key: nothing, ..condition.clone() };
        }
        if let (Some(key), Some((range, list, query))) =
            (condition.key.as_const(), self.walked(&condition.value))
            && match operator {
                AnyIn | AllNotIn => is_scalar(key) || is_list_of_scalars(key),
                AllIn | AnyNotIn => is_scalar(key),
                _ => false,
            }
        {
            self.add(alone(), &range);
            self.count(&query, &list, &range, 0);
            return Condition { value: nothing, ..condition.clone() }.with_prepared();
        }
        if let (Template::Whole(hole), Some(value)) = (&condition.key, condition.value.as_const())
            && matches!(operator, Equals | NotEquals | Order(_))
            && let Some(number) = number(value).filter(|n| (0..=MAX_COUNTED_LENGTH).contains(n))
            && let Some(list) = query(&hole.query, self.is_deletion).and_then(measured)
            && let Some(range) = range(without_empty(list), self.around(&[]))
            && self.is_wanted(&range)
        {
            let most = match operator {
                // Whether there are fewer.
                Order(Ordering::Ge | Ordering::Lt) => number - 1,
                _ => number,
            };
            self.count(&hole.query, list, &range, most.max(0));
            return Condition { key: nothing, ..condition.clone() };
        }
        let key = self.side(&condition.key);
        let value = self.side(&condition.value);
        Condition { key, value, ..condition.clone() }.with_prepared()
    }

    fn side(&mut self, side: &Template) -> Template {
        let Template::Whole(hole) = side else { return side.clone() };
        let Some(expr) = query(&hole.query, self.is_deletion) else { return side.clone() };
        whole(self.jmespath(expr, &hole.query), &hole.query)
    }

    /// An expression of JMESPath without the loops in it.
    pub(crate) fn jmespath(&mut self, expr: &Expr, of: &Query) -> Expr {
        if let Expr::Call { function, args } = expr
            && function.operation == Operation::Contains
            && let [list, one] = &**args
            && one.constant().is_some()
            && is_closed(list, u32::from(self.around.is_some()))
            && let Some(range) = range(list, self.around(&[]))
            && self.is_wanted(&range)
        {
            let (expr, list) = (of_element(expr.clone(), 0), of_element(list.clone(), 0));
            self.add(denied(whole(expr, of), Operator::Equals, Value::Bool(true)), &range);
            self.count(of, &list, &range, 0);
            return Expr::Const(Value::Bool(true));
        }
        if let Expr::Let { value, body } = expr
            && range(value, self.around(&[])).is_some()
        {
            // A list that is piped into functions.
            return self.jmespath(&with_value((**body).clone(), value, 0), of);
        }
        map_children(expr.clone(), &mut |e, child| match child.binders {
            0 => self.jmespath(&e, of),
            _ => e,
        })
    }

    /// Adds how many items an expression gives, up to a number; an error of it shows as well.
    pub(crate) fn count(&mut self, of: &Query, list: &Expr, range: &Range, most: i64) {
        let Some(length) = find(Language::JmesPath, "length") else { return };
        for number in 0..=most {
            let expr = Expr::Call { function: length, args: [list.clone()].into() };
            let check = denied(whole(expr, of), Operator::Order(Ordering::Gt), Value::Int(number));
            self.add(check, range);
        }
    }
}

/// What an expression gives the length of.
fn measured(expr: &Expr) -> Option<&Expr> {
    match expr {
        Expr::Call { function, args } if function.operation == Operation::Size => args.first(),
        // It is piped into the function.
        Expr::Let { value, body } => measured(body).filter(|list| **list == Expr::Local(0)).map(|_| &**value),
        Expr::Rescue { expr, .. } => measured(expr),
        _ => None,
    }
}

/// An expression without what stands for it where it is empty.
fn without_empty(expr: &Expr) -> &Expr {
    match expr {
        Expr::Or(sides) if sides[1].constant().is_some_and(Value::is_empty) => &sides[0],
        Expr::Rescue { expr, .. } => without_empty(expr),
        expr => expr,
    }
}

/// The body of a binder with its value in place.
fn with_value(body: Expr, value: &Expr, binders: u32) -> Expr {
    match body {
        Expr::Local(n) if n == binders => shift(value.clone(), binders, 0),
        Expr::Local(n) if n > binders => Expr::Local(n - 1),
        body => map_children(body, &mut |e, child| with_value(e, value, binders + child.binders)),
    }
}

/// An expression about the value of the binder around it, as one about the element of a loop.
fn of_element(expr: Expr, binders: u32) -> Expr {
    match expr {
        Expr::Local(n) if n == binders => Expr::get(Expr::Root, "element".into(), Missing::Null),
        expr => map_children(expr, &mut |e, child| of_element(e, binders + child.binders)),
    }
}

/// The expression of a query that needs nothing else.
pub(crate) fn query(query: &Query, is_deletion: bool) -> Option<&Expr> {
    let query = query.on_delete.as_deref().filter(|_| is_deletion).unwrap_or(query);
    query.expr.as_ref().ok().filter(|_| query.needs.is_empty() && !query.sorts)
}

fn whole(expr: Expr, of: &Query) -> Template {
    let query = Query { expr: Ok(expr), needs: Needs::default(), on_delete: None, ..of.clone() };
    let rounds = ephor_ir::template::Rounds {
        source: format!("{{{{ {} }}}}", of.text).into(),
        path: "".into(),
        names: Arc::new([]),
        current: "".into(),
    };
    Template::Whole(Box::new(Hole { query, rounds }))
}

fn denied(key: Template, operator: Operator, value: Value) -> Check {
    let condition = Condition {
        origin: Default::default(),
        key,
        operator: Some(operator),
        value: Template::Const(value),
        prepared: None,
        message: "".into(),
    };
    let all = [condition.with_prepared()].into();
    Check::Deny(Conditions { origin: Default::default(), any: None, all, flat: false })
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::Float(n) if n.fract() == 0.0 && n.abs() < 1e9 => Some(*n as i64),
        Value::Str(text) => text.parse().ok(),
        _ => None,
    }
}

pub(crate) fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Str(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))
}

fn is_list_of_scalars(value: &Value) -> bool {
    value.as_list().is_some_and(|items| items.iter().all(is_scalar))
}
