//! Functions of lists and objects, and the standard functions of any value.
//!
//! Objects have no order in Kyverno 1.19.1; here keys are visited in ascending byte order. An
//! opaque list (the result of `items()`) is no array for `type`, `lookup`, `items` and
//! `object_from_lists`.

use std::cmp::Ordering;

use super::args::{FunctionResult, failure, list, number, object, text, value};
use super::strings::number_text;
use super::{Arg, Context, Ty, limits, type_fault};
use ephor_value::{Fault, List, Map, Str, Value, budget, number::float_v, number::parse_float, print};

pub(super) fn contains(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let needle = value(args, 1);
    Ok(Value::Bool(match value(args, 0) {
        Value::Str(s) => needle.as_str().is_some_and(|n| s.contains(n)),
        Value::List(l) => {
            budget::steps(l.len())?;
            l.iter().any(|v| v.strict_eq(needle))
        }
        _ => false,
    }))
}

pub(super) fn keys(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let sorted = object(args, 0).map(Map::sorted).unwrap_or_default();
    Ok(Value::list(sorted.into_iter().map(|(k, _)| Value::Str(k.clone())).collect()))
}

pub(super) fn values(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let sorted = object(args, 0).map(Map::sorted).unwrap_or_default();
    Ok(Value::list(sorted.into_iter().map(|(_, v)| v.clone()).collect()))
}

pub(super) fn length(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let n = match value(args, 0) {
        Value::Str(s) => s.chars().count(),
        Value::List(l) => l.len(),
        Value::Map(m) => m.len(),
        _ => 0,
    };
    Ok(Value::Float(n as f64))
}

pub(super) fn max(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(best(list(args, 0), Ordering::Greater))
}

pub(super) fn min(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(best(list(args, 0), Ordering::Less))
}

/// The first item that no other one beats.
fn best(items: &[Value], wanted: Ordering) -> Value {
    let mut items = items.iter();
    let Some(mut best) = items.next() else { return Value::Null };
    for item in items {
        let order = match (item, best) {
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
            _ => None,
        };
        if order == Some(wanted) {
            best = item;
        }
    }
    best.clone()
}

pub(super) fn sort(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let mut items = list(args, 0).to_vec();
    items.sort_by(|a, b| match (a, b) {
        (Value::Float(a), Value::Float(b)) => order_numbers(*a, *b),
        (Value::Str(a), Value::Str(b)) => a.cmp(b),
        _ => Ordering::Equal,
    });
    Ok(Value::list(items))
}

