//! Expressions of JMESPath → values.
//!
//! In: a node of the IR, and the values of the binders around it. Out: a [`Val`]. Which nodes take
//! what is missing for null is in the IR already (`Rescue`). Semantics:
//! `docs/expressions/jmespath.md`.

use ephor_ir::expr::{Expr, Faults as Faults_, Over};
use ephor_ir::ops::truthy as is_true;
use ephor_value::quantity::Quantity;
use ephor_value::{Map, Str, Value, duration};

use crate::cel::build::{
    binary, call, choose, empty_list, empty_object, getter, index, int, name, optional_none, optional_of,
    or_value, select_optional, size,
};
use crate::cel::print;
use crate::expressions::refusal::{Refusal, Result};
use crate::expressions::scope::{MAX_DEPTH, Scope};
use crate::expressions::term::{ABSORBED, Faults, Loop, Path, Test, Val};
use crate::expressions::translate::alternatives::{alternative, json};
use crate::expressions::translate::comparisons::compare;
use crate::expressions::translate::conditions::{both, either};
use crate::expressions::translate::forms::{literal, plain, truthy, ty_of};
use crate::expressions::translate::functions;
use crate::expressions::translate::lists::{built, is_list, label_of};
use crate::expressions::translate::membership::may_be_wild;
use crate::expressions::translate::root::{is_operation, root};
use crate::expressions::translate::slices::slice;
use crate::expressions::translate::template::{INNER, INNER_KEY};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// The value of an expression; `locals`: the values of the binders around it, the innermost last.
///
/// # Errors
/// A node that cannot be expressed in CEL.
pub fn value(expr: &Expr, locals: &mut Vec<Val>, scope: &mut Scope<'_>) -> Result<Val> {
    scope.depth += 1;
    if scope.depth > MAX_DEPTH {
        return Err(scope.refuse("an expression that nests so deeply", "split it"));
    }
    let found = node(expr, locals, scope);
    scope.depth -= 1;
    found
}

/// The value of an expression with one more binder around it.
pub fn value_with(expr: &Expr, bound: Val, locals: &mut Vec<Val>, scope: &mut Scope<'_>) -> Result<Val> {
    locals.push(bound);
    let found = value(expr, locals, scope);
    locals.pop();
    found
}

