//! Optional values.

use super::{Call, Given, fault, given};
use crate::value::Value;

pub fn of(call: &Call<'_>) -> Given {
    Some(Ok(Value::optional(Some(call.arg(0).clone()))))
}

/// None for zero, empty and null.
pub fn of_non_zero(call: &Call<'_>) -> Given {
    let v = call.arg(0);
    let is_zero = match v {
        Value::Null => true,
        Value::Bool(b) => !b,
        Value::Int(i) => *i == 0,
        Value::UInt(u) => *u == 0,
        Value::Float(f) => *f == 0.0,
        Value::Str(s) => s.is_empty(),
        Value::Bytes(b) => b.is_empty(),
        Value::List(l) => l.is_empty(),
        Value::Map(m) => m.is_empty(),
        Value::Duration(d) => *d == 0,
        Value::Timestamp(_) => false,
        Value::Object(o) => match &**o {
            crate::value::Object::Optional(v) => v.is_none(),
            crate::value::Object::Keyed(e) => e.is_empty(),
            crate::value::Object::Struct(_, fields) => fields.is_empty(),
            _ => false,
        },
    };
    Some(Ok(Value::optional((!is_zero).then(|| v.clone()))))
}

pub fn none(_: &Call<'_>) -> Given {
    Some(Ok(Value::optional(None)))
}

pub fn has_value(call: &Call<'_>) -> Given {
    given(call.arg(0).as_optional()?.is_some())
}

pub fn value(call: &Call<'_>) -> Given {
    match call.arg(0).as_optional()? {
        Some(v) => Some(Ok(v.clone())),
        None => fault("optional.none() dereference"),
    }
}

/// The values of those that have one.
pub fn unwrap(call: &Call<'_>) -> Given {
    let items = call.arg(0).as_list()?;
    let mut out = Vec::new();
    for item in items {
        match item.as_optional() {
            Some(Some(v)) => out.push(v.clone()),
            Some(None) => {}
            None => return None,
        }
    }
    Some(Ok(Value::list(out)))
}

/// `jsonpatch.escapeKey`
pub fn escape_key(call: &Call<'_>) -> Given {
    given(call.text(0)?.replace('~', "~0").replace('/', "~1"))
}

/// Kyverno's `orValue`: values that are not optional stand for themselves.
pub fn or_value(call: &Call<'_>) -> Given {
    Some(Ok(match call.arg(0).as_optional() {
        Some(None) => call.arg(1).clone(),
        Some(Some(v)) => v.clone(),
        None => call.arg(0).clone(),
    }))
}
