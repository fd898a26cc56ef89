//! Operators: arithmetic, order, membership, size.

use std::cmp::Ordering;

use super::call::{Call, CallResult, fault, success};
use crate::limits;
use ephor_value::object::{list_sum, number_order};
use ephor_value::time::{Time, is_in_calendar};
use ephor_value::{Fault, Object, Str, Value};

const OVERLOAD: &str = "no such overload";
const OVERFLOW: &str = "integer overflow";

/// Kinds that have an operator, or that have methods, refuse a wrong right side in their own words.
fn refused(call: &Call<'_>, name: &str, has: fn(&Value) -> bool) -> CallResult {
    let own = has(call.arg(0)) || has_methods(call.arg(0));
    if own { fault(OVERLOAD) } else { fault(format!("{OVERLOAD}: {name}")) }
}

/// Kinds that calls are handed to when no form fits.
pub fn has_methods(v: &Value) -> bool {
    matches!(v, Value::Str(_) | Value::Timestamp(_) | Value::Duration(_))
}

fn is_number(v: &Value) -> bool {
    matches!(v, Value::Int(_) | Value::UInt(_) | Value::Float(_))
}

fn whole(v: Option<i64>) -> CallResult {
    Some(v.map(Value::Int).ok_or_else(|| Fault::new(OVERFLOW)))
}

fn unsigned(v: Option<u64>) -> CallResult {
    Some(v.map(Value::UInt).ok_or_else(|| Fault::new("unsigned integer overflow")))
}

fn duration(v: Option<i64>) -> CallResult {
    Some(v.map(Value::Duration).ok_or_else(|| Fault::new(OVERFLOW)))
}

/// A point in time later than another one, in its time zone.
fn moved(t: &Time, by: i128) -> CallResult {
    let moved = timestamp(t.unix_nanos() + by)?;
    Some(moved.map(|v| match v {
        Value::Timestamp(later) => Value::Timestamp(later.with_offset(t.offset())),
        other => other,
    }))
}

/// A point in time in the years 1 to 9999.
pub fn timestamp(nanos: i128) -> CallResult {
    if is_in_calendar(nanos.div_euclid(1_000_000_000)) {
        return Some(Ok(Value::Timestamp(Time::from_unix_nanos(nanos))));
    }
    fault("timestamp overflow")
}

pub fn add(call: &Call<'_>) -> CallResult {
    match (call.arg(0), call.arg(1)) {
        (Value::Int(a), Value::Int(b)) => whole(a.checked_add(*b)),
        (Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_add(*b)),
        (Value::Float(a), Value::Float(b)) => success(a + b),
        (Value::Str(a), Value::Str(b)) => {
            Some(limits::text_of(a.len() + b.len()).map(|()| [&**a, &**b].concat().into()))
        }
        (Value::Bytes(a), Value::Bytes(b)) => {
            Some(limits::text_of(a.len() + b.len()).map(|()| Value::Bytes([&**a, &**b].concat().into())))
        }
        (Value::List(a), Value::List(b)) => {
            Some(limits::items_of(a.len() + b.len()).map(|()| Value::List(list_sum(a, b))))
        }
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_add(*b)),
        (Value::Timestamp(t), Value::Duration(d)) | (Value::Duration(d), Value::Timestamp(t)) => {
            moved(t, i128::from(*d))
        }
        _ => refused(call, "_+_", |v| {
            is_number(v)
                || matches!(
                    v,
                    Value::Str(_)
                        | Value::Bytes(_)
                        | Value::List(_)
                        | Value::Duration(_)
                        | Value::Timestamp(_)
                )
        }),
    }
}

pub fn subtract(call: &Call<'_>) -> CallResult {
    match (call.arg(0), call.arg(1)) {
        (Value::Int(a), Value::Int(b)) => whole(a.checked_sub(*b)),
        (Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_sub(*b)),
        (Value::Float(a), Value::Float(b)) => success(a - b),
        (Value::Duration(a), Value::Duration(b)) => duration(a.checked_sub(*b)),
        // The duration is negated first.
        (Value::Timestamp(t), Value::Duration(d)) => match d.checked_neg() {
            Some(d) => moved(t, d.into()),
            None => duration(None),
        },
        (Value::Timestamp(a), Value::Timestamp(b)) => {
            duration(i64::try_from(a.unix_nanos() - b.unix_nanos()).ok())
        }
        _ => refused(call, "_-_", |v| is_number(v) || matches!(v, Value::Duration(_) | Value::Timestamp(_))),
    }
}

