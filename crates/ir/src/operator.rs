//! The operators of conditions.
//!
//! In: a key and a prepared right side, both already filled in. Out: whether the condition holds.
//! The tables are those of `docs/semantics/conditions.md`.

use std::borrow::Cow;
use std::cmp::Ordering as Order;

use crate::condition::{Items, Operator, Ordering, Prepared, TextForms};
use ephor_value::Value;
use ephor_value::budget;
use ephor_value::duration;
use ephor_value::number::{parse_float, parse_int};
use ephor_value::print::display;
use ephor_value::quantity::Quantity;
use ephor_value::range::Range;
use ephor_value::semver::Version;
use ephor_value::wildcard;

/// Whether `key operator right` holds.
pub fn holds(operator: Operator, key: &Value, right: &Prepared) -> bool {
    match operator {
        Operator::Equals => equals(key, right),
        Operator::NotEquals => !key.is_null() && !equals(key, right),
        Operator::AnyIn => membership(key, right, Quantifier::Any, false),
        Operator::AllIn => membership(key, right, Quantifier::All, false),
        Operator::AnyNotIn => membership(key, right, Quantifier::Any, true),
        Operator::AllNotIn => membership(key, right, Quantifier::All, true),
        Operator::In => old_in(key, right, false),
        Operator::NotIn => old_in(key, right, true),
        Operator::Order(op) => order(op, key, right),
        Operator::DurationOrder(op) => duration_order(op, key, right),
        Operator::Never => false,
    }
}

fn seconds(ns: i64) -> f64 {
    (ns / 1_000_000_000) as f64 + (ns % 1_000_000_000) as f64 / 1e9
}

fn proper_duration(s: &str) -> Option<i64> {
    if s == "0" { None } else { duration::parse_ok(s) }
}

fn equals(key: &Value, right: &Prepared) -> bool {
    match (key, &right.value) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::UInt(a), Value::UInt(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (
            Value::Int(_) | Value::UInt(_) | Value::Float(_),
            Value::Int(_) | Value::UInt(_) | Value::Float(_),
        ) => key.as_number() == right.value.as_number(),
        (Value::Float(a), Value::Str(s)) => parse_float(s) == Some(*a),
        (Value::Int(a), Value::Str(s)) => parse_int(s) == Some(*a),
        (Value::Str(s), Value::Str(_)) => text_equals(s, right),
        (Value::Str(s), n) => match (proper_duration(s), n.as_number()) {
            (Some(d), Some(n)) => seconds(d) == n.trunc(),
            _ => false,
        },
        (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) => key.strict_eq(&right.value),
        _ => false,
    }
}

fn text_equals(key: &str, right: &Prepared) -> bool {
    let Some(forms) = &right.text else { return false };
    if let Some(b) = forms.duration
        && let Some(a) = proper_duration(key)
    {
        return seconds(a) == seconds(b);
    }
    match Quantity::parse(key) {
        Some(a) => forms.quantity.as_ref().is_some_and(|b| a == *b),
        None => forms.wildcard.matches(key),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quantifier {
    Any,
    All,
}

fn key_text(v: &Value) -> Option<Cow<'_, str>> {
    match v {
        Value::Str(s) => Some(Cow::Borrowed(s)),
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) => Some(Cow::Owned(display(v))),
        _ => None,
    }
}

fn item_texts(items: &[Value]) -> Vec<Cow<'_, str>> {
    items
        .iter()
        .map(|v| match v {
            Value::Str(s) => Cow::Borrowed(&**s),
            v => Cow::Owned(display(v)),
        })
        .collect()
}

/// Either text may hold the wildcards.
fn found_in(items: &Items, key: &str) -> bool {
    let one = |w: &wildcard::Wildcard| w.matches(key) || wildcard::matches(key, w.pattern());
    if items.exact.is_empty() || wildcard::has_wildcard(key) {
        return budget::any(&items.all, one);
    }
    items.exact.contains(key)
        || budget::any(items.wild.iter().filter_map(|i| items.all.get(*i as usize)), one)
}

