//! Orderings: `GreaterThan` and its like.
//!
//! In: a key, an operator, a value. Out: the test; how both sides are read – as durations,
//! quantities or numbers – follows from what the key can be. Semantics:
//! `docs/semantics/conditions.md`, "GreaterThan, GreaterThanOrEquals, LessThan, LessThanOrEquals".
use ephor_ir::condition::Ordering;
use ephor_ir::pattern::TermOp;
use ephor_value::Value;
use ephor_value::semver::Version;

use crate::cel::build::{
    all, any, binary, boolean, call, choose, constant, int, list, method, name, on, over, text,
};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{ABSORBED, Faults, Test, Val, together};
use crate::expressions::translate::conditions::{both, not_null, text_measures};
use crate::expressions::translate::forms::{literal, plain, ty_of};
use crate::expressions::translate::functions::arithmetic;
use crate::expressions::translate::lists::{Quantifier, is_list, known_unless_failing, quantified};
use crate::expressions::translate::{leaf, texts};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

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

/// A number that a constant is when it is compared with numbers.
pub fn as_number(c: &Value) -> Option<Value> {
    match c {
        Value::Int(_) => Some(c.clone()),
        Value::Float(f) if f.fract() == 0.0 => Some(Value::Int(*f as i64)),
        Value::Float(_) => Some(c.clone()),
        Value::Str(s) => match ephor_value::duration::parse_ok(s).filter(|_| &**s != "0") {
            Some(ns) if ns % 1_000_000_000 == 0 => Some(Value::Int(ns / 1_000_000_000)),
            Some(_) => None,
            None => ephor_value::number::parse_float(s).map(|f| match f.fract() == 0.0 {
                true => Value::Int(f as i64),
                false => Value::Float(f),
            }),
        },
        _ => None,
    }
}

/// Whether a list has items, where that is what a number of items is compared for.
pub fn of_count(sign: &str, of: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Option<Test>> {
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
        Value::Str(s) => ephor_value::duration::parse_ok(s).map(|_| s.to_string()),
        c => match as_number(c) {
            Some(Value::Int(n)) => Some(format!("{n}s")),
            _ => None,
        },
    }
}