fn node(expr: &Expr, locals: &mut Vec<Val>, scope: &mut Scope<'_>) -> Result<Val> {
    match expr {
        Expr::Const(v) => Ok(Val::Const(v.clone())),
        Expr::Root => match &scope.data {
            Some(data) => Ok(data.clone()),
            None => Err(scope.refuse("the whole of the data", "name what is read")),
        },
        Expr::Local(i) => {
            let at = locals.len().checked_sub(*i as usize + 1);
            at.and_then(|at| locals.get(at)).cloned().ok_or_else(|| unknown(expr, scope))
        }
        Expr::Path { base, keys, .. } => match &**base {
            Expr::Root => match scope.data.clone() {
                Some(data) => keys.iter().try_fold(data, |val, key| member(&val, key, scope)),
                None => root(keys, scope),
            },
            base => {
                let base = value(base, locals, scope)?;
                keys.iter().try_fold(base, |val, key| member(&val, key, scope))
            }
        },
        Expr::Index { base, index } => {
            let base = value(base, locals, scope)?;
            item(&base, *index, scope)
        }
        Expr::Let { value: bound, body } => {
            let bound = value(bound, locals, scope)?;
            value_with(body, bound, locals, scope)
        }
        Expr::Rescue { expr, faults } => {
            let mut found = value(expr, locals, scope)?;
            if let (Faults_::AllAsNull, Val::Node { faults: own, .. }) = (faults, &mut found)
                && !own.is_empty()
            {
                own.insert(ABSORBED.into());
            }
            Ok(found.rescued())
        }
        Expr::Not(e) => {
            let inner = value(e, locals, scope)?;
            Ok(Val::of_test(truthy(&inner, scope)?.negated()))
        }
        Expr::Or(sides) if let Some(found) = alternative(sides, locals, scope)? => Ok(found),
        Expr::Or(sides) => {
            let [left, right] = &**sides;
            let left = value(left, locals, scope)?;
            let right = value(right, locals, scope)?;
            or(left, right, scope)
        }
        Expr::And(sides) => {
            let [left, right] = &**sides;
            let left = value(left, locals, scope)?;
            if let Val::Const(v) = &left {
                return if is_true(v) { value(right, locals, scope) } else { Ok(left) };
            }
            let right = value(right, locals, scope)?;
            let test = truthy(&left, scope)?;
            if !matches!(ty_of(&right), Ty::Bool | Ty::Any) {
                // It is the second value where the first one is true; else it is as good as null.
                let (node, faults) = plain(&right, scope)?;
                let node = choose(test.node, optional_of(node), optional_none());
                let faults = test.faults.into_iter().chain(faults).collect();
                return Ok(Val::Optional { node, ty: ty_of(&right), faults, rescued: None });
            }
            let other = truthy(&right, scope)?;
            Ok(Val::of_test(both(test, other)))
        }
        Expr::Compare { op, sides } => {
            let [left, right] = &**sides;
            let left = value(left, locals, scope)?;
            let right = value(right, locals, scope)?;
            Ok(Val::of_test(compare(*op, &left, &right, scope)?))
        }
        Expr::Project { over, source, keep, body } => {
            let source = value(source, locals, scope)?;
            project(*over, source, keep.as_deref(), body.as_deref(), locals, scope)
        }
        Expr::Flatten(e) => {
            let inner = value(e, locals, scope)?;
            Ok(flattened(inner, scope))
        }
        Expr::List(items) => {
            let items: Result<Vec<Val>> =
                items.iter().map(|item| Ok(value(item, locals, scope)?.rescued())).collect();
            Ok(Val::Tuple(items?))
        }
        Expr::Object(pairs) => {
            let pairs: Result<Vec<(Str, Val)>> =
                pairs.iter().map(|(k, e)| Ok((k.clone(), value(e, locals, scope)?.rescued()))).collect();
            Ok(Val::Record(pairs?))
        }
        Expr::UnlessNull(sides) => value(&sides[1], locals, scope),
        Expr::Call { .. } if let Some(found) = json(expr) => Ok(Val::Const(found)),
        Expr::Call { function, args } => {
            let args: Result<Vec<Val>> = args.iter().map(|arg| value(arg, locals, scope)).collect();
            let args = args?;
            let mut found = functions::call(function.name, &args, scope)?;
            // What is bound before the call fails for missing keys.
            let is_bound = |val: &Val| matches!(val, Val::Path(path) if path.fails && !path.is_required());
            if let Val::Node { faults, .. } = &mut found
                && args.iter().any(is_bound)
                && !faults.is_empty()
            {
                faults.insert(ABSORBED.into());
            }
            Ok(found)
        }
        Expr::Slice { base, bounds } => {
            let base = value(base, locals, scope)?;
            slice(&base, bounds, scope)
        }
        Expr::Higher { function, args, .. } => functions::higher(function.name, args, locals, scope),
        other => Err(unknown(other, scope)),
    }
}

fn unknown(expr: &Expr, scope: &Scope<'_>) -> Refusal {
    let what = match expr {
        Expr::Fail { text, .. } => {
            return scope.refuse(format!("an expression that fails ({text})"), "correct the expression");
        }
        _ => "this form of expression",
    };
    scope.refuse(what, "write the condition in another way")
}

/// A member of an object.
pub fn member(val: &Val, key: &Str, scope: &mut Scope<'_>) -> Result<Val> {
    if let Some(inner) = inner_of(key, INNER, scope) {
        return Ok(inner.clone());
    }
    if let Some(inner) = inner_of(key, INNER_KEY, scope).cloned() {
        return keyed(val, &inner, scope);
    }
    let types = &scope.cx.types;
    Ok(match val {
        Val::Const(v) => match v {
            Value::Map(m) => match m.get(key) {
                Some(found) => Val::Const(found.clone()),
                None => Val::Const(Value::Null),
            },
            _ => Val::Const(Value::Null),
        },
        Val::Path(path) => Val::Path(path.key(key, types)),
        Val::Node { node, ty, faults } => {
            let path = Path { faults: faults.clone(), ..Path::of(node.clone(), ty.clone()) };
            Val::Path(path.key(key, types))
        }
        Val::Optional { node, ty, faults, rescued } => Val::Optional {
            node: select_optional(node.clone(), key),
            ty: ty.field(key, types).ty,
            faults: faults.clone(),
            rescued: rescued.clone().map(|(node, faults)| (select_optional(node, key), faults)),
        },
        Val::Keys(..) | Val::Count(_) => Val::Const(Value::Null),
        Val::Record(pairs) => match pairs.iter().rev().find(|(k, _)| k == key) {
            Some((_, found)) => found.clone(),
            None => Val::Const(Value::Null),
        },
        Val::Loop(_) | Val::Chain(_) | Val::Tuple(_) => Val::Const(Value::Null),
        Val::Or(sides) => match &sides[1] {
            Val::Const(v) if v.is_empty() => member(&sides[0].clone().rescued(), key, scope)?.rescued(),
            _ => return Err(scope.refuse("a member of a value with a default", "read the member first")),
        },
    })
}

