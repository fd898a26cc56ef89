//! Conditions whose order says nothing.
//!
//! In: conditions. Out: the same, where those stand in one order that may stand in any.
//!
//! Conditions are evaluated one after the other until one decides, or fails. A condition is *free*
//! when evaluating it neither fails nor changes what others see: its sides are constants, or
//! expressions that give no fault (`ir::optimise::faults`, and `length` of what is surely a text, a
//! list or an object), load nothing, sort nothing, and give no list or object, in which there might
//! be variables to be filled in. Of free conditions that stand side by side, each holds or does not
//! hold whatever the others say. Before them, and behind them, the evaluation comes to the same:
//! behind `all` of them when all hold, behind `any` when none does. So all orders of these have the
//! same verdict. One that is not free keeps its place: what stands before it decides whether its
//! failure is seen.

use ephor_analysis::tree::Tree;
use ephor_functions::registry::Operation;
use ephor_ir::optimise::faults::may;
use ephor_ir::template::Query;
use ephor_ir::{Condition, Conditions, Expr, Rule, Template};
use ephor_value::Value;

use crate::normal::conditions::with_conditions;
use crate::normal::print::written;

/// Deeper expressions are not looked into.
const MAX_DEPTH: usize = 32;

/// A rule with its conditions in order.
pub(crate) fn in_order(rule: &Rule) -> Rule {
    with_conditions(rule, &mut conditions)
}

fn conditions(own: &Conditions) -> Conditions {
    Conditions { any: own.any.as_deref().map(sorted), all: sorted(&own.all), ..own.clone() }
}

/// Conditions of which those that are free and stand side by side are in the order of their texts.
fn sorted(all: &[Condition]) -> Box<[Condition]> {
    let mut found = all.to_vec();
    for run in found.chunk_by_mut(|a, b| is_free(a) && is_free(b)) {
        if run.len() > 1 {
            run.sort_by_cached_key(|one| Tree::of(one).map(|tree| written(&tree)));
        }
    }
    found.into()
}

fn is_free(one: &Condition) -> bool {
    one.operator.is_some() && [&one.key, &one.value].into_iter().all(is_plain)
}

/// Whether filling in a side has no fault, and nothing follows from it for others.
fn is_plain(side: &Template) -> bool {
    match side {
        Template::Const(_) => true,
        Template::Whole(hole) => is_quiet(&hole.query),
        _ => false,
    }
}

fn is_quiet(query: &Query) -> bool {
    let is_scalar = |expr: &Expr| is_total(expr, 0) && !kinds(expr, 0).members;
    !query.sorts
        && query.needs.is_empty()
        && query.expr.as_ref().is_ok_and(is_scalar)
        && query.on_delete.as_deref().is_none_or(is_quiet)
}

/// Whether an expression gives no fault.
fn is_total(expr: &Expr, depth: usize) -> bool {
    depth < MAX_DEPTH
        && (may(expr).nothing()
            || match expr {
                Expr::Call { .. } => match expr.applied() {
                    Some((Operation::Size, [one])) => {
                        is_total(one, depth + 1) && !kinds(one, depth + 1).others
                    }
                    _ => false,
                },
                Expr::Or(sides) | Expr::And(sides) => sides.iter().all(|side| is_total(side, depth + 1)),
                Expr::Compare { sides, .. } => sides.iter().all(|side| is_total(side, depth + 1)),
                Expr::Not(inner) => is_total(inner, depth + 1),
                _ => false,
            })
}

/// What a value may be.
#[derive(Clone, Copy, PartialEq)]
struct Kinds {
    /// A list or an object.
    members: bool,
    /// Null, a boolean or a number.
    others: bool,
}

impl Kinds {
    const TEXT: Kinds = Kinds { members: false, others: false };
    const OTHER: Kinds = Kinds { members: false, others: true };
    const MEMBERS: Kinds = Kinds { members: true, others: false };
    const ANY: Kinds = Kinds { members: true, others: true };

    fn or(self, other: Kinds) -> Kinds {
        Kinds { members: self.members || other.members, others: self.others || other.others }
    }
}

/// What the value of an expression may be that has no fault.
fn kinds(expr: &Expr, depth: usize) -> Kinds {
    if depth > MAX_DEPTH {
        return Kinds::ANY;
    }
    let of = |expr: &Expr| kinds(expr, depth + 1);
    match expr {
        Expr::Const(Value::Str(_)) => Kinds::TEXT,
        Expr::Const(Value::List(_) | Value::Map(_)) => Kinds::MEMBERS,
        Expr::Const(_) | Expr::Not(_) | Expr::Compare { .. } => Kinds::OTHER,
        Expr::Call { function, .. } if function.operation == Operation::Size => Kinds::OTHER,
        Expr::List(_) | Expr::Object(_) => Kinds::MEMBERS,
        // The operation is a text.
        Expr::Path { base, keys, .. }
            if matches!(**base, Expr::Root) && keys.iter().map(|key| &**key).eq(["request", "operation"]) =>
        {
            Kinds::TEXT
        }
        Expr::Rescue { expr, .. } => of(expr).or(Kinds::OTHER),
        // Null, where there is no list.
        Expr::Project { .. } | Expr::Flatten(_) => Kinds::ANY,
        // The first side is none of what counts as false.
        Expr::Or(sides) => match &sides[0] {
            Expr::Project { .. } | Expr::Flatten(_) => Kinds::MEMBERS.or(of(&sides[1])),
            Expr::Rescue { expr, .. } if of(expr) == Kinds::TEXT => of(&sides[1]),
            first => of(first).or(of(&sides[1])),
        },
        Expr::And(sides) => of(&sides[0]).or(of(&sides[1])),
        _ => Kinds::ANY,
    }
}
