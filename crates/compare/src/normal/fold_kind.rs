//! Expressions that depend on the kind of the object.
//!
//! In: a rule with expressions of CEL, the kind. Out: the rule for objects of this kind:
//! comparisons of `object.kind` are their values, and of conditional expressions the part that
//! counts is left. So what such an expression reads is known (`object.kind == 'Pod' ? object.spec :
//! object.spec.template.spec`).

use ephor_functions::registry::Operation;
use ephor_ir::strict::Step;
use ephor_ir::walk::{bottom_up, holds};
use ephor_ir::{Expr, Rule};
use ephor_value::Value;

use crate::normal::rewrite::rewritten;

/// A rule for objects of a kind.
pub(crate) fn of_kind(rule: Rule, kind: &str) -> Rule {
    rewritten(rule, &|expr| reads_kind(expr).then(|| simplified(expr.clone(), kind)))
}

fn reads_kind(expr: &Expr) -> bool {
    holds(expr, &is_kind)
}

/// Whether an expression is `object.kind`.
fn is_kind(expr: &Expr) -> bool {
    let Expr::Walk(walk) = expr else { return false };
    let step = |key: &str, step: &Step| matches!(step, Step::Key { key: own, optional: false } if own.as_str() == Some(key));
    match (&walk.base, &*walk.steps) {
        (Expr::Path { base, keys, .. }, [kind]) => {
            matches!(**base, Expr::Root)
                && matches!(&**keys, [own] if **own == *"object")
                && step("kind", kind)
        }
        _ => false,
    }
}

/// The expression for objects of a kind.
fn simplified(expr: Expr, kind: &str) -> Expr {
    bottom_up(expr, &mut |expr| match value(&expr, kind) {
        Some(value) => Expr::Const(Value::Bool(value)),
        None => match expr {
            Expr::Cond(parts) => match parts[0].unwrapped().constant().and_then(Value::as_bool) {
                Some(condition) => {
                    let [_, then, other] = *parts;
                    if condition { then } else { other }
                }
                None => Expr::Cond(parts),
            },
            expr => expr,
        },
    })
}

/// What a comparison of the kind, or a combination of such comparisons, gives.
fn value(expr: &Expr, kind: &str) -> Option<bool> {
    let truth = |expr: &Expr| expr.unwrapped().constant().and_then(Value::as_bool);
    match expr {
        Expr::OneOf { value, set } if is_kind(value.unwrapped()) => {
            Some(set.iter().any(|one| one.as_str() == Some(kind)))
        }
        Expr::Invoke(call) => match (call.function.operation, &*call.args) {
            (Operation::Not, [one]) => truth(one).map(|b| !b),
            (operation @ (Operation::Equal | Operation::Unequal), [left, right]) => {
                let other = match (is_kind(left.unwrapped()), is_kind(right.unwrapped())) {
                    (true, false) => right,
                    (false, true) => left,
                    _ => return None,
                };
                let is_same = other.unwrapped().constant()?.as_str() == Some(kind);
                Some(is_same == (operation == Operation::Equal))
            }
            _ => None,
        },
        Expr::Decide { all, sides } => match (truth(&sides[0]), truth(&sides[1])) {
            // One side decides, whatever the other is.
            (Some(side), _) | (_, Some(side)) if side != *all => Some(side),
            (Some(_), Some(_)) => Some(*all),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ephor_ir::expr::Missing;
    use ephor_ir::strict::Walk;

    use super::*;

    fn walk(keys: &[&str]) -> Expr {
        let base =
            Expr::Path { base: Box::new(Expr::Root), keys: ["object".into()].into(), scalar: Missing::Fault };
        let step = |key: &&str| Step::Key { key: Value::from(*key), optional: false };
        Expr::Walk(Box::new(Walk { base, steps: keys.iter().map(step).collect(), has_cost: true }))
    }

    fn is_kind_of(kind: &str) -> Expr {
        Expr::OneOf { value: Box::new(walk(&["kind"])), set: [Value::from(kind)].into() }
    }

    #[test]
    fn of_a_conditional_expression_the_part_for_the_kind_is_left() {
        let either = Expr::Cond(Box::new([is_kind_of("CronJob"), walk(&["a"]), walk(&["b"])]));
        assert_eq!(simplified(either.clone(), "CronJob"), walk(&["a"]));
        assert_eq!(simplified(either, "Pod"), walk(&["b"]));
    }

    #[test]
    fn a_side_that_is_known_decides_and_another_one_stays() {
        let sides = |all| Expr::Decide { all, sides: Box::new([is_kind_of("Job"), walk(&["a"])]) };
        assert_eq!(simplified(sides(false), "Job"), Expr::Const(Value::Bool(true)));
        assert_eq!(simplified(sides(true), "Pod"), Expr::Const(Value::Bool(false)));
        assert!(matches!(simplified(sides(true), "Job"), Expr::Decide { .. }));
    }

    #[test]
    fn what_depends_on_other_fields_stays() {
        let either = Expr::Cond(Box::new([walk(&["kind"]), walk(&["a"]), walk(&["b"])]));
        assert_eq!(simplified(either.clone(), "Pod"), either);
    }
}
