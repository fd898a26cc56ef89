//! Conditions → tests.
//!
//! In: conditions of preconditions or of `deny`. Out: the test that says whether they hold. What
//! the old conditions say of a failure is retained: a key that is missing fails, in the order in
//! which the conditions are evaluated. Semantics: `docs/semantics/conditions.md`.

use ephor_ir::condition::Prepared;
use ephor_ir::pattern::Leaf;
use ephor_ir::template::Part;
use ephor_ir::{Condition, Conditions, Operator, Template, operator};
use ephor_value::Value;
use ephor_value::wildcard::has_wildcard;

use crate::cel::build::{
    all, any, binary, boolean, call, choose, constant_bool, equals, int, not, or_value, select, text,
};
use crate::cel::macros::variables;
use crate::cel::{is_same, print};
use crate::expressions::context::Target;
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{ABSORBED, Test, Val, together};
use crate::expressions::translate::forms::{plain, present, truthy, ty_of};
use crate::expressions::translate::lists::{is_list, known, known_unless_failing};
use crate::expressions::translate::membership::{Member, may_be_wild, membership};
use crate::expressions::translate::ordering::{duration_ordered, of_count, ordered};
use crate::expressions::translate::template::template;
use crate::expressions::translate::{comparisons, composed, counts, forms, leaf, root, texts};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// Whether the second fails wherever the first does.
pub fn fails_alike(first: &Test, second: &Test) -> bool {
    first.faults.iter().all(|path| **path == *ABSORBED || always_reads(&second.node, path))
}

/// Whether every evaluation of an expression reads a path, so that it fails where the path is
/// missing.
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
            // Nothing is read of the items of an empty list.
            function if variables(function, args) > 0 => of(target),
            _ => of(target) || args.iter().any(of),
        },
        Kind::List { items, .. } => items.iter().any(of),
        _ => false,
    }
}

/// Both, where the second is read only when the first holds, and a failure of the first is one
/// of the whole.
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

/// One of both, where the second is read only when the first does not hold.
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
pub fn conditions(own: &Conditions, scope: &mut Scope<'_>) -> Result<Test> {
    let mut each = |all: &[Condition]| -> Result<Vec<Test>> { all.iter().map(|c| one(c, scope)).collect() };
    let mut whole = Test::constant(true);
    if let Some(listed) = &own.any {
        let tests = each(listed)?.into_iter().rev();
        whole = tests.reduce(|rest, first| either(first, rest)).unwrap_or(Test::constant(false));
        // All of the others are read, too.
        if own.all.is_empty() {
            return Ok(whole);
        }
    }
    let rest = each(&own.all)?.into_iter().rev().reduce(|rest, first| both(first, rest));
    Ok(match rest {
        None => whole,
        Some(rest) => both(whole, rest),
    })
}

fn one(condition: &Condition, scope: &mut Scope<'_>) -> Result<Test> {
    scope.at(&condition.origin, |scope| {
        let Some(op) = condition.operator else {
            return Err(scope.refuse("an operator that does not exist", "write one that does"));
        };
        let key = template(&condition.key, scope)?;
        let right = template(&condition.value, scope)?;
        if is_open_range(&condition.value) && ty_of(&key) != Ty::Text {
            return Err(scope.refuse("a range with a variable", "write two conditions"));
        }
        holds(op, &key, &right, scope)
    })
}

/// Whether a text is a range of amounts of which a variable is one: `1-{{ x }}`, `{{ x }}!-5Gi`.
fn is_open_range(value: &Template) -> bool {
    let Template::Text(text) = value else { return false };
    let is_amount = |text: &str| text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    let is_low = |text: &str| is_amount(text) && text.ends_with('-');
    let is_high = |text: &str| {
        let text = text.strip_prefix('!').unwrap_or(text);
        text.strip_prefix('-').is_some_and(is_amount)
    };
    match &*text.parts {
        [Part::Literal(low), Part::Hole(_)] => is_low(low),
        [Part::Hole(_), Part::Literal(high)] => is_high(high),
        [Part::Hole(_), Part::Literal(between), Part::Hole(_)] => matches!(&**between, "-" | "!-"),
        _ => false,
    }
}

