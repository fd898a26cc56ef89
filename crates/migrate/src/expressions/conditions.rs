//! Conditions → tests.
//!
//! In: conditions of preconditions or of `deny`. Out: the test that says whether they hold. What the old conditions say of a
//! failure is kept: a key that is missing fails, in the order in which the conditions are evaluated. Semantics:
//! `docs/conditions.md`.

use crate::cel::build::{
    all, any, binary, boolean, call, choose, constant_bool, equals, int, method, not, select, text,
};
use crate::cel::print;
use crate::cel_tree::{Kind, Node};
use crate::ir::condition::{Ordering, Prepared};
use crate::ir::pattern::{Leaf, TermOp};
use crate::ir::{Condition, Conditions, Operator, operator};
use crate::value::range::Range;
use crate::value::wildcard::has_wildcard;
use crate::value::{Str, Value};

use super::lists::{Quantifier, is_list, quantified};
use super::scope::Scope;
use super::template::template;
use super::term::{ABSORBED, Faults, Test, Val};
use super::types::Ty;
use super::values::{plain, present, truthy, ty_of};
use super::{Refusal, compare, leaf, root, texts};

/// Whether the second fails wherever the first does.
pub fn fails_alike(first: &Test, second: &Test) -> bool {
    first.faults.iter().all(|path| **path == *ABSORBED || always_reads(&second.node, path))
}

/// Whether every evaluation of an expression reads a path, so that it fails where the path is missing.
fn always_reads(node: &Node, path: &str) -> bool {
    let of = |node: &Node| always_reads(node, path);
    match &node.kind {
        Kind::Select { operand, test, .. } => (!test && print(node, usize::MAX) == *path) || of(operand),
        Kind::Call { function, target: None, args } => match (&**function, &args[..]) {
            ("_&&_" | "_||_", args) => args.iter().all(of),
            ("_?_:_", [condition, then, other]) => of(condition) || (of(then) && of(other)),
            ("_?._" | "_[?_]", [operand, ..]) => of(operand),
            (_, args) => args.iter().any(of),
        },
        Kind::Call { function, target: Some(target), args } => match &**function {
            "orValue" => false,
            "all" | "exists" | "filter" | "map" | "exists_one" | "transformMap" | "optMap" => of(target),
            _ => of(target) || args.iter().any(of),
        },
        Kind::List { items, .. } => items.iter().any(of),
        _ => false,
    }
}

/// Both, where the second is looked at only when the first holds, and a failure of the first is one of the whole.
pub fn both(first: Test, mut second: Test) -> Test {
    // What the first has found is there.
    if let Kind::Select { operand, field, test: true } = &first.node.kind {
        second.faults.remove(&print(&select((**operand).clone(), field), usize::MAX));
    }
    let is_safe = fails_alike(&first, &second) || constant_bool(&second.node) == Some(true);
    let faults = first.faults.iter().chain(&second.faults).cloned().collect();
    let node = match is_safe {
        true => all(vec![first.node, second.node]),
        false => choose(first.node, second.node, boolean(false)),
    };
    Test { node, faults }
}

/// One of both, where the second is looked at only when the first does not hold.
pub fn either(first: Test, second: Test) -> Test {
    let is_safe = fails_alike(&first, &second) || constant_bool(&second.node) == Some(false);
    let faults = first.faults.iter().chain(&second.faults).cloned().collect();
    let node = match is_safe {
        true => any(vec![first.node, second.node]),
        false => choose(first.node, boolean(true), second.node),
    };
    Test { node, faults }
}

/// Whether conditions hold.
///
/// # Errors
/// One cannot be said.
pub fn conditions(own: &Conditions, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    let mut whole = Test::constant(true);
    if let Some(listed) = &own.any {
        let mut tests = Vec::new();
        for condition in listed.iter() {
            tests.push(one(condition, scope)?);
        }
        whole = tests
            .into_iter()
            .rev()
            .reduce(|rest, first| either(first, rest))
            .unwrap_or(Test::constant(false));
        // All of the others are looked at, too.
        if own.all.is_empty() {
            return Ok(whole);
        }
    }
    let mut tests = Vec::new();
    for condition in own.all.iter() {
        tests.push(one(condition, scope)?);
    }
    let rest = tests.into_iter().rev().reduce(|rest, first| both(first, rest));
    Ok(match rest {
        None => whole,
        Some(rest) => both(whole, rest),
    })
}