pub fn multiply(call: &Call<'_>) -> CallResult {
    match (call.arg(0), call.arg(1)) {
        (Value::Int(a), Value::Int(b)) => whole(a.checked_mul(*b)),
        (Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_mul(*b)),
        (Value::Float(a), Value::Float(b)) => success(a * b),
        _ => refused(call, "_*_", is_number),
    }
}

pub fn divide(call: &Call<'_>) -> CallResult {
    const ZERO: &str = "division by zero";
    match (call.arg(0), call.arg(1)) {
        (Value::Int(_), Value::Int(0)) | (Value::UInt(_), Value::UInt(0)) => fault(ZERO),
        (Value::Int(a), Value::Int(b)) => whole(a.checked_div(*b)),
        (Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_div(*b)),
        (Value::Float(a), Value::Float(b)) => success(a / b),
        _ => refused(call, "_/_", is_number),
    }
}

pub fn remainder(call: &Call<'_>) -> CallResult {
    const ZERO: &str = "modulus by zero";
    match (call.arg(0), call.arg(1)) {
        (Value::Int(_), Value::Int(0)) | (Value::UInt(_), Value::UInt(0)) => fault(ZERO),
        (Value::Int(a), Value::Int(b)) => whole(a.checked_rem(*b)),
        (Value::UInt(a), Value::UInt(b)) => unsigned(a.checked_rem(*b)),
        _ => refused(call, "_%_", |v| matches!(v, Value::Int(_) | Value::UInt(_))),
    }
}

pub fn negate(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Int(a) => whole(a.checked_neg()),
        Value::Float(a) => success(-a),
        Value::Duration(a) => duration(a.checked_neg()),
        _ => refused(call, "-_", |v| matches!(v, Value::Bool(_))),
    }
}

pub fn not(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Bool(b) => success(!b),
        _ => fault(OVERLOAD),
    }
}

pub fn equal(call: &Call<'_>) -> CallResult {
    if let Some(text) = unreadable(call.arg(0), call.arg(1)) {
        return fault(text.to_string());
    }
    call.arg(0).cel_equal(call.arg(1)).map_or_else(|| fault(OVERLOAD), success)
}

/// Equality of what a schema declares: a list can only be compared with lists, a map with maps.
pub fn equals_declared(call: &Call<'_>) -> CallResult {
    if comparable(call) { equal(call) } else { fault(OVERLOAD) }
}

/// The contrary: what cannot be compared differs.
pub fn differs_from_declared(call: &Call<'_>) -> CallResult {
    if comparable(call) { unequal(call) } else { success(true) }
}

fn comparable(call: &Call<'_>) -> bool {
    let is_map = |v: &Value| match v {
        Value::Map(_) => true,
        Value::Object(o) => matches!(**o, Object::Keyed(_)),
        _ => false,
    };
    match (call.arg(0), call.arg(1)) {
        (_, Value::Null) => true,
        (Value::List(_), other) => matches!(other, Value::List(_)),
        (Value::Map(_), other) => is_map(other),
        _ => true,
    }
}

