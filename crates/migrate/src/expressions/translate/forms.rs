//! What a value is as an expression: its type, whether it is there, whether it counts as true, and
//! the expression itself.
use ephor_ir::ops::truthy as is_true;
use ephor_value::Value;

use crate::cel::build::{
    any, binary, boolean, choose, constant, constant_bool, empty_list, empty_object, int, list, not, object,
    or_value, size, text,
};
use crate::cel::{build, print};
use crate::expressions::context::Target;
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{
    Faults, Missing, Path, Test, Val, all_together, has_value, is_some, some, value_in,
};
use crate::expressions::translate::conditions;
use crate::expressions::translate::lists::{Quantifier, built, count, known, quantified};
use crate::expressions::types::Ty;
use ephor_cel::ast::Node;

/// The type of a value.
pub fn ty_of(val: &Val) -> Ty {
    match val {
        Val::Const(v) => match v {
            Value::Str(_) => Ty::Text,
            Value::Bool(_) => Ty::Bool,
            Value::Int(_) | Value::UInt(_) => Ty::Int,
            Value::Float(f) if f.fract() == 0.0 => Ty::Int,
            Value::Float(_) => Ty::Double,
            Value::List(items) => match items.iter().all(|v| v.as_str().is_some()) {
                true => Ty::List(Box::new(Ty::Text)),
                false => Ty::List(Box::new(Ty::Any)),
            },
            Value::Map(_) => Ty::Map(Box::new(Ty::Any)),
            _ => Ty::Any,
        },
        Val::Path(path) => path.ty.clone(),
        Val::Node { ty, .. } | Val::Optional { ty, .. } => ty.clone(),
        Val::Loop(own) => {
            if own.flat {
                ty_of(&own.body)
            } else {
                Ty::List(Box::new(ty_of(&own.body)))
            }
        }
        Val::Chain(parts) | Val::Tuple(parts) => {
            let of = |part: &Val| match (val, ty_of(part)) {
                (Val::Chain(_), Ty::List(item)) => *item,
                (_, ty) => ty,
            };
            let item = parts.iter().map(of).reduce(Ty::common).unwrap_or(Ty::Any);
            Ty::List(Box::new(item))
        }
        Val::Record(_) => Ty::Map(Box::new(Ty::Any)),
        Val::Keys(..) => Ty::List(Box::new(Ty::Text)),
        Val::Count(_) => Ty::Int,
        Val::Or(sides) => match &sides[1] {
            Val::Const(v) if v.is_empty() || v.is_null() => ty_of(&sides[0]),
            right => ty_of(&sides[0]).common(ty_of(right)),
        },
    }
}

/// Whether a value is there, and not null.
pub fn present(val: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    Ok(match val {
        Val::Const(v) => Test::constant(!v.is_null()),
        Val::Keys(_, Missing::Empty) => Test::constant(true),
        Val::Path(path) | Val::Keys(path, _) => Test { node: path.present(), faults: path.faults.clone() },
        Val::Optional { node, faults, .. } => {
            let node = if faults.is_empty() { is_some(node) } else { has_value(node) };
            Test { node, faults: faults.clone() }
        }
        Val::Loop(own) => match &own.source {
            Val::Path(_) | Val::Optional { .. } | Val::Keys(..) => {
                present(&own.source.clone().rescued(), scope)?
            }
            _ => Test::constant(true),
        },
        Val::Or(sides) => {
            let [left, right] = &**sides;
            let other = present(right, scope)?;
            match constant_bool(&other.node) {
                Some(true) => other,
                _ => conditions::either(truthy(left, scope)?, other),
            }
        }
        Val::Node { .. } | Val::Chain(_) | Val::Tuple(_) | Val::Record(_) | Val::Count(_) => {
            Test::constant(true)
        }
    })
}

/// Whether a value counts as true.
pub fn truthy(val: &Val, scope: &mut Scope<'_>) -> Result<Test> {
    let of = |node: Node, ty: &Ty| match ty {
        Ty::Bool => Some(binary("==", node, boolean(true))),
        Ty::Text => Some(binary("!=", node, text(""))),
        Ty::List(_) | Ty::Map(_) => Some(binary(">", size(node), int(0))),
        _ => None,
    };
    Ok(match val {
        Val::Const(v) => Test::constant(is_true(v)),
        Val::Node { node, ty: Ty::Bool, faults } => Test { node: node.clone(), faults: faults.clone() },
        Val::Node { node, ty, faults } => {
            let node = of(node.clone(), ty).unwrap_or(boolean(true));
            Test { node, faults: faults.clone() }
        }
        // What has no default is looked for first.
        Val::Path(path)
            if !path.is_required()
                && (path.is_nullable() || !path.faults.is_empty())
                && falsy(&path.ty).is_some() =>
        {
            let test = of(path.strict(), &path.ty).into_iter();
            let terms = std::iter::once(path.present()).chain(test).collect();
            Test { node: build::all(terms), faults: path.faults.clone() }
        }
        Val::Path(path) => {
            let faults = path.faults.clone();
            let default = falsy(&path.ty);
            let node = match default.and_then(|default| of(path.or(default), &path.ty)) {
                Some(node) => node,
                None => {
                    let may_be_empty = match &path.ty {
                        Ty::Object(all) => !all.iter().all(|(def, _)| def.fields.iter().any(|f| f.required)),
                        Ty::Any => return Ok(truthy_any(path)),
                        _ => false,
                    };
                    match may_be_empty {
                        // Where the target checks types, an object with fields is no map.
                        true if scope.cx.target == Target::Kubernetes => {
                            let own = scope.opened(path.strict(), &path.ty);
                            build::all(vec![path.present(), binary("!=", own, empty_object())])
                        }
                        true => binary("!=", path.or(empty_object()), empty_object()),
                        false => path.present(),
                    }
                }
            };
            Test { node, faults }
        }
        Val::Optional { node, ty, faults, .. } => {
            let there = || if faults.is_empty() { is_some(node) } else { has_value(node) };
            let test = match faults.is_empty() {
                true => falsy(ty).and_then(|default| of(or_value(node.clone(), default), ty)),
                // Kyverno's `orValue` would take the default for a failure, too.
                false => of(value_in(node), ty).map(|test| build::all(vec![there(), test])),
            };
            Test { node: test.unwrap_or_else(there), faults: faults.clone() }
        }
        Val::Count(_) => Test::constant(true),
        Val::Loop(_) | Val::Chain(_) | Val::Keys(..) => {
            quantified(Quantifier::Some, val, scope, &mut |_, _| Ok(Test::constant(true)))?
        }
        Val::Tuple(items) => Test::constant(!items.is_empty()),
        Val::Record(pairs) => Test::constant(!pairs.is_empty()),
        Val::Or(sides) => {
            let [left, right] = &**sides;
            let (left, right) = (truthy(left, scope)?, truthy(right, scope)?);
            conditions::either(left, right)
        }
    })
}

