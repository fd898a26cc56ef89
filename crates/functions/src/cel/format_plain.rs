//! `format` of the strings extension from version 4 on: plain words for numbers, no quotes inside
//! of lists.

use super::call::{Call, CallResult, fault, success};
use super::convert::{double_text, duration_text, timestamp_text};
use super::format::{Clause, Text, filled, written};
use ephor_value::{Object, Value, stack};

/// How many places numbers have unless the clause says.
const PLACES: usize = 6;

pub fn format(call: &Call<'_>) -> CallResult {
    let (pattern, args) = (call.text(0)?, call.arg(1).as_list()?);
    match filled(pattern, args, plainly) {
        Ok(text) => success(text),
        Err(e) => fault(e.to_string()),
    }
}

/// An argument as a clause wants it.
fn plainly(clause: &Clause, v: &Value) -> Text {
    let number = match v {
        Value::Float(f) => Some(*f),
        Value::Int(i) if clause.takes_doubles() => Some(*i as f64),
        Value::UInt(u) if clause.takes_doubles() => Some(*u as f64),
        _ => None,
    };
    // Of the precision the last eight bits count, as in the older form.
    let places = clause.places().unwrap_or(PLACES) % 256;
    match (clause.verb(), number) {
        ('s', _) => Ok(text(v)),
        ('d' | 'f' | 'e', Some(f)) if !f.is_finite() => Ok(infinite(f)),
        ('f', Some(f)) => Ok(format!("{f:.places$}")),
        ('e', Some(f)) => Ok(scientific(f, places)),
        _ => written(clause, v),
    }
}

fn infinite(f: f64) -> String {
    match f {
        f if f.is_nan() => "NaN",
        f if f > 0.0 => "Infinity",
        _ => "-Infinity",
    }
    .into()
}

/// With an exponent of a sign and two digits.
fn scientific(f: f64, places: usize) -> String {
    let text = format!("{f:.places$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}

/// A value as text; maps in the order of their keys.
fn text(v: &Value) -> String {
    match v {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Float(f) if f.is_finite() => double_text(*f),
        Value::Float(f) => infinite(*f),
        Value::Str(s) => s.to_string(),
        Value::Bytes(b) => String::from_utf8_lossy(b).into_owned(),
        Value::Duration(d) => duration_text(*d),
        Value::Timestamp(t) => timestamp_text(t),
        Value::List(l) => stack::deep(|| format!("[{}]", l.iter().map(text).collect::<Vec<_>>().join(", "))),
        Value::Map(m) => stack::deep(|| entries(m.iter().map(|(k, v)| (k.to_string(), text(v))).collect())),
        Value::Object(o) => match &**o {
            Object::Keyed(all) => entries(all.iter().map(|(k, v)| (text(k), text(v))).collect()),
            Object::Type(name) => name.to_string(),
            _ => v.cel_type().into(),
        },
    }
}

fn entries(mut all: Vec<(String, String)>) -> String {
    all.sort();
    let shown: Vec<String> = all.into_iter().map(|(k, v)| format!("{k}: {v}")).collect();
    format!("{{{}}}", shown.join(", "))
}
