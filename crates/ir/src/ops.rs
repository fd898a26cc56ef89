//! What operations of expressions mean on values.
//!
//! In: evaluated operands and the parameters of a node. Out: the node's value or a fault. The
//! evaluator runs nodes with them, the optimiser computes nodes whose operands are constant: there
//! is one meaning of each. Nothing here knows of expressions.

use std::borrow::Cow;

use ephor_value::{Fault, Str, Value};

use super::expr::{Cmp, Missing};

/// Whether a value counts as true.
pub fn truthy(v: &Value) -> bool {
    match v {
        Value::Null => false,
        Value::Bool(b) => *b,
        Value::Str(s) => !s.is_empty(),
        Value::List(l) => !l.is_empty(),
        Value::Map(m) => !m.is_empty(),
        _ => true,
    }
}

/// Reads keys; `None` stands for null.
pub fn walk<'v>(mut v: &'v Value, keys: &[Str], scalar: Missing) -> Result<Option<&'v Value>, Fault> {
    for key in keys {
        v = match v {
            Value::Map(m) => m.get(key).ok_or_else(|| Fault::NotFound(key.clone()))?,
            _ => match scalar {
                Missing::Null => return Ok(None),
                Missing::Fault => return Err(Fault::new("no such overload")),
            },
        };
    }
    Ok(Some(v))
}

/// The item of a list, from the end for a negative index.
pub fn item(v: &Value, index: i64) -> Option<&Value> {
    let items = v.as_list()?;
    let at = if index < 0 { index.checked_add(i64::try_from(items.len()).ok()?)? } else { index };
    items.get(usize::try_from(at).ok()?)
}

/// A slice with Python's rules.
pub fn slice(items: &[Value], bounds: &[Option<i64>; 3]) -> Result<Value, Fault> {
    let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let step = bounds[2].unwrap_or(1);
    if step == 0 {
        return Err(Fault::new("Invalid slice, step cannot be 0"));
    }
    let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
    let clamp = |b: Option<i64>, default: i64| match b {
        None => default,
        Some(n) if n < 0 => n.saturating_add(len).clamp(low, high),
        Some(n) => n.clamp(low, high),
    };
    let (start, stop) = if step > 0 {
        (clamp(bounds[0], 0), clamp(bounds[1], len))
    } else {
        (clamp(bounds[0], len - 1), clamp(bounds[1], -1))
    };
    let mut out = Vec::new();
    let mut at = start;
    while if step > 0 { at < stop } else { at > stop } {
        if let Some(v) = usize::try_from(at).ok().and_then(|i| items.get(i)) {
            out.push(v.clone());
        }
        let Some(next) = at.checked_add(step) else { break };
        at = next;
    }
    Ok(Value::list(out))
}

/// The items, with those that are lists taken apart one level.
pub fn flatten(items: &[Value]) -> Value {
    let mut out = Vec::with_capacity(items.len());
    for v in items {
        flatten_into(&mut out, Cow::Borrowed(v));
    }
    Value::list(out)
}

/// Appends a value, or its items when it is a list.
pub fn flatten_into(out: &mut Vec<Value>, v: Cow<'_, Value>) {
    match &*v {
        Value::List(inner) => out.extend(inner.iter().cloned()),
        _ => out.push(v.into_owned()),
    }
}

/// The result of a comparison; `None` is null.
pub fn compare(op: Cmp, a: &Value, b: &Value) -> Option<bool> {
    let doubles = || match (a, b) {
        (Value::Float(x), Value::Float(y)) => Some((x, y)),
        _ => None,
    };
    Some(match op {
        Cmp::Eq => a.strict_eq(b),
        Cmp::Ne => !a.strict_eq(b),
        Cmp::Lt => doubles().map(|(x, y)| x < y)?,
        Cmp::Le => doubles().map(|(x, y)| x <= y)?,
        Cmp::Gt => doubles().map(|(x, y)| x > y)?,
        Cmp::Ge => doubles().map(|(x, y)| x >= y)?,
    })
}