fn one(condition: &Condition, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    let outside = std::mem::replace(&mut scope.place, condition.origin.clone());
    let found = (|| {
        let Some(op) = condition.operator else {
            return Err(scope.refuse("an operator that does not exist", "write one that does"));
        };
        let key = template(&condition.key, scope)?;
        let right = template(&condition.value, scope)?;
        holds(op, &key, &right, scope)
    })();
    scope.place = outside;
    found
}

/// Whether `key operator right` holds.
///
/// # Errors
/// It cannot be said.
pub fn holds(op: Operator, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    if let (Val::Const(key), Val::Const(right)) = (key, right) {
        let prepared = Prepared::new(op, right.clone());
        return Ok(Test::constant(operator::holds(op, key, &prepared)));
    }
    if let (Val::Node { node, .. }, Val::Const(right)) = (key, right)
        && root::is_operation(node)
    {
        return Ok(root::operation(op, right, scope));
    }
    if let Val::Or(sides) = key {
        return of_default(sides, scope, &mut |val, scope| holds(op, val, right, scope));
    }
    if let Val::Or(sides) = right {
        return of_default(sides, scope, &mut |val, scope| holds(op, key, val, scope));
    }
    match op {
        Operator::Never => Ok(Test::constant(false)),
        Operator::Equals => equal(key, right, scope),
        Operator::NotEquals => {
            let same = equal(key, right, scope)?.negated();
            Ok(both(not_null(key, scope)?, same))
        }
        Operator::AnyIn => membership(Member { every: false, negated: false }, key, right, scope),
        Operator::AllIn => membership(Member { every: true, negated: false }, key, right, scope),
        Operator::AnyNotIn => membership(Member { every: false, negated: true }, key, right, scope),
        Operator::AllNotIn => membership(Member { every: true, negated: true }, key, right, scope),
        Operator::In => membership(Member { every: true, negated: false }, key, right, scope),
        Operator::NotIn => membership(Member { every: false, negated: true }, key, right, scope),
        Operator::Order(order) => ordered(order, key, right, scope),
        Operator::DurationOrder(order) => duration_ordered(order, key, right, scope),
    }
}

/// Whether a value is not null: a missing one fails elsewhere.
fn not_null(val: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    match val {
        Val::Path(path) if path.fails => Ok(Test::constant(true)),
        other => present(other, scope),
    }
}

type Said<'a, 'c> = &'a mut dyn FnMut(&Val, &mut Scope<'c>) -> Result<Test, Refusal>;

/// What is said of `left || right`.
fn of_default<'c>(sides: &[Val; 2], scope: &mut Scope<'c>, said: Said<'_, 'c>) -> Result<Test, Refusal> {
    let [left, right] = sides;
    let of_right = said(right, scope)?;
    // What is false of a missing value needs no default.
    if let Val::Const(v) = right
        && !crate::ir::ops::truthy(v)
        && !is_list(left)
        && constant_bool(&of_right.node) == Some(false)
        && is_plain_read(left)
    {
        return said(&left.clone().rescued(), scope);
    }
    // What is said of a list without items is said of one that is missing.
    if is_list(left) {
        let chain = Val::Chain(vec![left.clone().rescued()]);
        let empty = said(&Val::Const(Value::list(Vec::new())), scope)?;
        if let (Some(a), Some(b)) = (constant_bool(&empty.node), constant_bool(&of_right.node))
            && a == b
        {
            return said(&chain, scope);
        }
        let of_left = said(&chain, scope)?;
        return Ok(decided(truthy(left, scope)?, of_left, of_right));
    }
    let is_scalar = matches!(
        ty_of(left),
        Ty::Text | Ty::Bool | Ty::Int | Ty::Double | Ty::Quantity | Ty::IntOrText | Ty::Map(_)
    );
    let has_or = matches!(left, Val::Path(_) | Val::Optional { .. });
    if let (true, true, Val::Const(_)) = (is_scalar, has_or, right)
        && (ty_of(left) == ty_of(right) || matches!(ty_of(left), Ty::Map(_)) && ty_of(right) == ty_of(left))
    {
        let both = Val::Or(Box::new([left.clone(), right.clone()]));
        let ty = ty_of(left);
        let (node, faults) = plain(&both, scope)?;
        return said(&Val::Node { node, ty, faults }, scope);
    }
    let there = truthy(left, scope)?;
    let of_left = said(&super::lists::known(left), scope)?;
    Ok(decided(there, of_left, of_right))
}

