//! Conversions between kinds.

use super::call::{Call, CallResult, fault, success};
use crate::CelLevel;
use ephor_value::number::parse_float;
use ephor_value::time::{Time, is_in_calendar};
use ephor_value::{Object, Value, duration};

fn from_text(to: &str) -> CallResult {
    fault(format!("type conversion error from 'string' to '{to}'"))
}

pub(crate) fn dynamic(call: &Call<'_>) -> CallResult {
    Some(Ok(call.arg(0).clone()))
}

pub(crate) fn type_of(call: &Call<'_>) -> CallResult {
    Some(Ok(Value::object(Object::Type(call.arg(0).cel_type().into()))))
}

pub(crate) fn boolean(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        v @ Value::Bool(_) => Some(Ok(v.clone())),
        Value::Str(s) => match &**s {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => success(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => success(false),
            _ => from_text("bool"),
        },
        _ => None,
    }
}

pub(crate) fn bytes(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        v @ Value::Bytes(_) => Some(Ok(v.clone())),
        Value::Str(s) => Some(Ok(Value::Bytes(s.as_bytes().into()))),
        _ => None,
    }
}

pub(crate) fn double(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        v @ Value::Float(_) => Some(Ok(v.clone())),
        Value::Int(i) => success(*i as f64),
        Value::UInt(u) => success(*u as f64),
        Value::Str(s) => match go_float(s) {
            Some(f) => success(f),
            None => from_text("double"),
        },
        _ => None,
    }
}

fn go_float(text: &str) -> Option<f64> {
    let bare = text.strip_prefix(['+', '-']).unwrap_or(text).to_ascii_lowercase();
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match &*bare {
        "inf" | "infinity" => Some(sign * f64::INFINITY),
        "nan" => (bare.len() == text.len()).then_some(f64::NAN),
        _ => parse_float(text).filter(|f| f.is_finite()),
    }
}

const OVERFLOW: &str = "integer overflow";

pub(crate) fn int(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        v @ Value::Int(_) => Some(Ok(v.clone())),
        Value::UInt(u) => match i64::try_from(*u) {
            Ok(i) => success(i),
            Err(_) => fault(OVERFLOW),
        },
        Value::Float(f) => {
            if f.is_nan() || *f <= i64::MIN as f64 || *f >= i64::MAX as f64 {
                return fault(OVERFLOW);
            }
            success(*f as i64)
        }
        Value::Str(s) => match ephor_value::number::parse_int(s) {
            Some(i) => success(i),
            None => from_text("int"),
        },
        Value::Timestamp(t) => success(i64::try_from(t.unix_nanos().div_euclid(1_000_000_000)).ok()?),
        Value::Duration(d) => success(*d),
        _ => None,
    }
}

pub(crate) fn uint(call: &Call<'_>) -> CallResult {
    const BAD: &str = "unsigned integer overflow";
    match call.arg(0) {
        v @ Value::UInt(_) => Some(Ok(v.clone())),
        Value::Int(i) => match u64::try_from(*i) {
            Ok(u) => Some(Ok(Value::UInt(u))),
            Err(_) => fault(BAD),
        },
        Value::Float(f) => {
            if f.is_nan() || *f < 0.0 || *f >= u64::MAX as f64 {
                return fault(BAD);
            }
            Some(Ok(Value::UInt(*f as u64)))
        }
        Value::Str(s) => match s.parse::<u64>() {
            Ok(u) if !s.starts_with('+') => Some(Ok(Value::UInt(u))),
            _ => from_text("uint"),
        },
        _ => None,
    }
}

pub(crate) fn string(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        v @ Value::Str(_) => Some(Ok(v.clone())),
        Value::Bool(b) => success(if *b { "true" } else { "false" }),
        Value::Int(i) => success(i.to_string()),
        Value::UInt(u) => success(u.to_string()),
        Value::Float(f) => success(double_text(*f)),
        Value::Bytes(b) => match std::str::from_utf8(b) {
            Ok(s) => success(s),
            Err(_) => fault("invalid UTF-8 in bytes, cannot convert to string"),
        },
        Value::Timestamp(t) => success(t.rfc3339_nano()),
        Value::Duration(d) => success(duration_text(*d)),
        Value::Object(o) => match &**o {
            Object::Ip(ip) => success(ip.to_string()),
            Object::Cidr(ip, bits) => success(format!("{ip}/{bits}")),
            _ => None,
        },
        _ => None,
    }
}

/// A double as `string()` writes it.
pub fn double_text(f: f64) -> String {
    if f.is_nan() {
        return "NaN".into();
    }
    if f.is_infinite() {
        return if f > 0.0 { "+Inf" } else { "-Inf" }.into();
    }
    ephor_value::number::float_v(f)
}

/// A point in time in RFC 3339.
pub fn timestamp_text(t: &Time) -> String {
    t.rfc3339_nano()
}

/// A duration in seconds, which are a double: of long ones the last digits are lost.
pub fn duration_text(nanos: i64) -> String {
    const SECOND: i64 = 1_000_000_000;
    let seconds = (nanos / SECOND) as f64 + (nanos % SECOND) as f64 / 1e9;
    format!("{}s", ephor_value::number::float_plain(seconds))
}

pub(crate) fn duration_of(call: &Call<'_>) -> CallResult {
    const TO: &str = "google.protobuf.Duration";
    match call.arg(0) {
        v @ Value::Duration(_) => Some(Ok(v.clone())),
        Value::Int(_) if call.cx.cel_level.rules().has_integer_durations => {
            fault("type conversion error from 'int' to 'google.protobuf.Duration'")
        }
        Value::Str(s) => match duration::parse_ok(s) {
            Some(n) => Some(Ok(Value::Duration(n))),
            None => from_text(TO),
        },
        _ => None,
    }
}

/// Whether a text has the form of a time, whatever its day and second.
fn looks_like_time(text: &str) -> bool {
    const FORM: &str = "^[0-9]{4}-(0[1-9]|1[012])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$";
    crate::regex::compiled(FORM).is_ok_and(|r| r.regex.is_match(text))
}

/// Whether a text is a point in time that a level of the runtime reads, in the years 1 to 9999.
pub fn is_timestamp(text: &str, level: CelLevel) -> bool {
    let second = |t: Time| t.unix_nanos().div_euclid(1_000_000_000);
    (!level.rules().wants_exact_times || looks_like_time(text))
        && Time::parse_rfc3339(text).is_ok_and(|t| is_in_calendar(second(t)))
}

pub(crate) fn timestamp(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        v @ Value::Timestamp(_) => Some(Ok(v.clone())),
        Value::Int(n) => super::operators::timestamp(i128::from(*n) * 1_000_000_000),
        Value::Str(s) if call.cx.cel_level.rules().wants_exact_times && !looks_like_time(s) => {
            fault(format!("invalid RFC 3339 timestamp {}", ephor_value::quote::quote(s)))
        }
        Value::Str(s) => match Time::parse_rfc3339(s) {
            Ok(t) => match super::operators::timestamp(t.unix_nanos()) {
                Some(Ok(_)) => Some(Ok(Value::Timestamp(t))),
                refused => refused,
            },
            Err(_) => from_text("google.protobuf.Timestamp"),
        },
        _ => None,
    }
}