/// The inner variable that a key stands for.
pub fn inner_of<'s>(key: &str, prefix: &str, scope: &'s Scope<'_>) -> Option<&'s Val> {
    scope.inner.get(key.strip_prefix(prefix)?.parse::<usize>().ok()?)
}

/// Whether an expression reads an object that is written.
fn is_lookup(node: &Node) -> bool {
    let Kind::Call { function, args, .. } = &node.kind else { return false };
    **function == *"_[?_]" && args.first().is_some_and(|of| matches!(of.kind, Kind::Map(_) | Kind::Const(_)))
}

/// Whether a constant is a number or amount of a type.
fn is_of(constant: &Value, ty: &Ty) -> bool {
    match ty {
        Ty::Quantity => constant.as_str().is_some_and(|text| Quantity::parse(text).is_some()),
        Ty::Duration => constant.as_str().is_some_and(|text| duration::parse_ok(text).is_some()),
        Ty::Int => ty_of(&Val::Const(constant.clone())) == Ty::Int,
        _ => false,
    }
}

/// The type of all values of an object that is written.
fn of_all(map: &Map) -> Option<Ty> {
    let types = || map.iter().map(|(_, value)| ty_of(&Val::Const(value.clone())));
    let ty = types().next().filter(|first| types().all(|ty| ty == *first))?;
    let are = |is: &dyn Fn(&str) -> bool| map.iter().all(|(_, value)| value.as_str().is_some_and(is));
    Some(match ty {
        Ty::Text if are(&|text| duration::parse_ok(text).is_some()) => Ty::Duration,
        Ty::Text if are(&|text| Quantity::parse(text).is_some()) => Ty::Quantity,
        ty => ty,
    })
}

/// A member whose key is read.
fn keyed(val: &Val, key_of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let (key, mut faults) = match key_of {
        Val::Path(path) if path.is_required() => (path.strict(), path.faults.clone()),
        Val::Path(path) => (path.strict(), path.missing()),
        Val::Node { node, faults, .. } => (node.clone(), faults.clone()),
        other if ty_of(other) == Ty::Text => plain(other, scope)?,
        _ => return Err(scope.refuse("a key that is computed", "write the key")),
    };
    let (node, ty) = match val {
        // A missing key fails; where that counts as null there is no value.
        Val::Path(path) if path.fails => {
            let own = index(path.strict(), key.clone());
            let mut missing: Faults = faults.iter().cloned().chain(path.missing()).collect();
            missing.insert(print(&own, usize::MAX));
            let known = Path { fails: false, ..path.clone() };
            let Ok(Val::Optional { node: rescued, ty, faults, .. }) = keyed(&Val::Path(known), key_of, scope)
            else {
                return Err(scope.refuse("a key that is computed", "write the key"));
            };
            let node = optional_of(own);
            return Ok(Val::Optional { node, ty, faults: missing, rescued: Some((rescued, faults)) });
        }
        // An object that is written, whose values have one type.
        Val::Const(Value::Map(map)) if !map.is_empty() => {
            let Some(ty) = of_all(map) else {
                return Err(scope.refuse("a key that is computed", "write the key"));
            };
            let node = literal(&Value::Map(map.clone()));
            let own = index(node.clone(), key.clone());
            let missing = faults.iter().cloned().chain([print(&own, usize::MAX)]).collect();
            let rescued = call("_[?_]", vec![node, key]);
            let node = optional_of(own);
            return Ok(Val::Optional { node, ty, faults: missing, rescued: Some((rescued, faults)) });
        }
        Val::Path(path) => {
            faults.extend(path.faults.iter().cloned());
            // What the base fails for is seen where the value is read.
            let node = match &path.steps[..] {
                [step] if path.guarded => select_optional(path.base.clone(), &step.key),
                _ => path.optional(),
            };
            (node, path.ty.value())
        }
        Val::Node { node, ty, faults: own } | Val::Optional { node, ty, faults: own, .. } => {
            faults.extend(own.iter().cloned());
            (node.clone(), ty.value())
        }
        _ => return Err(scope.refuse("a key that is computed", "write the key")),
    };
    Ok(Val::Optional { node: call("_[?_]", vec![node, key]), ty, faults, rescued: None })
}

