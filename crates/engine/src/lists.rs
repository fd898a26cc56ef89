//! Lists that expressions build: projections, flattening, functions that run an expression for each
//! item.
//!
//! A chain of lists, each built from the one before, is walked in one pass: only the last list is
//! built.

use std::borrow::Cow;

use ephor_functions::{Higher, limits};
use ephor_ir::Expr;
use ephor_ir::expr::Over;
use ephor_ir::ops::{flatten, flatten_into, truthy, walk};
use ephor_value::{Fault, List, Map, Value, budget};

use super::eval::{Env, Evaluated, NULL, value as eval};

/// Evaluates a projection or a flattening.
pub(super) fn build<'a>(expr: &'a Expr, env: &Env<'_, 'a>) -> Evaluated<'a> {
    if env.fuses() && nests(expr) {
        let mut out = Vec::new();
        let put = &mut |v: Cow<'a, Value>| {
            out.push(v.into_owned());
            Ok(())
        };
        match each(expr, env, put) {
            Ok(true) => {
                limits::list(out.len())?;
                return Ok(Cow::Owned(Value::list(out)));
            }
            Ok(false) => return Ok(Cow::Borrowed(&NULL)),
            Err(fault) if fault.ends() => return Err(fault),
            // Which fault comes first is known only when the lists are built one after the other.
            Err(_) => return one_by_one(expr, &env.unfused()),
        }
    }
    one_by_one(expr, env)
}

/// The same, each list built before the next one is built from it.
fn one_by_one<'a>(expr: &'a Expr, env: &Env<'_, 'a>) -> Evaluated<'a> {
    match expr {
        Expr::Project { over, source, keep, body } => {
            project(*over, eval(source, env)?, keep.as_deref(), body.as_deref(), env)
        }
        Expr::Flatten(source) => match &**source {
            Expr::List(items) if !env.is_sorting() => {
                let mut out = Vec::new();
                for e in items {
                    flatten_into(&mut out, eval(e, env)?);
                    limits::list(out.len())?;
                }
                Ok(Cow::Owned(Value::list(out)))
            }
            source => Ok(match eval(source, env)?.as_list() {
                Some(items) => {
                    limits::items_of(items.iter().map(|v| v.as_list().map_or(1, <[Value]>::len)).sum())?;
                    let flat = flatten(items);
                    limits::list(flat.as_list().map_or(0, <[Value]>::len))?;
                    Cow::Owned(flat)
                }
                None => Cow::Borrowed(&NULL),
            }),
        },
        other => eval(other, env),
    }
}

/// Whether a list is built from another one that is built for it.
fn nests(expr: &Expr) -> bool {
    let is_built = |e: &Expr| matches!(e, Expr::Project { over: Over::Items, .. } | Expr::Flatten(_));
    match expr {
        Expr::Project { over: Over::Items, source, .. } | Expr::Flatten(source) => is_built(source),
        _ => false,
    }
}

/// Hands on the items of a list one by one; false when it is no list.
fn each<'a>(
    expr: &'a Expr,
    env: &Env<'_, 'a>,
    to: &mut dyn FnMut(Cow<'a, Value>) -> Result<(), Fault>,
) -> Result<bool, Fault> {
    match expr {
        Expr::Project { over: Over::Items, source, keep, body } => each(source, env, &mut |v| {
            budget::step()?;
            if let Some(keep) = keep {
                match on(&v, keep, env) {
                    Ok(selects) if truthy(&selects) => {}
                    Ok(_) | Err(Fault::NotFound(_)) => return Ok(()),
                    Err(other) => return Err(other),
                }
            }
            let made = match body {
                None => v,
                Some(body) => match on(&v, body, env) {
                    Ok(made) => made,
                    Err(Fault::NotFound(_)) => return Ok(()),
                    Err(other) => return Err(other),
                },
            };
            if made.is_null() { Ok(()) } else { to(made) }
        }),
        Expr::Flatten(source) => each(source, env, &mut |v| match v {
            Cow::Borrowed(Value::List(l)) => l.iter().try_for_each(|v| to(Cow::Borrowed(v))),
            Cow::Owned(Value::List(l)) => l.iter().try_for_each(|v| to(Cow::Owned(v.clone()))),
            other => to(other),
        }),
        other => match eval(other, env)? {
            Cow::Borrowed(Value::List(l)) => l.iter().try_for_each(|v| to(Cow::Borrowed(v))).map(|()| true),
            Cow::Owned(Value::List(l)) => l.iter().try_for_each(|v| to(Cow::Owned(v.clone()))).map(|()| true),
            _ => Ok(false),
        },
    }
}

