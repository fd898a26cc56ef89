//! Lists and sets.

use std::cmp::Ordering;

use super::call::{Call, CallResult, fault, success};
use super::operators::order;
use super::pattern_sort::sorted_positions;
use super::type_names::go_type;
use crate::limits;
use ephor_value::{Fault, List, Value, budget, stack};

fn items<'a>(call: &Call<'a>, at: usize) -> Option<&'a [Value]> {
    call.arg(at).as_list()
}

fn comparable(v: &Value) -> bool {
    order(v, v).is_ok() || matches!(v, Value::Float(_))
}

pub fn is_sorted(call: &Call<'_>) -> CallResult {
    let items = items(call, 0)?;
    if !items.first().is_none_or(comparable) {
        return None;
    }
    if !items.iter().all(comparable) {
        return fault("no such overload");
    }
    success(items.windows(2).all(|w| !matches!(order(&w[0], &w[1]), Ok(Ordering::Greater))))
}

pub fn sum(call: &Call<'_>) -> CallResult {
    sum_from(call, Value::Int(0))
}

/// The sum of the items, of nothing `zero`.
pub fn sum_from(call: &Call<'_>, zero: Value) -> CallResult {
    let items = items(call, 0)?;
    let mut total = match items.first() {
        None => zero,
        Some(first) => match first {
            Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Duration(_) => first.clone(),
            _ => return None,
        },
    };
    for item in items.iter().skip(1) {
        total = match (&total, item) {
            (Value::Int(a), Value::Int(b)) => match a.checked_add(*b) {
                Some(n) => Value::Int(n),
                None => return fault("integer overflow"),
            },
            (Value::UInt(a), Value::UInt(b)) => match a.checked_add(*b) {
                Some(n) => Value::UInt(n),
                None => return fault("unsigned integer overflow"),
            },
            (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
            (Value::Duration(a), Value::Duration(b)) => match a.checked_add(*b) {
                Some(n) => Value::Duration(n),
                None => return fault("integer overflow"),
            },
            _ => return fault("no such overload"),
        };
    }
    Some(Ok(total))
}

fn extreme(call: &Call<'_>, name: &str, wanted: Ordering) -> CallResult {
    let items = items(call, 0)?;
    let Some(mut best) = items.first() else { return fault(format!("{name} called on empty list")) };
    if !comparable(best) {
        return None;
    }
    for item in items {
        if !comparable(item) {
            return fault("no such overload");
        }
        if order(item, best) == Ok(wanted) {
            best = item;
        }
    }
    Some(Ok(best.clone()))
}

pub fn min(call: &Call<'_>) -> CallResult {
    extreme(call, "min", Ordering::Less)
}

pub fn max(call: &Call<'_>) -> CallResult {
    extreme(call, "max", Ordering::Greater)
}

fn position(at: Option<usize>) -> CallResult {
    success(at.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1))
}

pub fn index_of(call: &Call<'_>) -> CallResult {
    match items(call, 0) {
        Some(items) => position(items.iter().position(|v| v.cel_eq(call.arg(1)))),
        None => super::strings::index_of(call),
    }
}

pub fn last_index_of(call: &Call<'_>) -> CallResult {
    match items(call, 0) {
        Some(items) => position(items.iter().rposition(|v| v.cel_eq(call.arg(1)))),
        None => super::strings::last_index_of(call),
    }
}

