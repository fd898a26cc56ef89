//! Orderings: `GreaterThan` and its like.
//!
//! In: a key, an operator, a value. Out: the test; how both sides are read – as durations, quantities or numbers – follows from what
//! the key can be. Semantics: `docs/conditions.md`, "GreaterThan, GreaterThanOrEquals, LessThan, LessThanOrEquals".
use crate::cel::build::{all, any, binary, boolean, call, int, method, text};
use crate::cel_tree::Node;
use crate::ir::condition::Ordering;
use crate::ir::pattern::TermOp;
use crate::value::Value;

use super::conditions::{both, not_null, scalar, text_measures};
use super::forms::ty_of;
use super::lists::{Quantifier, is_list, quantified};
use super::scope::Scope;
use super::term::{ABSORBED, Test, Val};
use super::types::Ty;
use super::{Refusal, leaf, texts};

pub fn sign(order: Ordering) -> &'static str {
    match order {
        Ordering::Gt => ">",
        Ordering::Ge => ">=",
        Ordering::Lt => "<",
        Ordering::Le => "<=",
    }
}

fn term_op(order: Ordering) -> TermOp {
    match order {
        Ordering::Gt => TermOp::Greater,
        Ordering::Ge => TermOp::GreaterOrEqual,
        Ordering::Lt => TermOp::Less,
        Ordering::Le => TermOp::LessOrEqual,
    }
}

fn flipped(order: Ordering) -> Ordering {
    match order {
        Ordering::Gt => Ordering::Lt,
        Ordering::Ge => Ordering::Le,
        Ordering::Lt => Ordering::Gt,
        Ordering::Le => Ordering::Ge,
    }
}

/// A number that a constant is when it is compared with numbers.
pub fn as_number(c: &Value) -> Option<Value> {
    match c {
        Value::Int(_) => Some(c.clone()),
        Value::Float(f) if f.fract() == 0.0 => Some(Value::Int(*f as i64)),
        Value::Float(_) => Some(c.clone()),
        Value::Str(s) => match crate::value::duration::parse_ok(s).filter(|_| &**s != "0") {
            Some(ns) if ns % 1_000_000_000 == 0 => Some(Value::Int(ns / 1_000_000_000)),
            Some(_) => None,
            None => crate::value::number::parse_float(s).map(|f| match f.fract() == 0.0 {
                true => Value::Int(f as i64),
                false => Value::Float(f),
            }),
        },
        _ => None,
    }
}