/// Whether a value is of unknown type, or comes from outside: a default of its own would say more than is known.
fn is_plain_read(val: &Val) -> bool {
    match val {
        Val::Path(path) => path.ty == Ty::Any || !path.faults.is_empty(),
        Val::Optional { ty, .. } => *ty == Ty::Any,
        _ => false,
    }
}

fn decided(there: Test, left: Test, right: Test) -> Test {
    match constant_bool(&right.node) {
        Some(false) => both(there, left),
        Some(true) => either(there.negated(), left),
        None => {
            let faults = [&there, &left, &right].into_iter().flat_map(|t| t.faults.iter().cloned()).collect();
            Test { node: choose(there.node, left.node, right.node), faults }
        }
    }
}

/// A scalar as an expression, with the default that a missing one may have.
fn scalar(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults), Refusal> {
    plain(val, scope)
}

fn equal(key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    if let Val::Count(of) = key
        && let Some(found) = of_count("==", of, right, scope)?
    {
        return Ok(found);
    }
    match (key, right) {
        (Val::Const(c), val) | (val, Val::Const(c)) => {
            let is_key = matches!(right, Val::Const(_));
            equal_constant(val, c, is_key, scope)
        }
        (key, right) => {
            let there = both(not_null(key, scope)?, not_null(right, scope)?);
            let (x, mut faults) = scalar(key, scope)?;
            let (y, more) = scalar(right, scope)?;
            faults.extend(more);
            Ok(both(there, Test { node: equals(x, y), faults }))
        }
    }
}

/// Whether a value equals a constant; `is_key`: the constant is the right side, whose wildcards count.
fn equal_constant(val: &Val, c: &Value, is_key: bool, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    let ty = ty_of(val);
    match c {
        Value::Str(s) => {
            let leaf = Leaf::new(c.clone());
            let is_measure = text_measures(s);
            if !is_measure
                && (!is_key || !has_wildcard(s))
                && !matches!(ty, Ty::List(_) | Ty::Map(_) | Ty::Object(_))
            {
                return match ty {
                    Ty::Bool => Ok(Test::constant(false)),
                    _ if is_rescued(val) => compare::equal_constant(val, c, scope),
                    _ => {
                        let (node, faults) = scalar(val, scope)?;
                        Ok(Test { node: equals(node, text(s)), faults })
                    }
                };
            }
            let there = not_null(val, scope)?;
            let (node, faults) = scalar(&super::lists::known_unless_failing(val), scope)?;
            let of_text = |node: Node| match (is_measure, is_key && has_wildcard(s)) {
                (_, true) => match may_be_quantity(s) {
                    true => all(vec![not(call("isQuantity", vec![node.clone()])), texts::matches(&node, s)]),
                    false => texts::matches(&node, s),
                },
                _ => leaf::test(&leaf, &node, &ty),
            };
            let node = match &ty {
                Ty::Text | Ty::Quantity => of_text(node),
                Ty::Any | Ty::IntOrText => of_text(leaf::as_text(&node, &ty)),
                Ty::Int | Ty::Double => match crate::value::number::parse_float(s) {
                    Some(f) if f.fract() == 0.0 => equals(node, int(f as i64)),
                    _ => boolean(false),
                },
                _ => boolean(false),
            };
            Ok(both(there, Test { node, faults }))
        }
        _ => {
            if let (Val::Path(path), false) = (val, is_rescued(val)) {
                let test = compare::equal_constant(&Val::Path(path.known()), c, scope)?;
                let faults = path.missing();
                return Ok(Test { node: test.node, faults });
            }
            compare::equal_constant(val, c, scope)
        }
    }
}

fn is_rescued(val: &Val) -> bool {
    match val {
        Val::Path(path) => !path.fails && !path.is_required(),
        Val::Optional { .. } | Val::Or(_) => true,
        _ => false,
    }
}

