//! Optional values.

use super::call::{Call, CallResult, fault, success};
use ephor_value::{Fault, Object, Value};

pub(crate) fn of(call: &Call<'_>) -> CallResult {
    Some(Ok(Value::optional(Some(call.arg(0).clone()))))
}

/// None for zero, empty and null.
pub fn of_non_zero(call: &Call<'_>) -> CallResult {
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
        Value::Map(m) => m.is_empty() && m.view().is_none(),
        Value::Duration(d) => *d == 0,
        Value::Timestamp(_) => false,
        Value::Object(o) => match &**o {
            Object::Keyed(e) => e.is_empty(),
            Object::Struct(_, fields) => fields.is_empty(),
            _ => false,
        },
    };
    Some(Ok(Value::optional((!is_zero).then(|| v.clone()))))
}

pub(crate) fn none(_: &Call<'_>) -> CallResult {
    Some(Ok(Value::optional(None)))
}

pub(crate) fn has_value(call: &Call<'_>) -> CallResult {
    success(call.arg(0).as_optional()?.is_some())
}

pub(crate) fn value(call: &Call<'_>) -> CallResult {
    match call.arg(0).as_optional()? {
        Some(v) => Some(Ok(v.clone())),
        None => fault("optional.none() dereference"),
    }
}

/// The values of those that have one.
pub fn unwrap(call: &Call<'_>) -> CallResult {
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
pub fn escape_key(call: &Call<'_>) -> CallResult {
    success(call.text(0)?.replace('~', "~0").replace('/', "~1"))
}

/// Kyverno's `orValue`: values that are not optional stand for themselves.
pub fn or_value(call: &Call<'_>) -> CallResult {
    Some(Ok(match call.arg(0).as_optional() {
        Some(None) => call.arg(1).clone(),
        Some(Some(v)) => v.clone(),
        None => call.arg(0).clone(),
    }))
}

/// What an optional value holds, when the host reads it anew.
pub fn reread_inside(call: &Call<'_>) -> CallResult {
    match call.arg(0).as_optional() {
        Some(Some(v)) => {
            let v = reread(v).unwrap_or_else(|f| Value::object(Object::Invalid(f.cel_text().into())));
            Some(Ok(Value::optional(Some(v))))
        }
        _ => Some(Ok(call.arg(0).clone())),
    }
}

const UNSUPPORTED: &str = "unsupported conversion to ref.Val: ";

/// A value as the host's, read anew: an optional one loses its wrapping, a type becomes its name,
/// and values of some libraries are not understood any more.
///
/// # Errors
/// `unsupported conversion to ref.Val: …`.
pub fn reread(value: &Value) -> Result<Value, Fault> {
    let Value::Object(o) = value else { return Ok(value.clone()) };
    let unknown = |kind: &str, text: String| Err(Fault::new(format!("{UNSUPPORTED}({kind}){text}")));
    match &**o {
        Object::Optional(None) => Ok(Value::Null),
        Object::Optional(Some(v)) => reread(v),
        Object::Type(name) => Ok(Value::Str(name.clone())),
        Object::Quantity(q) => unknown("*resource.Quantity", q.to_string()),
        Object::Url(text) => unknown("*url.URL", text.to_string()),
        Object::Ip(ip) => unknown("netip.Addr", ip.to_string()),
        Object::Cidr(ip, bits) => unknown("netip.Prefix", format!("{ip}/{bits}")),
        Object::Semver(v) => unknown("semver.Version", v.to_string()),
        Object::Invalid(text) if text.starts_with(UNSUPPORTED) => {
            unknown("*errors.errorString", text.to_string())
        }
        Object::Check(_) | Object::Decision(_) => {
            Ok(Value::object(Object::Invalid("no such overload".into())))
        }
        _ => Ok(value.clone()),
    }
}