fn membership(key: &Value, right: &Prepared, quantifier: Quantifier, negated: bool) -> bool {
    if let Value::List(keys) = key {
        return list_membership(&item_texts(keys), right, quantifier, negated);
    }
    let Some(key) = key_text(key) else { return false };
    let found = match (&right.value, &right.text, &right.items) {
        (Value::List(_), _, Some(items)) => found_in(items, &key),
        (Value::Str(s), Some(forms), items) => {
            if forms.wildcard.matches(&key) {
                true
            } else if let Some(range) = forms.range.as_ref().filter(|r| !r.negated) {
                in_range(&key, range, s)
            } else if forms.json {
                match items {
                    Some(items) => items.all.iter().any(|w| **w.pattern() == *key),
                    None => return false,
                }
            } else {
                **s == *key
            }
        }
        _ => return false,
    };
    found != negated
}

fn list_membership(keys: &[Cow<'_, str>], right: &Prepared, quantifier: Quantifier, negated: bool) -> bool {
    // `AnyNotIn` requires some item that is outside, `AllNotIn` no item that is inside.
    let over = |inside: &dyn Fn(&str) -> bool| match (quantifier, negated) {
        (Quantifier::Any, false) => keys.iter().any(|k| inside(k)),
        (Quantifier::All, false) => keys.iter().all(|k| inside(k)),
        (Quantifier::Any, true) => keys.iter().any(|k| !inside(k)),
        (Quantifier::All, true) => !keys.iter().any(|k| inside(k)),
    };
    match (&right.value, &right.text, &right.items) {
        (Value::List(_), _, Some(items)) => over(&|k| found_in(items, k)),
        (Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_), ..) => {
            if quantifier == Quantifier::All {
                return false;
            }
            let items = Items::new(std::slice::from_ref(&right.value));
            over(&|k| found_in(&items, k))
        }
        (Value::Str(s), Some(forms), items) => {
            if let [only] = keys
                && **only == **s
            {
                return !negated;
            }
            if let Some(range) = forms.range.as_ref().filter(|r| !r.negated) {
                return over_range(keys, range, s, quantifier, negated);
            }
            match (forms.json, items) {
                (true, Some(items)) => over(&|k| found_in(items, k)),
                (true, None) => false,
                (false, _) => {
                    let w = &forms.wildcard;
                    over(&|k| w.matches(k) || wildcard::matches(k, s))
                }
            }
        }
        _ => false,
    }
}