/// Whether a text is a quantity or a duration, which others are equal to.
fn text_measures(s: &str) -> bool {
    crate::value::quantity::Quantity::parse(s).is_some() || crate::value::duration::parse_ok(s).is_some()
}

/// Whether some quantity matches a wildcard pattern, as far as its characters say.
fn may_be_quantity(pattern: &str) -> bool {
    pattern.chars().all(|c| "0123456789.eEinumkMGTP+-*?".contains(c))
}

/// Which operator of the `In` family.
#[derive(Clone, Copy)]
struct Member {
    every: bool,
    negated: bool,
}

fn membership(member: Member, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    if let Val::Const(Value::Null) = key {
        return Ok(Test::constant(false));
    }
    if is_list(key) {
        return list_membership(member, key, right, scope);
    }
    if matches!(ty_of(key), Ty::Map(_) | Ty::Object(_)) {
        return Ok(Test::constant(false));
    }
    if matches!(right, Val::Const(v) if !matches!(v, Value::List(_) | Value::Str(_))) {
        return Ok(Test::constant(false));
    }
    let there = not_null(key, scope)?;
    let found = scalar_in(&super::lists::known_unless_failing(key), right, scope)?;
    let test = if member.negated { found.negated() } else { found };
    let test = match (member.negated, is_list(right)) {
        // Nothing is in a list that is null, and nothing is not in it.
        (true, true) => both(not_null(right, scope)?, test),
        _ => test,
    };
    Ok(both(there, test))
}

/// Whether a scalar is in a list, or matches a text.
fn scalar_in(key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    match right {
        Val::Const(Value::List(items)) => {
            let (node, faults) = scalar(key, scope)?;
            Ok(Test { node: word_in(&node, &ty_of(key), items), faults })
        }
        Val::Const(Value::Str(s)) => {
            let (node, faults) = scalar(key, scope)?;
            Ok(Test { node: in_text(&node, &ty_of(key), s), faults })
        }
        Val::Const(_) => Ok(Test::constant(false)),
        Val::Keys(path) if matches!(key, Val::Const(Value::Str(s)) if !has_wildcard(s)) => {
            let Val::Const(Value::Str(s)) = key else { return Ok(Test::constant(false)) };
            Ok(has_key(path, s, scope))
        }
        right if is_list(right) => match key {
            Val::Const(c) => {
                let word = crate::value::print::display(c);
                quantified(Quantifier::Some, right, scope, &mut |item, scope| {
                    let (node, faults) = scalar(item, scope)?;
                    Ok(Test { node: leaf::words_of(&node, &ty_of(item), &[&*word]), faults })
                })
            }
            key => {
                let (own, mut faults) = scalar(key, scope)?;
                let (list, more) = super::lists::built(right, scope)?;
                faults.extend(more);
                Ok(Test { node: binary("in", own, list), faults })
            }
        },
        right => {
            let (own, mut faults) = scalar(key, scope)?;
            let (other, more) = scalar(right, scope)?;
            faults.extend(more);
            Ok(Test { node: equals(other, own), faults })
        }
    }
}

/// Whether an object has a key; one that is missing fails, or has none.
pub fn has_key(path: &super::term::Path, key: &str, scope: &Scope<'_>) -> Test {
    let of = |path: &super::term::Path| path.key(key, &scope.cx.types).present();
    match path.fails {
        true => Test { node: of(&path.known()), faults: path.missing() },
        false => Test { node: of(path), faults: path.faults.clone() },
    }
}

/// Whether a value is one of the items of a list, as texts.
fn word_in(node: &Node, ty: &Ty, items: &[Value]) -> Node {
    let words: Vec<Str> = items.iter().map(|v| Str::from(crate::value::print::display(v))).collect();
    let words: Vec<&str> = words.iter().map(|w| &**w).collect();
    match ty {
        Ty::Bool => {
            let is = |b: bool| {
                words.iter().any(|w| crate::value::wildcard::matches(w, if b { "true" } else { "false" }))
            };
            match [is(true), is(false)] {
                [true, true] => boolean(true),
                [false, false] => boolean(false),
                [true, false] => equals(node.clone(), boolean(true)),
                [false, true] => equals(node.clone(), boolean(false)),
            }
        }
        Ty::Int => {
            let numbers: Option<Vec<i64>> =
                words.iter().map(|w| crate::value::number::parse_int(w)).collect();
            match numbers {
                Some(numbers) => call(
                    "@in",
                    vec![node.clone(), crate::cel::build::list(numbers.into_iter().map(int).collect())],
                ),
                None => texts::matches_any(&leaf::as_text(node, ty), &words),
            }
        }
        ty => leaf::words_of(node, ty, &words),
    }
}

