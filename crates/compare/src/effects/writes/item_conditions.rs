//! Conditions about one item of a list.
//!
//! In: a condition in a loop. Out: whether it reads nothing but the item, at lists of it, or at
//! something else.

use std::cell::Cell;

use ephor_ir::Expr;
use ephor_ir::strict::{Make, Step as Walked};
use ephor_ir::walk::children;
use ephor_value::{Str, Value};

use crate::effects::writes::places::keys_of;

/// Functions that read the value of a field alone.
pub(crate) const OF_VALUES: [&str; 14] = [
    "!_",
    "_==_",
    "_!=_",
    "_<_",
    "_<=_",
    "_>_",
    "_>=_",
    "startsWith",
    "endsWith",
    "matches",
    "contains",
    "hasValue",
    "dyn",
    "string",
];

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

/// What a condition in a loop reads.
pub(crate) fn about(condition: &Expr) -> ConditionScope {
    let nests = Cell::new(false);
    match is_about(condition, 0, &nests) {
        false => ConditionScope::Others,
        true if nests.get() => ConditionScope::Nested,
        true => ConditionScope::Item,
    }
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
            OF_VALUES.contains(&call.function.name)
                || of_list(matches!(call.function.name, "@in" | "_in_" | "flatten"))
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
    let is_all = Cell::new(is_own);
    children(expr, &mut |part, child| {
        is_all.set(is_all.get() && is_about(part, binders.saturating_add(child.binders), nests));
    });
    is_all.get()
}

/// Whether a condition in a loop reads the position of the item, which is the second value of
/// the loop.
pub(crate) fn reads_position(condition: &Expr, binders: u32) -> bool {
    let is_read = Cell::new(matches!(condition, Expr::Local(n) if *n > binders));
    children(condition, &mut |part, child| {
        is_read.set(is_read.get() || reads_position(part, binders.saturating_add(child.binders)));
    });
    is_read.get()
}

/// Whether a value is the key of the item of the innermost loop.
pub(crate) fn is_item_key(expr: &Expr, key: &Str) -> bool {
    keys_of(expr).is_some_and(|(base, keys)| matches!(base, Expr::Local(0)) && keys == [key.clone()])
}