fn truthy_any(path: &Path) -> Test {
    let value = path.strict();
    let falsy = [text(""), boolean(false), empty_list(), empty_object()];
    let is_false = any(falsy.into_iter().map(|v| binary("==", value.clone(), v)).collect());
    let node = build::all(vec![path.present(), not(is_false)]);
    Test { node, faults: path.faults.clone() }
}

/// The value of a type that counts as false.
pub fn falsy(ty: &Ty) -> Option<Node> {
    Some(match ty {
        Ty::Text => text(""),
        Ty::Bool => boolean(false),
        Ty::List(_) => empty_list(),
        Ty::Map(_) => empty_object(),
        _ => return None,
    })
}

/// A value as an expression that fails where the value is missing; null where it may be null.
pub fn plain(val: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    Ok(match val {
        Val::Const(v) => (literal(v), Faults::new()),
        Val::Path(path) => (path.strict(), path.missing()),
        // The text that it is in the old expression is not known.
        Val::Node { ty: Ty::Thousandths, .. } => {
            return Err(scope.refuse("a computed quantity as a text", "compare it with another quantity"));
        }
        Val::Node { node, faults, .. } => (node.clone(), faults.clone()),
        Val::Optional { node, faults, .. } => {
            let value = if faults.is_empty() { some(node) } else { value_in(node) };
            let mut faults = faults.clone();
            faults.insert(print(node, usize::MAX));
            (value, faults)
        }
        Val::Record(pairs) => {
            let (entries, faults) = all_together(pairs.iter().map(|(key, val)| {
                let (node, faults) = plain(val, scope)?;
                Ok(((text(key), node), faults))
            }))?;
            (object(entries), faults)
        }
        Val::Or(sides) => {
            let [left, right] = &**sides;
            defaulted(left, right, scope)?
        }
        Val::Count(of) => count(of, scope)?,
        Val::Loop(_) | Val::Chain(_) | Val::Tuple(_) | Val::Keys(..) => built(val, scope)?,
    })
}

/// A constant as a literal; whole numbers without a point.
pub fn literal(v: &Value) -> Node {
    match v {
        Value::List(items) => list(items.iter().map(literal).collect()),
        Value::Map(m) => object(m.sorted().into_iter().map(|(k, v)| (text(k), literal(v))).collect()),
        Value::Float(f) if f.fract() == 0.0 && f.abs() < 9e15 => int(*f as i64),
        other => constant(other.clone()),
    }
}

/// The default of a value of a type: the checker takes no whole number for a double.
pub fn default_for(ty: &Ty, default: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    match (ty, default) {
        (Ty::Double, Val::Const(c)) if let Some(n) = c.as_number() => {
            Ok((constant(Value::Float(n)), Faults::new()))
        }
        _ => plain(default, scope),
    }
}

/// `left || right` as an expression.
fn defaulted(left: &Val, right: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    let ty = ty_of(left);
    let (default, mut faults) = default_for(&ty, right, scope)?;
    let is_falsy_default = matches!(right, Val::Const(v) if !is_true(v));
    let never_falsy = matches!(ty, Ty::Int | Ty::Double | Ty::Quantity | Ty::IntOrText);
    let node = match left {
        Val::Path(path) if is_falsy_default || never_falsy => {
            faults.extend(path.faults.iter().cloned());
            path.or(default)
        }
        Val::Optional { node, faults: own, .. } if is_falsy_default || never_falsy => {
            faults.extend(own.iter().cloned());
            match own.is_empty() {
                true => or_value(node.clone(), default),
                false => choose(has_value(node), value_in(node), default),
            }
        }
        Val::Loop(_) | Val::Chain(_) if is_falsy_default => {
            let (node, own) = built(&left.clone().rescued(), scope)?;
            faults.extend(own);
            node
        }
        Val::Node { node, faults: own, .. } if is_falsy_default || never_falsy => {
            faults.extend(own.iter().cloned());
            node.clone()
        }
        left => {
            let test = truthy(left, scope)?;
            let (node, own) = plain(&known(left), scope)?;
            faults.extend(own);
            faults.extend(test.faults);
            choose(test.node, node, default)
        }
    };
    Ok((node, faults))
}
