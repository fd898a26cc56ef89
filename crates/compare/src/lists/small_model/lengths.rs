//! The numbers and lists that the lengths of lists, or lists as a whole, are compared with.
//!
//! In: a comparison. Out: how many items a list needs so that it stays as it is.

use ephor_functions::registry::Operation;
use ephor_ir::condition::{Condition, Operator};
use ephor_ir::parts::RulePart;
use ephor_ir::walk::any_child;
use ephor_ir::{Expr, Template};
use ephor_value::Value;

use crate::lists::small_model::model::{Items, deciding_parts, is_length};

/// Longer lists are not tried.
const MAX_TRIED_LENGTH: usize = 8;

impl Items {
    /// The numbers that lengths are compared with in a condition, and the lists that are compared
    /// as a whole.
    pub(crate) fn lengths_of_condition(&mut self, condition: &Condition) -> usize {
        let mut found = Constants::default();
        [&condition.key, &condition.value]
            .into_iter()
            .for_each(|side| found.collect(RulePart::Template(side)));
        let is_whole = matches!(condition.operator, Some(Operator::Equals | Operator::NotEquals));
        self.lengths(found, is_whole, true)
    }

    /// The same of an expression.
    pub(crate) fn lengths_of_expr(&mut self, expr: &Expr) -> usize {
        // A text may be a list, too: of how many characters is a matter of classes of texts.
        let (is_whole, sides): (bool, &[Expr]) = match expr {
            Expr::Compare { sides, .. } => (true, &**sides),
            Expr::Invoke(call) => (is_equality(call.function.operation), &call.args),
            _ => return 0,
        };
        let mut found = Constants::default();
        sides.iter().for_each(|side| found.collect(RulePart::Expr(side)));
        found.has_length |= is_length(expr);
        // A label or annotation is a text, which is the same as no list.
        let is_text = matches!(expr, Expr::Invoke(_)) && sides.iter().any(|side| self.is_text(side));
        // Two lists, or objects, are different when one item is.
        let may_be_lists = !is_text && self.compares_lists(expr);
        self.lengths(found, is_whole, may_be_lists)
    }

    fn lengths(&mut self, found: Constants, is_whole: bool, may_be_lists: bool) -> usize {
        let has_length = found.has_length || self.is_length_named;
        let mut most = usize::from(is_whole && !found.any && may_be_lists);
        for constant in found.all {
            match constant {
                Constant::Number(n) if has_length => {
                    most = most.max(usize::try_from(n.max(0)).unwrap_or(usize::MAX).saturating_add(1));
                }
                // A list may be searched in a list of lists.
                Constant::List { length, is_inner } if is_whole || is_inner => most = most.max(length + 1),
                Constant::Number(_) | Constant::List { .. } => {}
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

/// Whether an operation says of two values whether they are equal.
pub(crate) fn is_equality(operation: Operation) -> bool {
    matches!(operation, Operation::Equal | Operation::Unequal)
}

/// Whether an entry, a variable or the value of a binder is computed of a length; `named`: the part
/// belongs to one.
pub(crate) fn names_length(part: RulePart, named: bool) -> bool {
    match part {
        RulePart::Expr(expr) if named && is_length(expr) => true,
        // Its value, and what sees it.
        RulePart::Expr(Expr::Let { value, body }) => {
            names_length(RulePart::Expr(value), true) || names_length(RulePart::Expr(body), named)
        }
        RulePart::Expr(Expr::Bind(parts)) => {
            names_length(RulePart::Expr(&parts[0]), true) || names_length(RulePart::Expr(&parts[1]), named)
        }
        RulePart::Expr(expr) => any_child(expr, &mut |e, _| names_length(RulePart::Expr(e), named)),
        part => {
            let named = named || matches!(part, RulePart::Binding(_) | RulePart::Variable(_));
            part.any(&mut |below| names_length(below, named))
        }
    }
}

enum Constant {
    Number(i64),
    List { length: usize, is_inner: bool },
}

/// The constants in an expression or template.
#[derive(Default)]
struct Constants {
    /// Those that say something of lengths.
    all: Vec<Constant>,
    /// Whether there are others, too.
    any: bool,
    /// Whether a length is computed.
    has_length: bool,
}

impl Constants {
    fn collect(&mut self, part: RulePart) {
        match part {
            RulePart::Template(Template::Const(value)) => self.value(value, false),
            RulePart::Expr(expr) => {
                expr.constant().into_iter().for_each(|value| self.value(value, false));
                self.has_length |= is_length(expr);
            }
            _ => {}
        }
        deciding_parts(part, &mut |below| self.collect(below));
    }

    /// `is_inner`: it is in a list or an object of a constant.
    fn value(&mut self, value: &Value, is_inner: bool) {
        self.any = true;
        // Numbers of JMESPath are doubles.
        let number = match value {
            Value::Int(n) => Some(*n as f64),
            Value::UInt(n) => Some(*n as f64),
            Value::Float(f) => Some(*f),
            Value::Str(text) => text.parse::<f64>().ok(),
            _ => None,
        };
        let number = number.filter(|n| n.abs() < 1e15);
        self.all.extend(number.map(|n| Constant::Number(n.ceil() as i64)));
        match value {
            Value::List(items) => {
                self.all.push(Constant::List { length: items.len(), is_inner });
                items.iter().for_each(|item| self.value(item, true));
            }
            Value::Map(entries) => {
                self.all.push(Constant::List { length: entries.len(), is_inner });
                entries.values().for_each(|value| self.value(value, true));
            }
            _ => {}
        }
    }
}