/// `AnyNotIn` negates the range by writing `!` before the first `-` of its text, which misreads a
/// range with a negative left end (Kyverno 1.19.1's behaviour).
fn over_range(
    keys: &[Cow<'_, str>],
    range: &Range,
    text: &str,
    quantifier: Quantifier,
    negated: bool,
) -> bool {
    let inside = |k: &str| in_range(k, range, text);
    match (quantifier, negated) {
        (Quantifier::Any, false) => keys.iter().any(|k| inside(k)),
        (Quantifier::All, false) => keys.iter().all(|k| inside(k)),
        (Quantifier::All, true) => !keys.iter().any(|k| inside(k)),
        (Quantifier::Any, true) => {
            let negated_text = text.replacen('-', "!-", 1);
            match Range::parse(&negated_text) {
                Some(r) => keys.iter().any(|k| in_range(k, &r, &negated_text)),
                None => match negated_text.strip_prefix('!') {
                    Some(literal) => keys.iter().any(|k| **k != *literal),
                    None => false,
                },
            }
        }
    }
}

/// Whether `key` lies in the range; ends belong to it.
fn in_range(key: &str, range: &Range, text: &str) -> bool {
    if key == text {
        return true;
    }
    let cmp = |bound: &str| -> Option<Order> {
        if let (Some(a), Some(b)) = (duration::parse_ok(key), duration::parse_ok(bound)) {
            return Some(a.cmp(&b));
        }
        let (a, b) = (Quantity::parse(key)?, Quantity::parse(bound)?);
        Some(a.cmp(&b))
    };
    let (left, right) = (cmp(&range.left), cmp(&range.right));
    if range.negated {
        left == Some(Order::Less) || right == Some(Order::Greater)
    } else {
        matches!(left, Some(Order::Greater | Order::Equal))
            && matches!(right, Some(Order::Less | Order::Equal))
    }
}

fn old_in(key: &Value, right: &Prepared, negated: bool) -> bool {
    if let Value::List(keys) = key {
        let keys = item_texts(keys);
        if let (Value::Str(s), [only]) = (&right.value, &keys[..])
            && **only == **s
        {
            // Both operators are true here in Kyverno.
            return true;
        }
        let Some(items) = right.items.as_ref().filter(|i| i.strings_only) else { return false };
        let inside =
            |k: &str| budget::steps(items.all.len()).is_ok() && items.all.iter().any(|w| **w.pattern() == *k);
        return if negated { keys.iter().any(|k| !inside(k)) } else { keys.iter().all(|k| inside(k)) };
    }
    let Some(key) = key_text(key) else { return false };
    let found = match (&right.value, &right.text, &right.items) {
        (Value::List(_), _, Some(items)) => found_in(items, &key),
        (Value::Str(_), Some(forms), items) => {
            if forms.wildcard.matches(&key) {
                true
            } else {
                match items {
                    Some(items) => items.all.iter().any(|w| **w.pattern() == *key),
                    None => return false,
                }
            }
        }
        _ => return false,
    };
    found != negated
}

fn order(op: Ordering, key: &Value, right: &Prepared) -> bool {
    match key {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => number_order(op, key.as_number(), right),
        Value::Str(s) => text_order(op, s, right),
        _ => false,
    }
}

fn number_order(op: Ordering, key: Option<f64>, right: &Prepared) -> bool {
    let Some(key) = key else { return false };
    if let Some(n) = right.value.as_number() {
        return op.holds(key.partial_cmp(&n));
    }
    let Some(forms) = &right.text else { return false };
    if let Some(d) = forms.duration {
        return op.holds(key.trunc().partial_cmp(&seconds(d)));
    }
    op.holds(forms.float.and_then(|n| key.partial_cmp(&n)))
}

fn text_order(op: Ordering, key: &str, right: &Prepared) -> bool {
    let forms: Option<&TextForms> = right.text.as_ref();
    let key_duration = proper_duration(key);
    let value_duration = forms.and_then(|f| f.duration);
    match (key_duration, value_duration, right.value.as_number()) {
        (Some(a), Some(b), _) => return op.holds(seconds(a).partial_cmp(&seconds(b))),
        (Some(a), None, Some(n)) => return op.holds(seconds(a).partial_cmp(&n.trunc())),
        _ => {}
    }
    if let Some(b) = forms.and_then(|f| f.quantity.as_ref())
        && let Some(a) = Quantity::parse(key)
    {
        return op.holds(Some(a.cmp(b)));
    }
    if let Some(n) = parse_float(key) {
        return number_order(op, Some(n), right);
    }
    match (Version::parse(key), forms.and_then(|f| f.version.as_ref())) {
        (Ok(a), Some(b)) => op.holds(Some(a.cmp(b))),
        _ => false,
    }
}

fn duration_order(op: Ordering, key: &Value, right: &Prepared) -> bool {
    let whole_seconds = |n: f64| (n.trunc() as i64).saturating_mul(1_000_000_000);
    let left = match key {
        Value::Str(s) => duration::parse_ok(s),
        v => v.as_number().map(whole_seconds),
    };
    let right = match (&right.value, &right.text) {
        (_, Some(forms)) => forms.any_duration,
        (v, None) => v.as_number().map(whole_seconds),
    };
    match (left, right) {
        (Some(a), Some(b)) => op.holds(Some(a.cmp(&b))),
        _ => false,
    }
}