/// Whether a list has items, where that is what a number of items is compared for.
pub fn of_count(sign: &str, of: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Option<Test>, Refusal> {
    let Val::Const(c) = right else { return Ok(None) };
    let Some(Value::Int(n)) = as_number(c) else { return Ok(None) };
    let is_some = match (sign, n) {
        (">", 0) | (">=", 1) | ("!=", 0) => true,
        ("<", 1) | ("<=", 0) | ("==", 0) => false,
        _ => return Ok(None),
    };
    // A query that fails for an item fails; a loop that looks for one ends before it.
    if matches!(of, Val::Loop(own) if own.keep.as_ref().is_some_and(|keep| keep.faults.iter().any(|one| one != ABSORBED)))
    {
        return Ok(None);
    }
    let found = quantified(Quantifier::Some, of, scope, &mut |_, _| Ok(Test::constant(true)))?;
    Ok(Some(if is_some { found } else { found.negated() }))
}

/// The text of the duration that a constant is.
fn duration_of(c: &Value) -> Option<String> {
    match c {
        Value::Str(s) => crate::value::duration::parse_ok(s).map(|_| s.to_string()),
        c => match as_number(c) {
            Some(Value::Int(n)) => Some(format!("{n}s")),
            _ => None,
        },
    }
}

pub fn ordered(order: Ordering, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    if let Val::Count(of) = key
        && let Some(found) = of_count(sign(order), of, right, scope)?
    {
        return Ok(found);
    }
    // An order that is read from the other side: only where both sides are read alike.
    if let (Val::Const(c), other) = (key, right) {
        let alike = match ty_of(other) {
            Ty::Quantity => c.as_str().is_some_and(|s| crate::value::quantity::Quantity::parse(s).is_some()),
            Ty::Int | Ty::Double => as_number(c).is_some(),
            Ty::Text => c.as_str().is_some_and(text_measures),
            Ty::Duration => duration_of(c).is_some(),
            _ => false,
        };
        return match alike {
            true => ordered(flipped(order), other, key, scope),
            false => {
                Err(scope
                    .refuse("an ordering of a constant by a value of unknown type", "write the value first"))
            }
        };
    }
    if is_list(key) || matches!(ty_of(key), Ty::Bool | Ty::Map(_) | Ty::Object(_)) {
        return Ok(Test::constant(false));
    }
    // Nothing is more or less than null.
    let there = match right {
        Val::Optional { faults, .. } if faults.is_empty() => {
            both(not_null(key, scope)?, not_null(right, scope)?)
        }
        _ => not_null(key, scope)?,
    };
    let (node, mut faults) = scalar(&super::lists::known_unless_failing(key), scope)?;
    let ty = ty_of(key);
    let test = match (right, &ty) {
        (Val::Const(c), Ty::Duration) => match duration_of(c) {
            Some(written) => binary(sign(order), node, call("duration", vec![text(&written)])),
            None => boolean(false),
        },
        (Val::Const(c), Ty::Int | Ty::Double) => match as_number(c) {
            Some(n) => binary(sign(order), node, super::forms::literal(&n)),
            None => boolean(false),
        },
        (Val::Const(Value::Str(s)), Ty::Text | Ty::Quantity | Ty::Any | Ty::IntOrText) => {
            text_ordered(order, &node, &ty, s)
        }
        (Val::Const(c), Ty::Text | Ty::Quantity | Ty::Any | Ty::IntOrText) => match as_number(c) {
            Some(n) => {
                let written = crate::value::print::display(&n);
                text_ordered(order, &node, &ty, &written)
            }
            None => boolean(false),
        },
        (right, Ty::Int | Ty::Double) if matches!(ty_of(right), Ty::Int | Ty::Double) => {
            let (other, more) = scalar(right, scope)?;
            faults.extend(more);
            binary(sign(order), node, other)
        }
        (right, Ty::Quantity) if ty_of(right) == Ty::Quantity => {
            let (other, more) = scalar(right, scope)?;
            faults.extend(more);
            let of = |node: Node| call("quantity", vec![call("string", vec![node])]);
            binary(sign(order), method(of(node), "compareTo", vec![of(other)]), int(0))
        }
        _ => {
            return Err(
                scope.refuse("an ordering of values of unknown types", "compare numbers or quantities")
            );
        }
    };
    Ok(both(there, Test { node: test, faults }))
}

/// How a text is ordered by a constant: as a duration, as a quantity, or as a number.
fn text_ordered(order: Ordering, node: &Node, ty: &Ty, s: &str) -> Node {
    let own = leaf::as_text(node, ty);
    let mut ways = Vec::new();
    let of = |node: Node| call("duration", vec![node]);
    let is_duration = crate::value::duration::parse_ok(s).is_some() && s != "0";
    if is_duration {
        ways.push(all(vec![
            method(own.clone(), "matches", vec![text(texts::DURATION)]),
            binary(sign(order), of(own.clone()), of(text(s))),
        ]));
        // A number is compared with the seconds.
        if let (Some(Value::Int(n)), Ty::Text | Ty::Any) = (as_number(&Value::from(s)), ty) {
            let number = call("double", vec![own.clone()]);
            let bound = |n: i64| crate::cel::build::constant(Value::Float(n as f64));
            let (sign, bound) = match order {
                Ordering::Gt => (">=", bound(n + 1)),
                Ordering::Ge => (">=", bound(n)),
                Ordering::Lt => ("<", bound(n)),
                Ordering::Le => ("<", bound(n + 1)),
            };
            let is_number = method(own.clone(), "matches", vec![text(texts::NUMBER)]);
            ways.push(all(vec![is_number, binary(sign, number, bound)]));
        }
    }
    if crate::value::quantity::Quantity::parse(s).is_some() {
        let measured = leaf::quantity_order(term_op(order), &own, s);
        ways.push(match ty {
            Ty::Quantity => measured,
            _ => all(vec![call("isQuantity", vec![own.clone()]), measured]),
        });
    }
    any(ways)
}

pub fn duration_ordered(
    order: Ordering,
    key: &Val,
    right: &Val,
    scope: &mut Scope<'_>,
) -> Result<Test, Refusal> {
    let Val::Const(Value::Str(s)) = right else {
        return Err(scope.refuse("an ordering of durations that are read", "compare with a constant"));
    };
    let there = not_null(key, scope)?;
    let (node, faults) = scalar(&super::lists::known_unless_failing(key), scope)?;
    let ty = ty_of(key);
    let test = match ty {
        Ty::Int => match as_number(&Value::Str(s.clone())) {
            Some(n) => binary(sign(order), node, super::forms::literal(&n)),
            None => boolean(false),
        },
        _ => {
            let own = leaf::as_text(&node, &ty);
            let of = |node: Node| call("duration", vec![node]);
            all(vec![
                method(own.clone(), "matches", vec![text(texts::DURATION)]),
                binary(sign(order), of(own), of(text(s))),
            ])
        }
    };
    Ok(both(there, Test { node: test, faults }))
}