pub fn slice(call: &Call<'_>) -> CallResult {
    let items = items(call, 0)?;
    let (start, end) = (call.int(1)?, call.int(2)?);
    if start < 0 || end < 0 {
        return fault(format!("cannot slice({start}, {end}), negative indexes not supported"));
    }
    if start > end {
        return fault(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    match items.get(range) {
        Some(part) => Some(Ok(Value::List(part.iter().cloned().collect::<List>()))),
        None => fault(format!("cannot slice({start}, {end}), list is length {}", items.len())),
    }
}

pub fn flatten(call: &Call<'_>) -> CallResult {
    let Some(items) = items(call, 0) else {
        let shown = match call.arg(0).cel_type() {
            "map" => "map(dyn, dyn)",
            "optional_type" if call.cx.cel_level.rules().shows_optional_parameter => "optional_type(dyn)",
            other => other,
        };
        let depth = call.args.get(1).map_or("", |v| v.cel_type());
        return fault(format!("no such overload: {shown}.flatten({depth})"));
    };
    let depth = match (call.args.len(), call.arg(1)) {
        (1, _) => 1,
        (_, Value::Int(n)) => *n,
        (_, other) if call.cx.cel_level.rules().counts_faulty_lists => {
            return fault(format!("no such overload: list(dyn).flatten({})", other.cel_type()));
        }
        (_, other) => {
            return fault(format!("internal error: interface conversion: ref.Val is {}", go_type(other)));
        }
    };
    if depth < 0 {
        return fault("level must be non-negative");
    }
    let mut out = Vec::new();
    Some(flatten_into(&mut out, items, depth).map(|()| Value::list(out)))
}

fn flatten_into(out: &mut Vec<Value>, items: &[Value], depth: i64) -> Result<(), Fault> {
    for item in items {
        match item {
            Value::List(inner) if depth > 0 => {
                budget::step()?;
                stack::deep(|| flatten_into(out, inner, depth - 1))?;
            }
            item => out.push(item.clone()),
        }
    }
    limits::items_of(out.len())
}

fn sorted_by(keys: &[Value], items: &[Value]) -> CallResult {
    if let Some(first) = keys.first() {
        if !comparable(first) {
            return fault("list elements must be comparable");
        }
        if keys.iter().any(|k| std::mem::discriminant(k) != std::mem::discriminant(first)) {
            return fault("list elements must have the same type");
        }
    }
    let less = |a: usize, b: usize| match (keys.get(a), keys.get(b)) {
        (Some(a), Some(b)) => order(a, b) == Ok(Ordering::Less),
        _ => false,
    };
    let at = sorted_positions(items.len().min(keys.len()), less);
    Some(Ok(Value::List(at.into_iter().filter_map(|i| items.get(i).cloned()).collect::<List>())))
}

pub fn sort(call: &Call<'_>) -> CallResult {
    match items(call, 0) {
        Some(items) => sorted_by(items, items),
        None if super::operators::has_methods(call.arg(0)) => fault("no such overload"),
        None => fault("no such overload: sort"),
    }
}

pub fn sort_by_keys(call: &Call<'_>) -> CallResult {
    let (Some(input), Some(keys)) = (items(call, 0), items(call, 1)) else {
        return fault("no such overload: @sortByAssociatedKeys");
    };
    if input.len() != keys.len() {
        return fault(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            input.len(),
            keys.len()
        ));
    }
    sorted_by(keys, input)
}

pub fn distinct(call: &Call<'_>) -> CallResult {
    let Some(items) = items(call, 0) else {
        return fault(format!(
            "internal error: interface conversion: {} is not traits.Lister: missing method Contains",
            go_type(call.arg(0))
        ));
    };
    let mut out: Vec<Value> = Vec::new();
    for item in items {
        if let Err(fault) = budget::steps(1 + out.len()) {
            return Some(Err(fault));
        }
        if !out.iter().any(|seen| seen.cel_eq(item)) {
            out.push(item.clone());
        }
    }
    Some(Ok(Value::list(out)))
}

pub fn reverse(call: &Call<'_>) -> CallResult {
    Some(Ok(Value::List(items(call, 0)?.iter().rev().cloned().collect::<List>())))
}

/// How long a list may be that a range makes.
const MAX_RANGE: i64 = 10_000_000;

pub fn range(call: &Call<'_>) -> CallResult {
    let n = call.int(0)?;
    let rules = call.cx.cel_level.rules();
    if n < 0 && rules.refuses_negative_ranges {
        return fault(format!("lists.range: size must be non-negative, got {n}"));
    }
    if let Some(longest) = rules.longest_range.filter(|longest| n > *longest) {
        return fault(format!("lists.range: size {n} exceeds maximum allowed ({longest})"));
    }
    if n > MAX_RANGE {
        return fault("operation cancelled: actual cost limit exceeded");
    }
    Some(Ok(Value::List((0..n).map(Value::Int).collect::<List>())))
}

pub fn first(call: &Call<'_>) -> CallResult {
    Some(Ok(Value::optional(items(call, 0)?.first().cloned())))
}

pub fn last(call: &Call<'_>) -> CallResult {
    Some(Ok(Value::optional(items(call, 0)?.last().cloned())))
}

/// Whether a value is an item of a list, or equal to what is no list.
pub fn includes(call: &Call<'_>) -> CallResult {
    match (call.arg(0), call.arg(1)) {
        (Value::List(list), item) => success(in_list(item, list)),
        (value, other) => success(value.cel_eq(other)),
    }
}

fn in_list(item: &Value, list: &[Value]) -> bool {
    budget::steps(1 + list.len()).is_ok() && list.iter().any(|v| v.cel_eq(item))
}

pub fn sets_contains(call: &Call<'_>) -> CallResult {
    let (a, b) = (items(call, 0)?, items(call, 1)?);
    success(b.iter().all(|v| in_list(v, a)))
}

pub fn sets_equivalent(call: &Call<'_>) -> CallResult {
    let (a, b) = (items(call, 0)?, items(call, 1)?);
    success(a.iter().all(|v| in_list(v, b)) && b.iter().all(|v| in_list(v, a)))
}

pub fn sets_intersects(call: &Call<'_>) -> CallResult {
    let (a, b) = (items(call, 0)?, items(call, 1)?);
    success(a.iter().any(|v| in_list(v, b)))
}

/// As [`index_of`], of lists too, where a start behind the end is a fault.
pub fn index_of_within(call: &Call<'_>) -> CallResult {
    starts_within(call).unwrap_or_else(|| index_of(call))
}

/// As [`last_index_of`], of lists too, where a start behind the end is a fault.
pub fn last_index_of_within(call: &Call<'_>) -> CallResult {
    starts_within(call).unwrap_or_else(|| last_index_of(call))
}

fn starts_within(call: &Call<'_>) -> Option<CallResult> {
    let (text, start) = (call.text(0)?, call.int(2)?);
    let len = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    (start > len).then(|| super::strings::out_of_range(start))
}
