//! Comparisons of JMESPath.
//!
//! In: two values, of which either may be missing (null). Out: the test. `==` is exact; what is
//! ordered must be numbers, else the result is null, which is false. Semantics:
//! `docs/expressions/jmespath.md`, "Values".

use ephor_ir::expr::Cmp;
use ephor_value::Value;

use crate::cel::build::{binary, boolean, constant, int, is, optional_of, or_value, text};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Path, Test, Val, together};
use crate::expressions::translate::forms::{literal, plain, present, ty_of};
use crate::expressions::translate::{conditions, lists};
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// A comparison.
pub fn compare(op: Cmp, left: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    // A quantity is a text, which is ordered by nothing; its letters are not known.
    if ty_of(left) == Ty::Thousandths || ty_of(right) == Ty::Thousandths {
        return Err(scope.refuse("a computed quantity in a comparison", "write a condition with an operator"));
    }
    if let (Val::Const(a), Val::Const(b)) = (left, right) {
        return Ok(Test::constant(ephor_ir::ops::compare(op, a, b).unwrap_or(false)));
    }
    match op {
        Cmp::Eq => equal(left, right, scope),
        Cmp::Ne => Ok(equal(left, right, scope)?.negated()),
        Cmp::Lt => ordered("<", left, right, scope),
        Cmp::Le => ordered("<=", left, right, scope),
        Cmp::Gt => ordered(">", left, right, scope),
        Cmp::Ge => ordered(">=", left, right, scope),
    }
}

fn equal(left: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    match (left, right) {
        (Val::Const(c), other) | (other, Val::Const(c)) => equal_constant(other, c, scope),
        (Val::Path(a), Val::Path(b)) if !a.is_required() || !b.is_required() => {
            // None is none.
            let side = |path: &Path| match path.is_required() {
                true => method_of_optional(path.strict()),
                false => path.optional(),
            };
            let faults = a.faults.iter().chain(&b.faults).cloned().collect();
            Ok(Test { node: binary("==", scope.opened(side(a), &a.ty), side(b)), faults })
        }
        (a, b) => {
            let there = conditions::both(present(a, scope)?, present(b, scope)?);
            let (x, y, faults) = together(plain(a, scope)?, plain(b, scope)?);
            let same = Test { node: binary("==", scope.opened(x, &ty_of(a)), y), faults };
            Ok(conditions::both(there, same))
        }
    }
}

fn method_of_optional(node: Node) -> Node {
    optional_of(node)
}

/// Whether a value is a constant.
pub fn equal_constant(val: &Val, c: &Value, scope: &mut Scope<'_>) -> Result<Test> {
    if c.is_null() {
        return Ok(present(val, scope)?.negated());
    }
    if let (Val::Node { node, ty: Ty::Bool, faults }, Value::Bool(b)) = (val, c) {
        let test = Test { node: node.clone(), faults: faults.clone() };
        return Ok(if *b { test } else { test.negated() });
    }
    let ty = ty_of(val);
    let fits = matches!(
        (&ty, c),
        (Ty::Any, _)
            | (Ty::Text | Ty::Quantity | Ty::IntOrText, Value::Str(_))
            | (Ty::Bool, Value::Bool(_))
            | (Ty::Int | Ty::Double | Ty::IntOrText, Value::Int(_) | Value::Float(_))
            | (Ty::List(_), Value::List(_))
            | (Ty::Map(_) | Ty::Object(_), Value::Map(_))
    );
    if !fits {
        return Ok(Test::constant(false));
    }
    let other = match c {
        Value::Str(s) => text(if s.is_empty() { "none" } else { "" }),
        Value::Bool(b) => boolean(!b),
        Value::Int(0) => int(-1),
        Value::Float(f) if *f == 0.0 => int(-1),
        Value::Int(_) | Value::Float(_) => int(0),
        _ => constant(Value::Null),
    };
    if let (Val::Path(path), true) = (val, matches!(c, Value::Str(_) | Value::Bool(_)))
        && !path.faults.is_empty()
        && !path.is_required()
    {
        // A default would stand for a failure, too.
        let some = optional_of(literal(c));
        return Ok(Test { node: binary("==", path.optional(), some), faults: path.faults.clone() });
    }
    let is_computed = ty == Ty::Double && matches!(val, Val::Node { .. });
    let (node, faults): (Node, Faults) = match val {
        Val::Path(path) => (path.or(other), path.faults.clone()),
        Val::Optional { node, faults, .. } => (or_value(node.clone(), other), faults.clone()),
        Val::Or(sides) => {
            let [left, right] = &**sides;
            if let Val::Const(d) = right
                && !d.strict_eq(c)
                && ephor_ir::ops::truthy(c)
            {
                // What is false is replaced by something else.
                return equal_constant(left, c, scope);
            }
            plain(val, scope)?
        }
        other => plain(other, scope)?,
    };
    let node = match c {
        Value::Bool(b) => is(node, *b),
        // The checker takes no whole number for another one.
        Value::Int(n) if is_computed => binary("==", node, constant(Value::Float(*n as f64))),
        Value::Float(_) if is_computed => binary("==", node, constant(c.clone())),
        c => binary("==", node, literal(c)),
    };
    Ok(Test { node, faults })
}

fn ordered(sign: &str, left: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    let is_number = |ty: Ty| matches!(ty, Ty::Int | Ty::Double);
    if !is_number(ty_of(left)) || !is_number(ty_of(right)) {
        let known = |ty: Ty| !matches!(ty, Ty::Any | Ty::IntOrText);
        if known(ty_of(left)) && known(ty_of(right)) {
            return Ok(Test::constant(false));
        }
        return Err(scope.refuse("an ordering of values of unknown types", "compare numbers"));
    }
    let there = conditions::both(present(left, scope)?, present(right, scope)?);
    let (x, y, faults) = together(plain(&lists::known(left), scope)?, plain(&lists::known(right), scope)?);
    Ok(conditions::both(there, Test { node: binary(sign, x, y), faults }))
}