/// What does not fit its schema and is met when lists of objects are compared.
fn unreadable(a: &Value, b: &Value) -> Option<Str> {
    let broken = |v: &Value| match v.as_optional().flatten() {
        Some(Value::Object(o)) => match &**o {
            Object::Invalid(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    };
    if let (Some(Some(_)), Some(Some(_))) = (a.as_optional(), b.as_optional()) {
        return broken(a).or_else(|| broken(b));
    }
    let (Value::List(a), Value::List(b)) = (a, b) else { return None };
    if a.len() != b.len() {
        return None;
    }
    fn inside(v: &Value) -> Option<Str> {
        match v {
            Value::Map(m) => m.iter().find_map(|(_, v)| inside(v)),
            Value::List(l) => l.iter().find_map(inside),
            Value::Object(o) => match &**o {
                Object::Invalid(text) if !text.is_empty() => Some(text.clone()),
                _ => None,
            },
            _ => None,
        }
    }
    let maps = a.iter().filter(|v| matches!(v, Value::Map(_)));
    maps.into_iter().find_map(inside)
}

/// Values that cannot be compared are unequal.
pub fn unequal(call: &Call<'_>) -> CallResult {
    success(!call.arg(0).cel_eq(call.arg(1)))
}

/// The order of two values of kinds that have one; `Err(None)` for a NaN, `Err(Some(()))` without
/// order.
pub fn order(a: &Value, b: &Value) -> Result<Ordering, Option<()>> {
    match (a, b) {
        (a, b) if is_number(a) && is_number(b) => number_order(a, b).ok_or(None),
        (Value::Str(a), Value::Str(b)) => Ok(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(a.unix_nanos().cmp(&b.unix_nanos())),
        _ => Err(Some(())),
    }
}

fn has_order(v: &Value) -> bool {
    is_number(v)
        || matches!(
            v,
            Value::Str(_) | Value::Bytes(_) | Value::Bool(_) | Value::Duration(_) | Value::Timestamp(_)
        )
}

fn compare(call: &Call<'_>, name: &str, holds: fn(Ordering) -> bool) -> CallResult {
    match order(call.arg(0), call.arg(1)) {
        Ok(order) => success(holds(order)),
        Err(None) if call.cx.cel_level.rules().orders_nan => success(false),
        Err(None) => fault("NaN values cannot be ordered"),
        Err(Some(())) => refused(call, name, has_order),
    }
}

pub fn less(call: &Call<'_>) -> CallResult {
    compare(call, "_<_", Ordering::is_lt)
}

pub fn less_or_equal(call: &Call<'_>) -> CallResult {
    compare(call, "_<=_", Ordering::is_le)
}

pub fn greater(call: &Call<'_>) -> CallResult {
    compare(call, "_>_", Ordering::is_gt)
}

pub fn greater_or_equal(call: &Call<'_>) -> CallResult {
    compare(call, "_>=_", Ordering::is_ge)
}

/// The fault of an evaluation that reads, or adds, an entry under a key that Kyverno 1.19.1's
/// maps cannot have.
pub fn unhashable(key: &Value) -> Option<Fault> {
    let kind = match key {
        Value::Bytes(_) => super::type_names::go_type(key),
        Value::Object(o) if matches!(**o, Object::Semver(_) | Object::Format(_)) => {
            super::type_names::go_type(key)
        }
        _ => return None,
    };
    Some(Fault::Abort(format!("internal error: runtime error: hash of unhashable type {kind}").into()))
}

pub fn contains(call: &Call<'_>) -> CallResult {
    match call.arg(1) {
        // Values of libraries may differ by side: the left one is compared with the items.
        Value::List(l) => success(l.iter().any(|item| match item {
            Value::Object(_) => call.arg(0).cel_eq(item),
            item => item.cel_eq(call.arg(0)),
        })),
        Value::Object(o) if matches!(**o, Object::Keyed(_)) && unhashable(call.arg(0)).is_some() => {
            unhashable(call.arg(0)).map(Err)
        }
        map if map.is_view() && call.arg(0).as_str().is_none() => {
            fault(format!("unsupported map key type: {}", super::go_type(call.arg(0))))
        }
        map => match map.cel_entry(call.arg(0)) {
            Some(found) => success(found.is_some()),
            None => fault(OVERLOAD),
        },
    }
}

pub fn size(call: &Call<'_>) -> CallResult {
    let count = match call.arg(0) {
        Value::Str(s) => s.chars().count(),
        Value::Bytes(b) => b.len(),
        Value::List(l) => l.len(),
        Value::Map(m) => m.len(),
        Value::Object(o) => match &**o {
            Object::Keyed(entries) => entries.len(),
            _ => return fault("no such overload: size"),
        },
        v if has_methods(v) => return fault(OVERLOAD),
        _ => return fault("no such overload: size"),
    };
    success(i64::try_from(count).unwrap_or(i64::MAX))
}