/// A total order of doubles: NaN before everything, zeros equal.
pub fn order_numbers(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

pub(super) fn merge(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let mut merged = Map::new();
    for arg in args {
        match arg {
            // The first object is shared until another one changes it.
            Arg::Value(v) if v.as_map().is_some() => {
                for (k, v) in v.as_map().into_iter().flat_map(Map::iter) {
                    merged.insert(k.clone(), v.clone());
                }
            }
            other => return Err(type_fault(other, &[Ty::Object])),
        }
    }
    Ok(Value::Map(merged))
}

pub(super) fn not_null(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let first = args.iter().map(as_value).find(|v| !v.is_null());
    Ok(first.unwrap_or_default())
}

/// The argument as a value; an expression reference shows as an empty object.
fn as_value(arg: &Arg<'_>) -> Value {
    match arg {
        Arg::Value(v) => v.as_ref().clone(),
        Arg::Expref(_) => Value::Map(Map::new()),
    }
}

pub(super) fn reverse(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(match value(args, 0) {
        Value::Str(s) => s.chars().rev().collect::<String>().into(),
        other => Value::list(other.as_list().unwrap_or(&[]).iter().rev().cloned().collect()),
    })
}

pub(super) fn to_array(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(match args.first().map(as_value).unwrap_or_default() {
        Value::List(l) if !l.is_opaque() => Value::List(l),
        other => Value::list(vec![other]),
    })
}

/// The JMESPath name of a value's type; a host integer and an opaque list have none.
fn type_name(arg: Option<&Arg<'_>>) -> Result<&'static str, Fault> {
    match arg {
        Some(Arg::Value(v)) => match v.as_ref() {
            Value::Null => Ok("null"),
            Value::Bool(_) => Ok("boolean"),
            Value::Float(_) => Ok("number"),
            Value::Str(_) => Ok("string"),
            Value::List(l) if !l.is_opaque() => Ok("array"),
            Value::Map(_) => Ok("object"),
            _ => Err(Fault::new("unknown type")),
        },
        _ => Err(Fault::new("unknown type")),
    }
}

pub(super) fn type_of(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    type_name(args.first()).map(Value::from)
}

pub(super) fn to_number(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    type_name(args.first())?;
    Ok(match value(args, 0) {
        Value::Float(f) => Value::Float(*f),
        Value::Str(s) => parse_float(s).map_or(Value::Null, Value::Float),
        _ => Value::Null,
    })
}

pub(super) fn to_string(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let v = args.first().map(as_value).unwrap_or_default();
    if let Value::Str(_) = v {
        return Ok(v);
    }
    limits::printable(&v)?;
    match print::first_non_finite(&v) {
        Some(f) => Err(Fault::new(format!("json: unsupported value: {}", float_v(f)))),
        None => {
            let text = print::json(&v);
            limits::text_of(text.len())?;
            Ok(text.into())
        }
    }
}

pub(super) fn label_match(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (Some(wanted), Some(labels)) = (object(args, 0), object(args, 1)) else {
        return Ok(Value::Bool(false));
    };
    let holds = wanted.iter().all(|(k, v)| labels.get(k).is_some_and(|w| v.strict_eq(w)));
    Ok(Value::Bool(holds))
}

pub(super) fn lookup(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    match (value(args, 0), value(args, 1)) {
        (Value::Map(m), Value::Str(key)) => Ok(m.get(key).cloned().unwrap_or_default()),
        (Value::Map(_), _) => Err(failure("lookup", "argument #2 is not of type String")),
        (Value::List(l), Value::Float(f)) if !l.is_opaque() => {
            let i = integer(*f).map_err(|why| failure("lookup", format_args!("argument #2: {why}")))?;
            Ok(usize::try_from(i).ok().and_then(|i| l.get(i)).cloned().unwrap_or_default())
        }
        (Value::List(l), _) if !l.is_opaque() => Err(failure("lookup", "argument #2 is not of type Number")),
        _ => Err(failure("lookup", "argument #1 is not of type Object or Array")),
    }
}

/// Why a double is no integer.
#[derive(Debug, thiserror::Error)]
enum IntegerError {
    #[error("expected an integer number but got: {}", float_v(*.0))]
    Fraction(f64),
    #[error("number is outside the range of integer numbers: {}", float_v(*.0))]
    Range(f64),
}

/// A double that is an integer of 64 bits.
fn integer(f: f64) -> Result<i64, IntegerError> {
    if f.fract() != 0.0 || f.is_nan() {
        return Err(IntegerError::Fraction(f));
    }
    if !(-(2f64.powi(63))..2f64.powi(63)).contains(&f) {
        return Err(IntegerError::Range(f));
    }
    Ok(f as i64)
}

pub(super) fn items(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (key_name, value_name): (Str, Str) = (text(args, 1).into(), text(args, 2).into());
    let item = |k: Value, v: &Value| {
        Value::Map([(key_name.clone(), k), (value_name.clone(), v.clone())].into_iter().collect())
    };
    let count = value(args, 0).as_map().map_or(list(args, 0).len(), Map::len);
    // An item is an object of two entries.
    limits::list(count.saturating_mul(4))?;
    let all = match value(args, 0) {
        Value::Map(m) => m.sorted().into_iter().map(|(k, v)| item(Value::Str(k.clone()), v)).collect(),
        Value::List(l) if !l.is_opaque() => {
            l.iter().enumerate().map(|(i, v)| item(Value::Float(i as f64), v)).collect()
        }
        _ => return Err(failure("items", "argument #1 is not of type Object or Array")),
    };
    Ok(Value::List(List::opaque(all)))
}

pub(super) fn object_from_lists(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    for (i, name) in [(0, "argument #1"), (1, "argument #2")] {
        if matches!(value(args, i), Value::List(l) if l.is_opaque()) {
            return Err(failure("object_from_lists", format_args!("{name} is not of type Array")));
        }
    }
    let found = list(args, 1);
    let mut out = Vec::new();
    for (i, key) in list(args, 0).iter().enumerate() {
        let key: Str = match key {
            Value::Str(s) => s.clone(),
            Value::Float(f) => number_text(*f).into(),
            Value::Bool(_) | Value::Int(_) => print::display(key).into(),
            _ => return Err(failure("object_from_lists", "argument #1 is not of type StringArray")),
        };
        out.push((key, found.get(i).cloned().unwrap_or_default()));
    }
    Ok(Value::Map(out.into_iter().collect()))
}

pub(super) fn abs(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(Value::Float(number(args, 0).abs()))
}

pub(super) fn ceil(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(Value::Float(number(args, 0).ceil()))
}

pub(super) fn floor(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(Value::Float(number(args, 0).floor()))
}

pub(super) fn avg(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let items = list(args, 0);
    let sum: f64 = items.iter().filter_map(Value::as_number).fold(0.0, |a, b| a + b);
    Ok(Value::Float(sum / items.len() as f64))
}