/// Evaluates `body` with an item as the innermost local.
fn on<'a>(item: &Cow<'a, Value>, body: &'a Expr, env: &Env<'_, 'a>) -> Evaluated<'a> {
    match item {
        Cow::Borrowed(v) => env.bind(v, body),
        Cow::Owned(v) => env.bind_short(v, body).map(Cow::Owned),
    }
}

fn project<'a>(
    over: Over,
    source: Cow<'a, Value>,
    keep: Option<&'a Expr>,
    body: Option<&'a Expr>,
    env: &Env<'_, 'a>,
) -> Evaluated<'a> {
    match (over, &source) {
        // Where lists are sorted, a projection is another list than its source.
        (Over::Items, _) if keep.is_none() && body.is_none() && !env.is_sorting() && is_full(&source) => {
            Ok(source)
        }
        (Over::Items, Cow::Borrowed(Value::List(l))) => {
            project_items(l.iter(), keep, body, env).map(Cow::Owned)
        }
        (Over::Items, Cow::Owned(Value::List(l))) => project_items(l.iter(), keep, body, env).map(Cow::Owned),
        (Over::Values, Cow::Borrowed(Value::Map(m))) => project_values(m, keep, body, env).map(Cow::Owned),
        (Over::Values, Cow::Owned(Value::Map(m))) => project_values(m, keep, body, env).map(Cow::Owned),
        _ => Ok(Cow::Borrowed(&NULL)),
    }
}

/// A plain list without nulls: what a projection that does nothing else leaves as it is.
fn is_full(source: &Value) -> bool {
    matches!(source, Value::List(l) if !l.is_opaque() && l.iter().all(|v| !v.is_null()))
}

fn project_values<'b>(
    map: &'b Map,
    keep: Option<&'b Expr>,
    body: Option<&'b Expr>,
    env: &Env<'_, 'b>,
) -> Result<Value, Fault> {
    let nulls = map.iter().map(|_| &NULL);
    let values = map.sorted().into_iter().map(|(_, v)| v);
    project_items(nulls.chain(values), keep, body, env)
}

fn project_items<'b>(
    items: impl Iterator<Item = &'b Value>,
    keep: Option<&'b Expr>,
    body: Option<&'b Expr>,
    env: &Env<'_, 'b>,
) -> Result<Value, Fault> {
    let mut out = Vec::with_capacity(if keep.is_none() { items.size_hint().0 } else { 0 });
    if let (None, Some(Expr::Path { base, keys, scalar }), false) = (keep, body, env.is_sorting())
        && matches!(**base, Expr::Local(0))
    {
        budget::steps(out.capacity())?;
        for v in items {
            match walk(v, keys, *scalar) {
                Ok(Some(v)) if !v.is_null() => out.push(v.clone()),
                Ok(_) | Err(Fault::NotFound(_)) => {}
                Err(other) => return Err(other),
            }
        }
        limits::list(out.len())?;
        return Ok(Value::list(out));
    }
    for v in items {
        budget::step()?;
        if let Some(keep) = keep {
            match env.bind(v, keep) {
                Ok(selects) if truthy(&selects) => {}
                Ok(_) | Err(Fault::NotFound(_)) => continue,
                Err(other) => return Err(other),
            }
        }
        let made = match body {
            None => Cow::Borrowed(v),
            Some(body) => match env.bind(v, body) {
                Ok(made) => made,
                Err(Fault::NotFound(_)) => continue,
                Err(other) => return Err(other),
            },
        };
        if !made.is_null() {
            out.push(made.into_owned());
        }
    }
    limits::list(out.len())?;
    Ok(Value::list(out))
}

