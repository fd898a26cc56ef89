//! What operations of expressions mean on values.
//!
//! In: evaluated operands and the parameters of a node. Out: the node's value or a fault. The
//! evaluator runs nodes with them, the optimiser computes nodes whose operands are constant: there
//! is one meaning of each. Nothing here knows of expressions.

use std::borrow::Cow;

use crate::value::{Fault, Str, Value};

use super::expr::{Access, Cmp, CmpRule, Missing, Truth};

/// Whether a value counts as true by [`Truth::NonEmpty`].
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

/// Whether a value counts as true.
///
/// # Errors
/// The value has no truth by the rule.
pub fn truth(v: &Value, rule: Truth) -> Result<bool, Fault> {
    match (rule, v) {
        (Truth::NonEmpty, v) => Ok(truthy(v)),
        (Truth::Boolean, Value::Bool(b)) => Ok(*b),
        (Truth::Boolean, _) => Err(Fault::new("no such overload")),
    }
}

/// Reads keys; `None` stands for null.
pub fn walk<'v>(mut v: &'v Value, keys: &[Str], access: Access) -> Result<Option<&'v Value>, Fault> {
    for key in keys {
        v = match v {
            Value::Map(m) => match (m.get(key), access.key) {
                (Some(inner), _) => inner,
                (None, Missing::Fault) => return Err(Fault::NotFound(key.clone())),
                (None, Missing::Null) => return Ok(None),
            },
            _ => match access.scalar {
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
pub fn compare(op: Cmp, rule: CmpRule, a: &Value, b: &Value) -> Result<Option<bool>, Fault> {
    let equal = |a: &Value, b: &Value| match rule {
        CmpRule::Strict => a.strict_eq(b),
        CmpRule::Numeric => a.json_eq(b),
    };
    let pair = match (op, rule, a, b) {
        (Cmp::Eq, ..) => return Ok(Some(equal(a, b))),
        (Cmp::Ne, ..) => return Ok(Some(!equal(a, b))),
        (_, CmpRule::Strict, Value::Float(x), Value::Float(y)) => (*x, *y),
        (_, CmpRule::Strict, ..) => return Ok(None),
        (_, CmpRule::Numeric, a, b) => match (a.as_number(), b.as_number()) {
            (Some(x), Some(y)) => (x, y),
            _ => return Err(Fault::new("no such overload")),
        },
    };
    Ok(Some(match op {
        Cmp::Lt => pair.0 < pair.1,
        Cmp::Le => pair.0 <= pair.1,
        Cmp::Gt => pair.0 > pair.1,
        _ => pair.0 >= pair.1,
    }))
}