/// Whether a value matches a text: as a wildcard pattern, or in a range.
fn in_text(node: &Node, ty: &Ty, s: &str) -> Node {
    match Range::parse(s).filter(|range| !range.negated) {
        Some(_) => leaf::test(&Leaf::new(Value::from(s)), node, ty),
        None => word_in(node, ty, &[Value::from(s)]),
    }
}

fn list_membership(member: Member, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    // `AnyNotIn`: some item is outside; `AllNotIn`: none is inside.
    let quantifier = if member.every { Quantifier::Every } else { Quantifier::Some };
    if let (Val::Const(Value::List(keys)), true) = (key, is_list(right)) {
        // Some key is in the list: some item is one of the keys.
        if !member.every && !member.negated {
            let keys = keys.clone();
            return quantified(Quantifier::Some, right, scope, &mut |item, scope| {
                let (node, faults) = scalar(item, scope)?;
                Ok(Test { node: word_in(&node, &ty_of(item), &keys), faults })
            });
        }
    }
    if let Val::Const(v) = right
        && !matches!(v, Value::List(_) | Value::Str(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))
    {
        return Ok(Test::constant(false));
    }
    let one = |item: &Val, scope: &mut Scope<'_>| -> Result<Test, Refusal> {
        let found = match right {
            Val::Const(Value::Bool(_) | Value::Int(_) | Value::Float(_)) => {
                let Val::Const(v) = right else { return Ok(Test::constant(false)) };
                let (node, faults) = scalar(item, scope)?;
                Test { node: word_in(&node, &ty_of(item), std::slice::from_ref(v)), faults }
            }
            right => scalar_in(item, right, scope)?,
        };
        Ok(if member.negated { found.negated() } else { found })
    };
    let test = quantified(quantifier, key, scope, &mut |item, scope| one(item, scope))?;
    if quantifier == Quantifier::Every && !matches!(key, Val::Chain(_) | Val::Const(_)) {
        return Ok(both(not_null(key, scope)?, test));
    }
    Ok(test)
}

fn sign(order: Ordering) -> &'static str {
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
fn as_number(c: &Value) -> Option<Value> {
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
fn of_count(sign: &str, of: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Option<Test>, Refusal> {
    let Val::Const(c) = right else { return Ok(None) };
    let Some(Value::Int(n)) = as_number(c) else { return Ok(None) };
    let is_some = match (sign, n) {
        (">", 0) | (">=", 1) | ("!=", 0) => true,
        ("<", 1) | ("<=", 0) | ("==", 0) => false,
        _ => return Ok(None),
    };
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

fn ordered(order: Ordering, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
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
    let there = not_null(key, scope)?;
    let (node, mut faults) = scalar(&super::lists::known_unless_failing(key), scope)?;
    let ty = ty_of(key);
    let test = match (right, &ty) {
        (Val::Const(c), Ty::Duration) => match duration_of(c) {
            Some(written) => binary(sign(order), node, call("duration", vec![text(&written)])),
            None => boolean(false),
        },
        (Val::Const(c), Ty::Int | Ty::Double) => match as_number(c) {
            Some(n) => binary(sign(order), node, super::values::literal(&n)),
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

fn duration_ordered(order: Ordering, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test, Refusal> {
    let Val::Const(Value::Str(s)) = right else {
        return Err(scope.refuse("an ordering of durations that are read", "compare with a constant"));
    };
    let there = not_null(key, scope)?;
    let (node, faults) = scalar(&super::lists::known_unless_failing(key), scope)?;
    let ty = ty_of(key);
    let test = match ty {
        Ty::Int => match as_number(&Value::Str(s.clone())) {
            Some(n) => binary(sign(order), node, super::values::literal(&n)),
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