/// An item by its position; none where there is no such item.
pub fn item(val: &Val, at: i64, scope: &mut Scope<'_>) -> Result<Val> {
    let positioned = |node: Node, list: Node| match at < 0 {
        true => call("_[?_]", vec![node, binary("-", size(list), int(at.saturating_neg()))]),
        false => call("_[?_]", vec![node, int(at)]),
    };
    match val {
        Val::Const(Value::List(items)) => {
            let at = if at < 0 { at + items.len() as i64 } else { at };
            let found = usize::try_from(at).ok().and_then(|at| items.get(at));
            Ok(Val::Const(found.cloned().unwrap_or_default()))
        }
        Val::Const(_) => Ok(Val::Const(Value::Null)),
        Val::Tuple(items) => {
            let at = if at < 0 { at + items.len() as i64 } else { at };
            let found = usize::try_from(at).ok().and_then(|at| items.get(at));
            Ok(found.cloned().unwrap_or(Val::Const(Value::Null)))
        }
        Val::Path(path) if path.fails || path.is_required() => {
            let node = path.strict();
            let rescued = match path.is_required() {
                true => None,
                false => Some((positioned(path.optional(), path.or(empty_list())), path.faults.clone())),
            };
            Ok(Val::Optional {
                node: positioned(node.clone(), node),
                ty: path.ty.item(),
                faults: path.missing(),
                rescued,
            })
        }
        Val::Path(path) => {
            let size = path.or(empty_list());
            let node = positioned(path.optional(), size);
            Ok(Val::Optional { node, ty: path.ty.item(), faults: path.faults.clone(), rescued: None })
        }
        Val::Optional { node, ty, faults, .. } => {
            let size = or_value(node.clone(), empty_list());
            let node = positioned(node.clone(), size);
            Ok(Val::Optional { node, ty: ty.item(), faults: faults.clone(), rescued: None })
        }
        Val::Or(sides) if sides[1].is_empty() => item(&sides[0].clone().rescued(), at, scope),
        // A text that is split has a first part.
        Val::Node { node, ty, faults } if at == 0 && is_split(node) => {
            Ok(Val::Node { node: index(node.clone(), int(0)), ty: ty.item(), faults: faults.clone() })
        }
        other => {
            let ty = ty_of(other).item();
            let (node, faults) = built(other, scope)?;
            Ok(Val::Optional { node: positioned(node.clone(), node), ty, faults, rescued: None })
        }
    }
}

fn is_split(node: &Node) -> bool {
    matches!(&node.kind, ephor_cel::ast::Kind::Call { function, .. } if **function == *"split")
}

/// A list with lists in it taken apart.
fn flattened(val: Val, scope: &mut Scope<'_>) -> Val {
    match val {
        Val::Tuple(items) => Val::Chain(items.into_iter().filter(|v| !is_null(v)).collect()),
        Val::Loop(own) if !own.flat && is_list(&own.body) => Val::Loop(Box::new(Loop { flat: true, ..*own })),
        // What is no list as far as is known is read as one.
        Val::Loop(own) if !own.flat && is_unknown(&own.body) => {
            Val::Loop(Box::new(Loop { flat: true, body: as_list(own.body.clone()), ..*own }))
        }
        Val::Or(sides) => {
            let [left, right] = *sides;
            Val::Or(Box::new([flattened(left, scope), right]))
        }
        Val::Path(path) if matches!(path.ty.item(), Ty::List(_)) => {
            let var = scope.item_name(path.last());
            let body = Val::Path(Path::of(name(&var), path.ty.item()));
            let source = Val::Path(Path { fails: false, ..path });
            Val::Loop(Box::new(Loop { source, var, keep: None, body, flat: true, values: false }))
        }
        other => other.rescued(),
    }
}

/// Whether nothing is known of a value that is read.
fn is_unknown(val: &Val) -> bool {
    match val {
        Val::Path(path) => path.ty == Ty::Any && !path.steps.is_empty(),
        Val::Optional { ty, .. } => *ty == Ty::Any,
        _ => false,
    }
}

/// A value of which nothing is known as a list.
fn as_list(val: Val) -> Val {
    let ty = Ty::List(Box::new(Ty::Any));
    match val {
        Val::Path(path) => Val::Path(Path { ty, ..path }),
        Val::Optional { node, faults, rescued, .. } => Val::Optional { node, ty, faults, rescued },
        other => other,
    }
}

