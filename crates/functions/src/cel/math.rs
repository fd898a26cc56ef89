//! The math extension and base64.

use std::cmp::Ordering;

use super::call::{Call, CallResult, fault, success};
use ephor_value::Value;
use ephor_value::bytes::decode_base64;
use ephor_value::object::number_order;

const OVERFLOW: &str = "integer overflow";

fn extreme(call: &Call<'_>, wanted: Ordering, name: &str) -> CallResult {
    let first = call.arg(0);
    let items: Vec<Value> = match (call.args.len(), first) {
        (1, Value::List(l)) if l.is_empty() => {
            return fault(format!("math.{name}(list) argument must not be empty"));
        }
        (1, Value::List(l)) => l.iter().cloned().collect(),
        _ => call.args.iter().map(|v| (*v).clone()).collect(),
    };
    let mut best: Option<Value> = None;
    for item in items {
        if !matches!(item, Value::Int(_) | Value::UInt(_) | Value::Float(_)) {
            return None;
        }
        let better = best.as_ref().is_none_or(|b| number_order(&item, b) == Some(wanted));
        if better {
            best = Some(item);
        }
    }
    best.map(Ok)
}

pub fn greatest(call: &Call<'_>) -> CallResult {
    extreme(call, Ordering::Greater, "@max")
}

pub fn least(call: &Call<'_>) -> CallResult {
    extreme(call, Ordering::Less, "@min")
}

fn double(call: &Call<'_>, of: fn(f64) -> f64) -> CallResult {
    match call.arg(0) {
        Value::Float(f) => success(of(*f)),
        _ => None,
    }
}

pub fn ceil(call: &Call<'_>) -> CallResult {
    double(call, f64::ceil)
}

pub fn floor(call: &Call<'_>) -> CallResult {
    double(call, f64::floor)
}

pub fn trunc(call: &Call<'_>) -> CallResult {
    double(call, f64::trunc)
}

/// Half away from zero; Kyverno's form takes a number of digits.
pub fn round(call: &Call<'_>) -> CallResult {
    if call.args.len() > 1 { super::data::round(call) } else { double(call, f64::round) }
}

pub fn sqrt(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Int(i) => success((*i as f64).sqrt()),
        Value::UInt(u) => success((*u as f64).sqrt()),
        Value::Float(f) => success(f.sqrt()),
        _ => None,
    }
}

pub fn abs(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Int(i) => i.checked_abs().map_or_else(|| fault(OVERFLOW), success),
        Value::UInt(u) => Some(Ok(Value::UInt(*u))),
        Value::Float(f) => success(f.abs()),
        _ => None,
    }
}

pub fn sign(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Int(i) => success(i.signum()),
        Value::UInt(u) => Some(Ok(Value::UInt(u64::from(*u > 0)))),
        Value::Float(f) if f.is_nan() || *f == 0.0 => success(*f),
        Value::Float(f) => success(f.signum()),
        _ => None,
    }
}

fn test(call: &Call<'_>, of: fn(f64) -> bool) -> CallResult {
    match call.arg(0) {
        Value::Float(f) => success(of(*f)),
        _ => None,
    }
}

pub fn is_nan(call: &Call<'_>) -> CallResult {
    test(call, f64::is_nan)
}

pub fn is_inf(call: &Call<'_>) -> CallResult {
    test(call, f64::is_infinite)
}

pub fn is_finite(call: &Call<'_>) -> CallResult {
    test(call, f64::is_finite)
}

fn bits(call: &Call<'_>, int: fn(i64, i64) -> i64, uint: fn(u64, u64) -> u64) -> CallResult {
    match (call.arg(0), call.arg(1)) {
        (Value::Int(a), Value::Int(b)) => success(int(*a, *b)),
        (Value::UInt(a), Value::UInt(b)) => Some(Ok(Value::UInt(uint(*a, *b)))),
        _ => None,
    }
}

pub fn bit_and(call: &Call<'_>) -> CallResult {
    bits(call, |a, b| a & b, |a, b| a & b)
}

pub fn bit_or(call: &Call<'_>) -> CallResult {
    bits(call, |a, b| a | b, |a, b| a | b)
}

pub fn bit_xor(call: &Call<'_>) -> CallResult {
    bits(call, |a, b| a ^ b, |a, b| a ^ b)
}

pub fn bit_not(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Int(a) => success(!a),
        Value::UInt(a) => Some(Ok(Value::UInt(!a))),
        _ => None,
    }
}

/// Bits that leave on either side are lost; a shift is never signed.
fn shift(call: &Call<'_>, name: &str, of: fn(u64, u32) -> Option<u64>) -> CallResult {
    let Value::Int(by) = call.arg(1) else { return None };
    let Ok(by) = u32::try_from(*by) else {
        let text = if *by < 0 { format!("math.{name}() negative offset: {by}") } else { String::new() };
        return if text.is_empty() { zero(call.arg(0)) } else { fault(text) };
    };
    match call.arg(0) {
        Value::Int(a) => success(i64::from_ne_bytes(
            of(u64::from_ne_bytes(a.to_ne_bytes()), by).unwrap_or(0).to_ne_bytes(),
        )),
        Value::UInt(a) => Some(Ok(Value::UInt(of(*a, by).unwrap_or(0)))),
        _ => None,
    }
}

fn zero(like: &Value) -> CallResult {
    Some(Ok(if matches!(like, Value::UInt(_)) { Value::UInt(0) } else { Value::Int(0) }))
}

pub fn shift_left(call: &Call<'_>) -> CallResult {
    shift(call, "bitShiftLeft", u64::checked_shl)
}

pub fn shift_right(call: &Call<'_>) -> CallResult {
    shift(call, "bitShiftRight", u64::checked_shr)
}

pub fn encode(call: &Call<'_>) -> CallResult {
    use base64::Engine;
    match call.arg(0) {
        Value::Bytes(b) => success(base64::engine::general_purpose::STANDARD.encode(b)),
        _ => None,
    }
}

pub fn decode(call: &Call<'_>) -> CallResult {
    let text = call.text(0)?;
    // Line ends do not count.
    let length = text.bytes().filter(|b| !matches!(b, b'\r' | b'\n')).count();
    let padded = format!("{text}{}", "=".repeat((4 - length % 4) % 4));
    match decode_base64(padded.as_bytes()) {
        Ok(bytes) => Some(Ok(Value::Bytes(bytes.into()))),
        Err(at) => fault(format!("illegal base64 data at input byte {at}")),
    }
}

/// A text from its end.
pub fn reverse(call: &Call<'_>) -> CallResult {
    match call.arg(0) {
        Value::Str(s) => success(s.chars().rev().collect::<String>()),
        _ => None,
    }
}