/// Runs a function that takes an expression.
pub(super) fn higher<'a>(
    kind: Higher,
    list: Cow<'a, Value>,
    body: &'a Expr,
    env: &Env<'_, 'a>,
) -> Result<Value, Fault> {
    let Value::List(items) = list.into_owned() else { return Ok(Value::Null) };
    limits::list(items.len())?;
    let run = |v: &Value| {
        budget::step()?;
        match env.bind_short(v, body) {
            Err(Fault::NotFound(_)) if kind != Higher::SortBy => Ok(Value::Null),
            result => result,
        }
    };
    match kind {
        Higher::Map => Ok(Value::List(items.iter().map(run).collect::<Result<List, Fault>>()?)),
        Higher::SortBy => {
            let sorted = sort_by(&items, run)?;
            env.note_sorted(&items, &sorted);
            Ok(Value::List(sorted))
        }
        Higher::MaxBy => best_by(&items, run, std::cmp::Ordering::Greater),
        Higher::MinBy => best_by(&items, run, std::cmp::Ordering::Less),
    }
}

const BAD_KEY: &str = "invalid type, must be number of string";

fn sort_by(items: &List, run: impl Fn(&Value) -> Result<Value, Fault>) -> Result<List, Fault> {
    let as_it_is = || if items.is_opaque() { items.iter().cloned().collect() } else { items.clone() };
    if items.len() < 2 {
        return Ok(as_it_is());
    }
    let mut keyed = Vec::with_capacity(items.len());
    for (i, v) in items.iter().enumerate() {
        let key = match run(v) {
            // Only the first key is computed on its own; the others fail inside the comparison.
            Err(Fault::NotFound(_)) if i == 0 => Value::Null,
            Err(other) if i == 0 || other.ends() => return Err(other),
            Err(_) => return Err(Fault::new("error in sort_by comparison")),
            Ok(key) => key,
        };
        let fits = match (&key, keyed.first().map(|(k, _): &(Value, Value)| k)) {
            (Value::Float(_) | Value::Str(_), None) => true,
            (_, None) => return Err(Fault::new(BAD_KEY)),
            (Value::Float(_), Some(Value::Float(_))) | (Value::Str(_), Some(Value::Str(_))) => true,
            _ => false,
        };
        if !fits {
            return Err(Fault::new("error in sort_by comparison"));
        }
        keyed.push((key, v.clone()));
    }
    if keyed.is_sorted_by(|(a, _), (b, _)| order(a, b).is_le()) {
        return Ok(as_it_is());
    }
    keyed.sort_by(|(a, _), (b, _)| order(a, b));
    Ok(keyed.into_iter().map(|(_, v)| v).collect())
}

fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a, b) {
        (Value::Float(x), Value::Float(y)) => x.partial_cmp(y).unwrap_or(std::cmp::Ordering::Equal),
        (Value::Str(x), Value::Str(y)) => x.cmp(y),
        _ => std::cmp::Ordering::Equal,
    }
}

fn best_by(
    items: &List,
    run: impl Fn(&Value) -> Result<Value, Fault>,
    wanted: std::cmp::Ordering,
) -> Result<Value, Fault> {
    let [first, rest @ ..] = &**items else { return Ok(Value::Null) };
    if rest.is_empty() {
        return Ok(first.clone());
    }
    let (mut best, mut best_key) = (first, run(first)?);
    let expected = match &best_key {
        Value::Float(_) => "invalid type, must be number",
        Value::Str(_) => "invalid type, must be string",
        _ => return Err(Fault::new(BAD_KEY)),
    };
    for v in rest {
        let key = run(v)?;
        if std::mem::discriminant(&key) != std::mem::discriminant(&best_key) {
            return Err(Fault::new(expected));
        }
        if order(&key, &best_key) == wanted {
            (best, best_key) = (v, key);
        }
    }
    Ok(best.clone())
}
