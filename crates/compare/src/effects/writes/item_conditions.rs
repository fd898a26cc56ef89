//! Conditions about one item of a list.
//!
//! In: a condition in a loop. Out: whether it reads nothing but the item, at lists of it, or at
//! something else.

use std::cell::Cell;

use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::strict::{Make, Step as Walked};
use ephor_ir::walk::any_child;
use ephor_value::{Str, Value};

use crate::effects::writes::places::keys_of;

/// Whether a function reads the value of a field alone.
fn is_of_value(operation: Operation) -> bool {
    use Operation::{Matches, Not, Present, ToText, Unchanged};
    operation.is_comparison()
        || operation.searches_text()
        || matches!(operation, Not | Matches | Present | Unchanged | ToText)
}

/// What a condition in a loop reads.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum ConditionScope {
    /// Scalars of the item of the innermost loop.
    Item,
    /// Lists of the item, too.
    Nested,
    /// Something else.
    Others,
}

impl ConditionScope {
    /// By whether a condition is about the item, and about lists of it.
    pub(crate) fn of(is_about_item: bool, nests: bool) -> ConditionScope {
        match is_about_item {
            false => ConditionScope::Others,
            true if nests => ConditionScope::Nested,
            true => ConditionScope::Item,
        }
    }
}

/// What a condition in a loop reads.
pub(crate) fn about(condition: &Expr) -> ConditionScope {
    let nests = Cell::new(false);
    ConditionScope::of(is_about(condition, 0, &nests), nests.get())
}

/// Whether a condition reads nothing but scalars of the item of the innermost loop.
pub(crate) fn is_about_item(condition: &Expr) -> bool {
    about(condition) == ConditionScope::Item
}

pub(crate) fn is_about(expr: &Expr, binders: u32, nests: &Cell<bool>) -> bool {
    let is_scalar = |value: &Value| !matches!(value, Value::List(_) | Value::Map(_));
    let of_list = |is_known: bool| {
        nests.set(true);
        is_known
    };
    let is_own = match expr {
        Expr::Local(n) => *n <= binders,
        Expr::Const(value) => is_scalar(value) || of_list(matches!(value, Value::List(_))),
        Expr::Folded(folded) => is_scalar(&folded.value),
        Expr::Walk(walk) => {
            walk.steps.iter().all(|step| matches!(step, Walked::Key { key: Value::Str(_), .. }))
        }
        Expr::Invoke(call) => {
            let operation = call.function.operation;
            is_of_value(operation) || of_list(matches!(operation, Operation::Member | Operation::Flatten))
        }
        Expr::Comprehension(l) => of_list(!l.two),
        Expr::Make(make) => of_list(matches!(&**make, Make::List(items, _) if items.is_empty())),
        Expr::Path { .. }
        | Expr::Test(_)
        | Expr::Cond(_)
        | Expr::Decide { .. }
        | Expr::OrElse { .. }
        | Expr::OneOf { .. } => true,
        _ => false,
    };
    is_own
        && !any_child(expr, &mut |part, child| !is_about(part, binders.saturating_add(child.binders), nests))
}

/// Whether a condition in a loop reads the position of the item, which is the second value of
/// the loop.
pub(crate) fn reads_position(condition: &Expr, binders: u32) -> bool {
    matches!(condition, Expr::Local(n) if *n > binders)
        || any_child(condition, &mut |part, child| {
            reads_position(part, binders.saturating_add(child.binders))
        })
}

/// Whether a value is the key of the item of the innermost loop.
pub(crate) fn is_item_key(expr: &Expr, key: &Str) -> bool {
    keys_of(expr).is_some_and(|(base, keys)| matches!(base, Expr::Local(0)) && keys == [key.clone()])
}