/// Whether `key operator right` holds.
pub fn holds(op: Operator, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    if let (Val::Const(key), Val::Const(right)) = (key, right) {
        let prepared = Prepared::new(op, right.clone());
        return Ok(Test::constant(operator::holds(op, key, &prepared)));
    }
    if [key, right].into_iter().any(is_computed) && !matches!(op, Operator::Order(_)) {
        return Err(
            scope.refuse("a computed quantity with such an operator", "use `GreaterThan` and its like")
        );
    }
    if let (Val::Node { node, .. }, Val::Const(right)) = (key, right)
        && root::is_operation(node)
    {
        return Ok(root::operation(op, right, scope));
    }
    if let Some(found) = without_default(op, key, right, scope)? {
        return Ok(found);
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
            // Null is not unequal either: the constant stands for it.
            if let Val::Const(c @ (Value::Str(_) | Value::Bool(_) | Value::Int(_) | Value::Float(_))) = right
                && is_rescued(key)
                && !c.as_str().is_some_and(|s| text_measures(s) || has_wildcard(s))
            {
                let literal = forms::literal(c);
                let found = match key {
                    Val::Path(path) => Some((path.or(literal.clone()), path.faults.clone())),
                    Val::Optional { node, faults, .. } => {
                        Some((or_value(node.clone(), literal.clone()), faults.clone()))
                    }
                    _ => None,
                };
                if let Some((node, faults)) = found {
                    return Ok(Test { node: binary("!=", node, literal), faults });
                }
            }
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

/// Whether a value is a computed quantity, or a list of such, whose texts are not known.
fn is_computed(val: &Val) -> bool {
    match ty_of(val) {
        Ty::Thousandths => true,
        Ty::List(item) => *item == Ty::Thousandths,
        _ => false,
    }
}

/// Whether `(left || default) == constant`, where the default is another constant: what is missing
/// or empty is none of both.
fn without_default(op: Operator, key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Option<Test>> {
    let (Val::Or(sides), Val::Const(c @ Value::Str(s))) = (key, right) else { return Ok(None) };
    let [left, Val::Const(Value::Str(default))] = &**sides else { return Ok(None) };
    let reads = match left {
        Val::Path(path) => path.faults.is_empty(),
        Val::Optional { faults, .. } => faults.is_empty(),
        _ => false,
    };
    let is_plain = |s: &str| !s.is_empty() && !text_measures(s) && !has_wildcard(s);
    if !reads || ty_of(left) != Ty::Text || default == s || !is_plain(s) || !is_plain(default) {
        return Ok(None);
    }
    let same = comparisons::equal_constant(&left.clone().rescued(), c, scope)?;
    Ok(match op {
        Operator::Equals => Some(same),
        Operator::NotEquals => Some(same.negated()),
        _ => None,
    })
}

/// Whether a value is not null: a missing one fails elsewhere.
pub fn not_null(val: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    match val {
        Val::Path(path) if path.fails => Ok(Test::constant(true)),
        other => present(other, scope),
    }
}

type Comparand<'a, 'c> = &'a mut dyn FnMut(&Val, &mut Scope<'c>) -> Result<Test>;

/// A statement about `left || right`.
fn of_default<'c>(sides: &[Val; 2], scope: &mut Scope<'c>, said: Comparand<'_, 'c>) -> Result<Test> {
    let [left, right] = sides;
    let of_right = said(right, scope)?;
    // What is false of a missing value needs no default.
    if let Val::Const(v) = right
        && !ephor_ir::ops::truthy(v)
        && !is_list(left)
        && constant_bool(&of_right.node) == Some(false)
        && is_plain_read(left)
    {
        return said(&left.clone().rescued(), scope);
    }
    // A statement about a list without items holds of one that is missing.
    if is_list(left) {
        let chain = Val::Chain(vec![left.clone().rescued()]);
        let empty = said(&Val::Const(Value::list(Vec::new())), scope)?;
        if let (Some(a), Some(b)) = (constant_bool(&empty.node), constant_bool(&of_right.node))
            && a == b
        {
            return said(&chain, scope);
        }
        if is_same(&empty.node, &of_right.node) && empty.faults == of_right.faults {
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
        let wild = may_be_wild(left, scope);
        return scope.with_wild(wild, |scope| said(&Val::Node { node, ty, faults }, scope));
    }
    let there = truthy(left, scope)?;
    let wild = may_be_wild(left, scope);
    let of_left = scope.with_wild(wild, |scope| said(&known(left), scope))?;
    Ok(decided(there, of_left, of_right))
}

/// Whether a value is of unknown type, or comes of lookups: a default of its own would say more
/// than is known.
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

fn equal(key: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    if let Val::Count(of) = key
        && let Some(found) = of_count("==", of, right, scope)?
    {
        return Ok(found);
    }
    if let (Val::Const(Value::Str(s)), Val::Node { node, faults, .. }) = (key, right)
        && let Some(node) = composed::matches(&text(s), node, scope)?
    {
        return Ok(Test { node, faults: faults.clone() });
    }
    match (key, right) {
        (Val::Const(c), val) | (val, Val::Const(c)) => {
            let is_key = matches!(right, Val::Const(_));
            let found = equal_constant(val, c, is_key, scope)?;
            if is_key || !matches!(c, Value::Str(_)) || !may_be_wild(val, scope) {
                return Ok(found);
            }
            // The value is a pattern for the key.
            let star = equal_constant(val, &Value::from("*"), false, scope)?;
            let faults = found.faults.into_iter().chain(star.faults).collect();
            Ok(Test { node: texts::either(found.node, star.node), faults })
        }
        (key, right) => {
            let there = both(not_null(key, scope)?, not_null(right, scope)?);
            let (x, y, faults) = together(plain(key, scope)?, plain(right, scope)?);
            if let (Val::Count(_), Val::Count(_), true) = (key, right, faults.is_empty())
                && let Some(node) = counts::equal_counts(&x, &y)
            {
                let node = match scope.cx.target {
                    Target::Kyverno => node,
                    Target::Kubernetes => counts::of_each_list(&node),
                };
                return Ok(both(there, Test { node, faults }));
            }
            let matched = composed::matches(&leaf::as_text(&x, &ty_of(key)), &y, scope)?;
            Ok(both(there, Test { node: matched.unwrap_or_else(|| equals(x, y)), faults }))
        }
    }
}

/// Whether a value equals a constant; `is_key`: the constant is the right side, whose wildcards
/// count.
fn equal_constant(val: &Val, c: &Value, is_key: bool, scope: &mut Scope<'_>) -> Result<Test> {
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
                    _ if is_rescued(val) => comparisons::equal_constant(val, c, scope),
                    _ => {
                        let (node, faults) = plain(val, scope)?;
                        Ok(Test { node: equals(node, text(s)), faults })
                    }
                };
            }
            let there = not_null(val, scope)?;
            let (node, faults) = plain(&known_unless_failing(val), scope)?;
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
                Ty::Int | Ty::Double => match ephor_value::number::parse_float(s) {
                    Some(f) if f.fract() == 0.0 => equals(node, int(f as i64)),
                    _ => boolean(false),
                },
                _ => boolean(false),
            };
            Ok(both(there, Test { node, faults }))
        }
        _ => {
            if let (Val::Path(path), false) = (val, is_rescued(val)) {
                let test = comparisons::equal_constant(&Val::Path(path.known()), c, scope)?;
                let faults = path.missing();
                return Ok(Test { node: test.node, faults });
            }
            comparisons::equal_constant(val, c, scope)
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
pub fn text_measures(s: &str) -> bool {
    ephor_value::quantity::Quantity::parse(s).is_some() || ephor_value::duration::parse_ok(s).is_some()
}

/// Whether some quantity matches a wildcard pattern, as far as its characters say.
fn may_be_quantity(pattern: &str) -> bool {
    pattern.chars().all(|c| "0123456789.eEinumkMGTP+-*?".contains(c))
}
