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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::yaml_value;

    #[track_caller]
    fn check(pattern: &str, matched: &[&str], unmatched: &[&str]) {
        let leaf = Leaf::new(yaml_value(pattern).unwrap());
        for value in matched {
            assert!(matches(&leaf, &yaml_value(value).unwrap()), "{pattern} on {value}");
        }
        for value in unmatched {
            assert!(!matches(&leaf, &yaml_value(value).unwrap()), "{pattern} on {value}");
        }
    }

    #[test]
    fn patterns_that_are_no_strings_match_their_own_value_in_any_writing() {
        check("true", &["true"], &["false", "'true'", "1", "null"]);
        check("5", &["5", "'5'", "5.0"], &["6", "'5.0'", "5.5", "true", "null"]);
        check("2.5", &["2.5", "'2.5'"], &["2", "'2,5'"]);
        check("2.0", &["2", "2.0", "'2'"], &["3"]);
        check("null", &["null", "''", "0", "false", "0.0"], &["x", "1", "true", "[]", "{}"]);
    }

    #[test]
    fn a_bar_separates_alternatives_and_an_ampersand_parts_that_all_must_match() {
        check("'a | b'", &["a", "b", "'a | b'"], &["c", "ab"]);
        check("'>=2 & <5'", &["2", "4"], &["1", "5"]);
        check("'!a & !b | a*'", &["c", "abc", "a"], &["b"]);
    }

    #[test]
    fn operators_compare_durations_then_quantities_then_texts() {
        check("'<1h'", &["59m", "1m30s"], &["60m", "2h"]);
        check("'>=1Gi'", &["1Gi", "2048Mi", "2000000000"], &["1G", "1023Mi"]);
        check("'!5'", &["6", "null", "x"], &["5", "'5.0'", "5000m"]);
        check("'5'", &["5", "'5'", "5000m"], &["6"]);
        check("'!x*'", &["b", "1"], &["xb", "x", "null"]);
        check("'>x'", &[], &["z", "x"]);
    }

    #[test]
    fn nothing_counts_as_zero_for_measures_and_matches_no_text() {
        check("'<1'", &["null", "0"], &["1"]);
        check("'<1h'", &["null"], &[]);
        check("'*'", &["x", "''", "1", "true"], &["null"]);
        check("'!x'", &[], &["null"]);
    }

    #[test]
    fn ranges_hold_their_ends_and_negated_ones_do_not() {
        check("1-5", &["1", "3", "5"], &["0", "6", "x"]);
        check("'1!-5'", &["0", "6"], &["1", "3", "5"]);
        check("100Mi-1Gi", &["100Mi", "512Mi", "1Gi"], &["99Mi", "1025Mi"]);
        // With anything else around it is a text.
        check("a1-5", &["a1-5"], &["3"]);
    }

    #[test]
    fn wildcards_are_any_run_and_any_one_character() {
        check("'a*c?'", &["abcd", "acx"], &["ac", "bacx"]);
        check("'?*'", &["x"], &["''"]);
        check("'1*'", &["10", "'12'"], &["2"]);
    }

    #[test]
    fn lists_and_objects_match_no_scalar() {
        for pattern in ["x", "'*'", "1", "null", "true"] {
            check(pattern, &[], &["[x]", "{x: 1}"]);
        }
    }
}