pub fn ordered(order: Ordering, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    if let Val::Count(of) = key
        && let Some(found) = of_count(sign(order), of, right, scope)?
    {
        return Ok(found);
    }
    if [key, right].into_iter().any(|val| ty_of(val) == Ty::Thousandths) {
        return of_computed(order, key, right, scope);
    }
    // An order that is read from the other side: only where both sides are read alike.
    if let (Val::Const(c), other) = (key, right) {
        let alike = match ty_of(other) {
            Ty::Quantity => c.as_str().is_some_and(|s| ephor_value::quantity::Quantity::parse(s).is_some()),
            Ty::Int | Ty::Double => as_number(c).is_some(),
            Ty::Text => c.as_str().is_some_and(text_measures),
            Ty::Duration => duration_of(c).is_some(),
            _ => false,
        };
        return match alike {
            true => ordered(order.flipped(), other, key, scope),
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
    let is_some = match right {
        Val::Optional { .. } => not_null(right, scope)?,
        _ => Test::constant(true),
    };
    let (node, mut faults) = plain(&known_unless_failing(key), scope)?;
    let ty = ty_of(key);
    let test = match (right, &ty) {
        (Val::Const(c), Ty::Duration) => match duration_of(c) {
            Some(written) => binary(sign(order), node, call("duration", vec![text(&written)])),
            None => boolean(false),
        },
        (Val::Const(c), Ty::Int | Ty::Double) => match as_number(c) {
            Some(n) => binary(sign(order), node, literal(&n)),
            None => boolean(false),
        },
        (Val::Const(Value::Str(s)), Ty::Text | Ty::Quantity | Ty::Any | Ty::IntOrText) => {
            text_ordered(order, &node, &ty, s)
        }
        (
            Val::Const(c @ (Value::Int(_) | Value::Float(_))),
            Ty::Text | Ty::Quantity | Ty::Any | Ty::IntOrText,
        ) => number_ordered(order, (&leaf::as_text(&node, &ty), &ty), literal(c), boolean(true)),
        (Val::Const(_), Ty::Text | Ty::Quantity | Ty::Any | Ty::IntOrText) => boolean(false),
        (right, Ty::Int | Ty::Double) if matches!(ty_of(right), Ty::Int | Ty::Double) => {
            let (other, more) = plain(right, scope)?;
            faults.extend(more);
            binary(sign(order), node, other)
        }
        (right, Ty::Quantity) if ty_of(right) == Ty::Quantity => {
            let (other, more) = plain(right, scope)?;
            faults.extend(more);
            let of = |node: Node| call("quantity", vec![call("string", vec![node])]);
            binary(sign(order), method(of(node), "compareTo", vec![of(other)]), int(0))
        }
        // Both are numbers by their types or defaults: what is none fails.
        (right, Ty::Any) if by_default(key) == Some(Ty::Int) && is_number(right) => {
            let (other, more) = plain(right, scope)?;
            faults.extend(more);
            let other = match ty_of(right) {
                Ty::Any => call("double", vec![other]),
                _ => other,
            };
            binary(sign(order), call("double", vec![node]), other)
        }
        (right, Ty::Text | Ty::Any | Ty::IntOrText | Ty::Quantity)
            if matches!(ty_of(right), Ty::Int | Ty::Double) =>
        {
            let (other, more) = plain(right, scope)?;
            faults.extend(more);
            faults.extend(is_some.faults);
            let own = leaf::as_text(&node, &ty);
            // The key is read first: it may be missing.
            let test = Test { node: number_ordered(order, (&own, &ty), other, is_some.node), faults };
            return Ok(both(not_null(key, scope)?, test));
        }
        _ => {
            return Err(
                scope.refuse("an ordering of values of unknown types", "compare numbers or quantities")
            );
        }
    };
    let there = both(not_null(key, scope)?, is_some);
    Ok(both(there, Test { node: test, faults }))
}

/// Whether a value is a number by its type or default.
fn is_number(val: &Val) -> bool {
    matches!(by_default(val).unwrap_or_else(|| ty_of(val)), Ty::Int | Ty::Double)
}

/// The type that the default of a value of unknown type says it has.
fn by_default(val: &Val) -> Option<Ty> {
    let Val::Node { node, ty: Ty::Any, .. } = val else { return None };
    match on(node, "orValue")? {
        (_, [Node { kind: Kind::Const(default), .. }]) => Some(ty_of(&Val::Const(default.clone()))),
        _ => None,
    }
}

/// How a text, or what may be one, is ordered by a number: as a number, or as a duration by this
/// many seconds. A quantity is none of both. `is_some`: whether there is a number.
fn number_ordered(order: Ordering, (own, ty): (&Node, &Ty), number: Node, is_some: Node) -> Node {
    let looks = |like: &str| method(own.clone(), "matches", vec![text(like)]);
    let (number, seconds) = match &number.kind {
        // Amounts, numbers and durations have one sign.
        Kind::Const(c) if *ty == Ty::Quantity && c.as_number() == Some(0.0) => {
            let compared = leaf::quantity_order(term_op(order), own, "0");
            return all(vec![is_some, compared, looks("[0-9m]$")]);
        }
        Kind::Const(c) => {
            let seconds = c.as_number().unwrap_or_default().trunc();
            (number, text(&format!("{seconds}s")))
        }
        // A length is a whole number.
        Kind::Call { function, .. } if **function == *"size" => {
            (number.clone(), binary("+", call("string", vec![number]), text("s")))
        }
        _ => {
            let whole = call("string", vec![call("int", vec![number.clone()])]);
            (call("double", vec![number]), binary("+", whole, text("s")))
        }
    };
    let of_number = binary(sign(order), call("double", vec![own.clone()]), number);
    let of_number = all(vec![is_some.clone(), of_number]);
    let of = |text: Node| call("duration", vec![text]);
    let ordered = binary(sign(order), of(own.clone()), of(seconds));
    // Of a quantity it is enough to read the unit.
    let (is_number, is_duration) = match ty {
        Ty::Quantity => (looks("^[-+.0-9e]+$"), method(own.clone(), "endsWith", vec![text("m")])),
        _ => (looks(texts::NUMBER), looks(texts::DURATION)),
    };
    choose(is_number, of_number, all(vec![is_some, is_duration, ordered]))
}

/// An order of a computed quantity and another one; what is no quantity is neither more nor less.
fn of_computed(order: Ordering, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    let is_amount = |val: &Val| match val {
        Val::Const(c) => c.as_str().is_some_and(|s| arithmetic::thousandths_of(s).is_some()),
        val => matches!(ty_of(val), Ty::Quantity | Ty::Thousandths),
    };
    if is_amount(key) && is_amount(right) {
        let there = both(not_null(key, scope)?, not_null(right, scope)?);
        let (x, y, faults) = together(
            arithmetic::thousandths(&known_unless_failing(key), scope)?,
            arithmetic::thousandths(&known_unless_failing(right), scope)?,
        );
        return Ok(both(there, Test { node: binary(sign(order), x, y), faults }));
    }
    let is_read = !matches!(right, Val::Const(_)) && matches!(ty_of(right), Ty::Text | Ty::Any);
    if !is_read || ty_of(key) != Ty::Thousandths {
        return Err(
            scope.refuse("an ordering of a computed quantity by such a value", "write a quantity: `'2Gi'`")
        );
    }
    let there = not_null(right, scope)?;
    let (x, mut faults) = arithmetic::thousandths(key, scope)?;
    let (node, more) = plain(&known_unless_failing(right), scope)?;
    let own = leaf::as_text(&node, &ty_of(right));
    // Quantities of the form `500m` are ordered by durations, too, with which this one fails.
    let is_one = any(vec![
        call("isQuantity", vec![own.clone()]),
        method(own.clone(), "matches", vec![text(texts::DURATION)]),
    ]);
    let ordered = |x: Node| all(vec![is_one, binary(sign(order), x, arithmetic::thousandths_in(own))]);
    // A sum that fails does so whatever it is compared with.
    let node = match faults.is_empty() {
        true => ordered(x),
        false => {
            let var = scope.unused("total");
            over(list(vec![x]), "exists", &var, ordered(name(&var)))
        }
    };
    faults.extend(more);
    Ok(both(there, Test { node, faults }))
}

/// How a text is ordered by a constant: as a duration, as a quantity, as a number, or as a version.
fn text_ordered(order: Ordering, node: &Node, ty: &Ty, s: &str) -> Node {
    let own = leaf::as_text(node, ty);
    let mut ways = Vec::new();
    let of = |node: Node| call("duration", vec![node]);
    let is_duration = ephor_value::duration::parse_ok(s).is_some() && s != "0";
    if is_duration {
        ways.push(all(vec![
            method(own.clone(), "matches", vec![text(texts::DURATION)]),
            binary(sign(order), of(own.clone()), of(text(s))),
        ]));
        // A number is compared with the seconds.
        let is_quantity = ephor_value::quantity::Quantity::parse(s).is_some();
        if let (Some(Value::Int(n)), true) = (
            as_number(&Value::from(s)),
            *ty == Ty::Any || matches!(ty, Ty::Text | Ty::Quantity) && !is_quantity,
        ) {
            let number = call("double", vec![own.clone()]);
            let bound = |n: i64| constant(Value::Float(n as f64));
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
    if ephor_value::quantity::Quantity::parse(s).is_some() {
        let measured = leaf::quantity_order(term_op(order), &own, s);
        ways.push(match ty {
            Ty::Quantity => measured,
            _ => all(vec![call("isQuantity", vec![own.clone()]), measured]),
        });
    }
    if ways.is_empty() && Version::parse(s).is_ok() && matches!(ty, Ty::Text | Ty::Any) {
        let version = |node: Node| call("semver", vec![node]);
        let compared = method(version(own.clone()), "compareTo", vec![version(text(s))]);
        ways.push(all(vec![call("isSemver", vec![own]), binary(sign(order), compared, int(0))]));
    }
    any(ways)
}

pub fn duration_ordered(order: Ordering, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    let Val::Const(Value::Str(s)) = right else {
        return read_durations_ordered(order, key, right, scope);
    };
    let there = not_null(key, scope)?;
    let (node, faults) = plain(&known_unless_failing(key), scope)?;
    let ty = ty_of(key);
    let test = match ty {
        Ty::Int => match as_number(&Value::Str(s.clone())) {
            Some(n) => binary(sign(order), node, literal(&n)),
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

/// An order of two durations that are read: texts, or whole numbers of seconds.
fn read_durations_ordered(order: Ordering, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    let there = both(not_null(key, scope)?, not_null(right, scope)?);
    let mut faults = Faults::new();
    let mut texts_of = Vec::new();
    let mut sides = Vec::new();
    for val in [key, right] {
        // What has a text as its default is one, or fails.
        let ty = by_default(val).filter(|ty| *ty == Ty::Text).unwrap_or_else(|| ty_of(val));
        let (node, more) = plain(&known_unless_failing(val), scope)?;
        faults.extend(more);
        let in_seconds = |node: &Node| binary("+", call("string", vec![node.clone()]), text("s"));
        let own = match ty {
            Ty::Duration => {
                sides.push(node);
                continue;
            }
            Ty::Int => {
                sides.push(call("duration", vec![in_seconds(&node)]));
                continue;
            }
            Ty::Text => node,
            Ty::Any | Ty::IntOrText => {
                let is_text = binary("==", call("type", vec![node.clone()]), name("string"));
                choose(is_text, node.clone(), in_seconds(&node))
            }
            _ => {
                return Err(
                    scope.refuse("an ordering of durations of such values", "compare with a constant")
                );
            }
        };
        texts_of.push(own.clone());
        sides.push(call("duration", vec![own]));
    }
    let mut sides = sides.into_iter();
    let (Some(left), Some(right)) = (sides.next(), sides.next()) else { return Ok(Test::constant(false)) };
    // All of them are read before any is read: a missing one fails.
    let var = scope.unused("text");
    let looks = |own: Node| method(own, "matches", vec![text(texts::DURATION)]);
    let mut terms = match &texts_of[..] {
        [] => Vec::new(),
        [one] => vec![looks(one.clone())],
        _ => vec![over(list(texts_of), "all", &var, looks(name(&var)))],
    };
    terms.push(binary(sign(order), left, right));
    Ok(both(there, Test { node: all(terms), faults }))
}
