//! Comparing a scalar with a leaf of a pattern.
//!
//! The pattern's kind decides which comparison applies; a missing value counts as null. The
//! semantics' source is `docs/patterns.md`.

use std::cmp::Ordering;

use crate::ir::pattern::{Leaf, Operand, Term, TermOp};
use crate::value::Value;
use crate::value::duration;
use crate::value::number::{float_e, float_f6, parse_float, parse_int};
use crate::value::quantity::Quantity;

/// Whether `value` matches the leaf. Lists are the caller's business: inside of one nothing but
/// scalars matches.
pub fn matches(leaf: &Leaf, value: &Value) -> bool {
    super::trace::note(leaf);
    match (&leaf.source, value) {
        (Value::Bool(p), Value::Bool(v)) => p == v,
        (Value::Bool(_), _) => false,
        (Value::Int(p), v) => match v {
            Value::Int(v) => p == v,
            Value::Float(f) => f.fract() == 0.0 && *f as i64 == *p,
            Value::Str(s) => parse_int(s) == Some(*p),
            _ => false,
        },
        (Value::UInt(p), v) => match v {
            Value::UInt(v) => p == v,
            Value::Float(f) => *f == *p as f64,
            _ => false,
        },
        (Value::Float(p), v) => match v {
            Value::Int(i) => p.fract() == 0.0 && *p as i64 == *i,
            Value::Float(f) => p == f,
            Value::Str(s) => parse_float(s) == Some(*p),
            _ => false,
        },
        (Value::Null, v) => match v {
            Value::Null => true,
            Value::Str(s) => s.is_empty(),
            Value::Bool(b) => !b,
            Value::Int(i) => *i == 0,
            Value::UInt(u) => *u == 0,
            Value::Float(f) => *f == 0.0,
            _ => false,
        },
        (Value::Str(p), v) => {
            if let Value::Str(s) = v
                && s == p
            {
                return true;
            }
            leaf.any.iter().any(|all| all.iter().all(|t| term(t, v)))
        }
        (Value::Map(_), Value::Map(_)) => true,
        _ => false,
    }
}

fn term(t: &Term, v: &Value) -> bool {
    match t {
        Term::Compare(op, operand) => compare(*op, operand, v),
        Term::Range { low, high, negated: false } => {
            compare(TermOp::GreaterOrEqual, low, v) && compare(TermOp::LessOrEqual, high, v)
        }
        Term::Range { low, high, negated: true } => {
            compare(TermOp::Less, low, v) || compare(TermOp::Greater, high, v)
        }
    }
}

/// The value as text for durations and quantities.
fn measured<T>(v: &Value, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    match v {
        Value::Null => parse("0"),
        Value::Str(s) => parse(s),
        Value::Int(i) => parse(&i.to_string()),
        Value::UInt(u) => parse(&u.to_string()),
        Value::Float(f) => parse(&float_f6(*f)),
        _ => None,
    }
}

fn compare(op: TermOp, operand: &Operand, v: &Value) -> bool {
    if let Some(d) = operand.duration
        && let Some(found) = measured(v, duration::parse_ok)
    {
        return decide(op, found.cmp(&d));
    }
    if let Some(q) = &operand.quantity
        && let Some(found) = measured(v, Quantity::parse)
    {
        return decide(op, found.cmp(q));
    }
    let equal = |text: &str| operand.wildcard.matches(text);
    let matched = match (op, v) {
        (TermOp::Equal | TermOp::NotEqual, Value::Str(s)) => equal(s),
        (TermOp::Equal | TermOp::NotEqual, Value::Bool(b)) => equal(if *b { "true" } else { "false" }),
        (TermOp::Equal | TermOp::NotEqual, Value::Int(i)) => equal(&i.to_string()),
        (TermOp::Equal | TermOp::NotEqual, Value::UInt(u)) => equal(&u.to_string()),
        (TermOp::Equal | TermOp::NotEqual, Value::Float(f)) => equal(&float_e(*f)),
        _ => return false,
    };
    matched == (op == TermOp::Equal)
}

fn decide(op: TermOp, found: Ordering) -> bool {
    match op {
        TermOp::Equal => found == Ordering::Equal,
        TermOp::NotEqual => found != Ordering::Equal,
        TermOp::Greater => found == Ordering::Greater,
        TermOp::GreaterOrEqual => found != Ordering::Less,
        TermOp::Less => found == Ordering::Less,
        TermOp::LessOrEqual => found != Ordering::Greater,
    }
}