fn is_null(val: &Val) -> bool {
    matches!(val, Val::Const(Value::Null))
}

fn project(
    over: Over,
    source: Val,
    keep: Option<&Expr>,
    body: Option<&Expr>,
    locals: &mut Vec<Val>,
    scope: &mut Scope<'_>,
) -> Result<Val> {
    let source = source.rescued();
    if keep.is_none() && body.is_none() && over == Over::Items {
        return Ok(source);
    }
    if let (Val::Const(Value::List(items)), None) = (&source, keep) {
        let mut all = Vec::new();
        for v in items.iter() {
            locals.push(Val::Const(v.clone()));
            all.push(match body {
                Some(body) => value(body, locals, scope),
                None => Ok(Val::Const(v.clone())),
            });
            locals.pop();
        }
        return Ok(Val::Tuple(all.into_iter().collect::<Result<_, _>>()?));
    }
    // Images are listed already.
    if let (Val::Loop(own), Over::Values, None, None) = (&source, over, keep, body)
        && matches!(own.body, Val::Record(_))
    {
        return Ok(source);
    }
    let (source, var, item) = match over {
        Over::Items => {
            let var = scope.item_name(label_of(&source).as_deref());
            let wild = may_be_wild(&source, scope);
            let item = Val::Path(Path { wild, ..Path::of(name(&var), ty_of(&source).item()) });
            (source, var, item)
        }
        Over::Values => {
            let var = scope.unused("key");
            let ty = ty_of(&source).value();
            let (map, _) = plain_map(&source);
            let item = Val::Path(Path::of(index(map, name(&var)), ty));
            (source, var, item)
        }
    };
    let (keep, body) = scope.in_loop(&var, |scope| {
        let keep = match keep {
            None => None,
            Some(keep) => {
                let retained = value_with(keep, item.clone(), locals, scope)?;
                Some(truthy(&retained, scope)?)
            }
        };
        let body = match body {
            None => item,
            Some(body) => value_with(body, item, locals, scope)?,
        };
        Ok((keep, body))
    })?;
    Ok(Val::Loop(Box::new(Loop { source, var, keep, body, flat: false, values: over == Over::Values })))
}

fn plain_map(val: &Val) -> (Node, Faults) {
    match val {
        Val::Path(path) => (path.strict(), Faults::new()),
        Val::Node { node, .. } => (node.clone(), Faults::new()),
        Val::Optional { node, .. } => (getter(node.clone(), "value"), Faults::new()),
        _ => (empty_object(), Faults::new()),
    }
}

/// `left || right`
fn or(left: Val, right: Val, scope: &mut Scope<'_>) -> Result<Val> {
    match &left {
        Val::Const(v) => return Ok(if is_true(v) { left } else { right }),
        Val::Or(sides) => {
            // `(a || b) || c` is `a || (b || c)`.
            let [a, b] = (**sides).clone();
            let rest = or(b, right, scope)?;
            return or(a, rest, scope);
        }
        Val::Node { node, ty: Ty::Bool, faults } => {
            if let Val::Const(v) = &right
                && !is_true(v)
            {
                return Ok(left);
            }
            if matches!(ty_of(&right), Ty::Bool) {
                let first = Test { node: node.clone(), faults: faults.clone() };
                let second = truthy(&right, scope)?;
                return Ok(Val::of_test(either(first, second)));
            }
        }
        Val::Node { node, .. } if is_operation(node) => return Ok(left),
        Val::Node { ty: Ty::Thousandths, .. } => return Ok(left),
        Val::Tuple(_) | Val::Record(_) => return Ok(left),
        _ => {}
    }
    // What is written is never empty.
    let lookup = match &left {
        Val::Optional { ty, rescued: Some((node, faults)), .. } => Some((node, ty, faults)),
        Val::Optional { node, ty, faults, rescued: None } => Some((node, ty, faults)),
        _ => None,
    };
    if let (Some((node, ty, faults)), Val::Const(default)) = (lookup, &right)
        && is_lookup(node)
        && is_of(default, ty)
    {
        let node = or_value(node.clone(), literal(default));
        return Ok(Val::Node { node, ty: ty.clone(), faults: faults.clone() });
    }
    // A list as the default says what the value is.
    let left = if is_list(&right) && is_unknown(&left) { as_list(left) } else { left };
    Ok(Val::Or(Box::new([left.rescued(), right])))
}
