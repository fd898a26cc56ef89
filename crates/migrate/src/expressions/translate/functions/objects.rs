//! Functions that read or build objects by names.
//!
//! In: the arguments of a function. Out: its value. Semantics: `docs/expressions/functions.md`.

use ephor_value::{Str, Value};

use crate::cel::build::{call as function, constant_bool, over, select_optional, text};
use crate::cel::print;
use crate::expressions::refusal::{Refusal, Result};
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Loop, Path, Val, value_in};
use crate::expressions::translate::forms::{plain, present, truthy, ty_of};
use crate::expressions::translate::functions::collections::{argument, strict_source};
use crate::expressions::translate::functions::strict;
use crate::expressions::translate::lists::is_list;
use crate::expressions::translate::{lists, values};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Kind, Node};

/// `lookup(object, key)` and `lookup(list, position)`: what is not there is null, but the object or
/// the list has to be there.
pub(crate) fn lookup(of: &Val, at: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let position = match at {
        Val::Const(Value::Str(key)) if matches!(of, Val::Const(_) | Val::Record(_)) => {
            return values::member(of, key, scope);
        }
        Val::Const(Value::Int(n)) if is_list(of) => Some(*n),
        Val::Const(Value::Float(f)) if is_list(of) && f.fract() == 0.0 && f.abs() < 9e15 => Some(*f as i64),
        _ => None,
    };
    match position {
        // No list has an item before the first one.
        Some(n) if n < 0 => return Ok(Val::Const(Value::Null)),
        Some(n) => return values::item(of, n, scope),
        None if is_list(of) || ty_of(at) != Ty::Text => {
            return Err(scope.refuse("function lookup with a computed position", "write the position"));
        }
        None => {}
    }
    let (key, mut faults) = plain(&strict(at), scope)?;
    let entry = |map: Node| match &key.kind {
        Kind::Const(Value::Str(key)) => select_optional(map, key),
        _ => function("_[?_]", vec![map, key.clone()]),
    };
    let (map, more) = argument(of, scope)?;
    faults.extend(more);
    let ty = match at {
        Val::Const(Value::Str(key)) => ty_of(of).field(key, &scope.cx.types).ty,
        _ => ty_of(of).value(),
    };
    Ok(Val::Optional { node: entry(map), ty, faults, rescued: None })
}

/// `object_from_lists(keys, values)`.
pub(crate) fn from_lists(keys: &Val, of: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    if let Some(keys) = written(keys) {
        let mut pairs = Vec::new();
        for (at, key) in keys.into_iter().enumerate() {
            pairs.push((key, values::item(of, at as i64, scope)?));
        }
        return Ok(Val::Record(pairs));
    }
    let (Val::Loop(keys), Val::Loop(of)) = (keys, of) else {
        return Err(refused(scope));
    };
    let (source, faults) = built_of(&keys.source, scope)?;
    let (other, _) = built_of(&of.source, scope)?;
    let written = |node: &Node| print(node, usize::MAX);
    let retained = |own: &Loop| own.keep.as_ref().map(|keep| written(&keep.node));
    let is_one = written(&source) == written(&other) && retained(keys) == retained(of) && keys.var == of.var;
    let source = match &keys.keep {
        Some(keep) => over(source, "filter", &keys.var, keep.node.clone()),
        None => source,
    };
    match (field(keys, scope), field(of, scope)) {
        (Some((key, Ty::Text)), Some((value, ty))) if is_one => {
            scope.needs_kyverno("function object_from_lists")?;
            let args = vec![source.clone(), source, text(&key), text(&value)];
            Ok(Val::Node { node: function("listObjToMap", args), ty: Ty::Map(Box::new(ty)), faults })
        }
        _ => Err(refused(scope)),
    }
}

/// A list that fails where it is missing.
fn built_of(source: &Val, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    match source {
        Val::Optional { node, faults, .. } => Ok((value_in(node), faults.clone())),
        other => lists::built(&strict_source(other), scope),
    }
}

fn refused(scope: &Scope<'_>) -> Refusal {
    scope.refuse(
        "function object_from_lists of lists that may be of different lengths",
        "take both from fields that every item of one list has",
    )
}

/// Keys that are written.
fn written(keys: &Val) -> Option<Vec<Str>> {
    let of = |value: &Value| match value {
        Value::Str(s) => Some(s.clone()),
        _ => None,
    };
    match keys {
        Val::Const(Value::List(items)) => items.iter().map(of).collect(),
        Val::Tuple(items) => {
            let of = |item: &Val| match item {
                Val::Const(value) => of(value),
                _ => None,
            };
            items.iter().map(of).collect()
        }
        _ => None,
    }
}

/// The field that stands for each item of a list, and its type, where every item has it.
fn field(own: &Loop, scope: &mut Scope<'_>) -> Option<(Str, Ty)> {
    let Val::Path(Path { base, steps, ty, .. }) = &own.body else { return None };
    let [step] = &steps[..] else { return None };
    let is_item = base.as_ident().is_some_and(|base| *base == own.var) && !own.flat && !own.values;
    // Nulls are no items: one that is missing would move those behind it.
    let is_retained = match &own.keep {
        None => false,
        Some(keep) => [present(&own.body, scope).ok()?, truthy(&own.body, scope).ok()?]
            .iter()
            .any(|test| print(&test.node, usize::MAX) == print(&keep.node, usize::MAX)),
    };
    let is_there = constant_bool(&present(&own.body, scope).ok()?.node) == Some(true);
    (is_item && (is_there || is_retained)).then(|| (step.key.clone(), ty.clone()))
}
