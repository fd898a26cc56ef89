//! The field that decided, of those that were read.
//!
//! In: a decision on computed values, with the addresses of what was read for it. Out: the path of
//! the read value that decides alone, or else of the part that all reads have in common.

use ephor_engine::error::EntryError;
use ephor_engine::trace::{self, DataError, Event, EventKind, Step, TracedValue};
use ephor_ir::condition::{Operator, Prepared};
use ephor_ir::{Expr, operator, walk};
use ephor_value::place::{Path, PathPart, follow};
use ephor_value::{Fault, Value};

use super::{of_element, path_of_read, texts_of};

/// The field that decided.
pub(super) fn decisive(event: &Event, before: &[&Event], object: &Value) -> Option<Path> {
    let element = before.iter().rev().find_map(|event| match &event.what {
        EventKind::Element(_, element) => Some((element, of_element(event, object)?)),
        _ => None,
    });
    let element = element.as_ref().map(|(element, path)| (*element, path));
    if matches!(&event.what, EventKind::Expression(_, Err(Fault::NotFound(_)), _)) {
        // What is missing elsewhere is no part of the object.
        return None;
    }
    if let EventKind::Failed(text) = &event.what
        && before.iter().any(|event| is_call_that_fails(event, text))
    {
        return None;
    }
    let mut found = paths(&event.reads, element, object);
    if found.is_empty() {
        let of_event = |event: &&Event| match &event.what {
            EventKind::Data(..) => Some(paths(&event.reads, element, object)),
            EventKind::Element(..) => match of_element(event, object) {
                Some(path) => Some(vec![path]),
                None => Some(paths(&event.reads, None, object)),
            },
            _ => None,
        };
        found = before.iter().rev().filter_map(of_event).find(|paths| !paths.is_empty())?;
    }
    if let EventKind::Condition { key, operator, value, .. } = &event.what
        && let Some(operator) = Operator::parse(operator)
    {
        let right = Prepared::new(operator, value.clone());
        let alone = |path: &&Path| {
            let (value, followed) = follow(object, path);
            followed == path.len() && operator::holds(operator, value, &right)
        };
        let deciding = deciding(operator, (&key.value, &right));
        if let Some(path) = deciding.iter().find_map(|item| of_item(item, event, &found, object)) {
            return Some(path);
        }
        if let Some(path) = event.steps.iter().find_map(|step| of_member(step, &found, object)) {
            return Some(path);
        }
        if let Some(path) = found.iter().find(alone) {
            return Some(path.clone());
        }
    }
    let (first, rest) = found.split_first()?;
    let common = rest.iter().fold(first.len(), |common, path| {
        first.iter().zip(path).take(common).take_while(|(a, b)| a == b).count()
    });
    match &event.what {
        // An expression ends where it is decided.
        EventKind::Expression(..) => found.last().cloned(),
        _ if common > 1 => first.get(..common).map(<[_]>::to_vec),
        _ => Some(first.clone()),
    }
}

/// Whether a text repeats why an API or a service could not be called: what that gives is no part
/// of the object, although its address may name parts.
fn is_call_that_fails(event: &Event, text: &str) -> bool {
    match &event.what {
        EventKind::Data(_, Err(DataError::Entry(error))) => {
            matches!(**error, EntryError::ApiCall(_)) && text.contains(&error.to_string())
        }
        _ => false,
    }
}

/// Whether a step reads a key of something that is null and no part of the object, such as an
/// object that was not found.
pub(super) fn is_missing_elsewhere(step: &Step, object: &Value) -> bool {
    let (Expr::Walk(walk), Err(Fault::NotFound(_))) = (&step.expr, &step.value) else { return false };
    let base = step.operands.iter().rev().find(|(expr, _)| *expr == walk.base);
    let is_elsewhere = |seen: &TracedValue| {
        seen.value.is_null() && trace::path_of_value(object, seen).is_none_or(|path| path.is_empty())
    };
    base.is_some_and(|(_, value)| value.as_ref().is_ok_and(is_elsewhere))
}

/// The items of the lists that a condition compares for which alone it holds too, each with its
/// list.
fn deciding<'v>(operator: Operator, (key, right): (&'v Value, &'v Prepared)) -> Vec<DecidingItem<'v>> {
    let one = |item: &Value| Value::List(vec![item.clone()].into());
    // Some operators take an item by itself for another question than a list with it.
    let of_key =
        |item: &Value| [item, &one(item)].into_iter().any(|item| operator::holds(operator, item, right));
    let is_of = |value: Value| operator::holds(operator, key, &Prepared::new(operator, value));
    // What holds for no items does not hold because of one.
    let is_of_items = !is_of(Value::list(Vec::new()));
    let of_value = |item: &Value| is_of_items && is_of(one(item));
    let items = |list: &'v Value, is_needed: bool| {
        let all = list.as_list().unwrap_or_default();
        all.iter().map(move |item| DecidingItem { item, all, is_needed })
    };
    let needs_keys = !operator::holds(operator, &Value::list(Vec::new()), right);
    let of_key = items(key, needs_keys).filter(|found| of_key(found.item));
    of_key.chain(items(&right.value, is_of_items).filter(|found| of_value(found.item))).collect()
}

/// An item of a list for which alone a condition holds.
struct DecidingItem<'v> {
    item: &'v Value,
    all: &'v [Value],
    /// Whether the condition does not hold for an empty list.
    is_needed: bool,
}

/// Where an item of a computed list was read: a part of the object, a key of a map, a text, or what
/// the round of a projection read that computed it.
fn of_item(deciding: &DecidingItem<'_>, event: &Event, found: &[Path], object: &Value) -> Option<Path> {
    let DecidingItem { item, all, is_needed } = deciding;
    let Some(text) = item.as_str() else {
        let computed = TracedValue::computed((*item).clone());
        let is_of_item = |step: &&Step| step.value.as_ref().is_ok_and(|seen| seen.value.strict_eq(item));
        let of_step = |step: &Step| of_round(step, found, object);
        return trace::path_of_value(object, &computed)
            .filter(|path| !path.is_empty())
            .or_else(|| event.steps.iter().filter(is_of_item).find_map(of_step));
    };
    // Of a list of keys each item is one.
    let holds_all = |path: &&Path| {
        let map = follow(object, path).0.as_map();
        map.is_some_and(|map| all.iter().all(|key| key.as_str().is_some_and(|key| map.get(key).is_some())))
    };
    // Where the lack of a key decides, none of those that are there does.
    let of_key = found.iter().filter(|_| *is_needed).find(holds_all).map(|path| with_key(path, text));
    of_key.or_else(|| path_of_read(object, found, text))
}

/// What a round of a projection read: a part of the object, or a text that was read.
fn of_round(step: &Step, found: &[Path], object: &Value) -> Option<Path> {
    let is_found = |path: &Path| found.iter().any(|read| read.starts_with(path) || path.starts_with(read));
    let parts = step.reads.iter().filter_map(|address| trace::path_of(object, *address));
    let part = parts.filter(|path| !path.is_empty() && is_found(path)).max_by_key(Vec::len);
    part.or_else(|| texts_of(step).find_map(|text| path_of_read(object, found, text)))
}

/// Of a list that a step reads the item that is equal to another operand, where it was read.
fn of_member(step: &Step, found: &[Path], object: &Value) -> Option<Path> {
    let operands = || step.operands.iter().filter_map(|(_, value)| Some(&value.as_ref().ok()?.value));
    let has = |text: &str| {
        let is_text = |item: &Value| item.as_str() == Some(text);
        operands().filter_map(Value::as_list).any(|items| items.iter().any(is_text))
    };
    operands()
        .filter_map(Value::as_str)
        .find(|text| has(text))
        .and_then(|text| path_of_read(object, found, text))
}

/// The key that a step is about, of the maps that were read: an expression may go through keys.
pub(super) fn key_of_step(step: &Step, reads: &[usize], object: &Value) -> Option<Path> {
    let mut maps: Vec<Path> = reads.iter().filter_map(|address| trace::path_of(object, *address)).collect();
    maps.sort_by_key(|path| std::cmp::Reverse(path.len()));
    let has = |path: &&Path, text: &str| follow(object, path).0.get(text).is_some();
    texts_of(step).find_map(|text| Some(with_key(maps.iter().find(|path| has(path, text))?, text)))
}

fn with_key(path: &[PathPart], key: &str) -> Path {
    path.iter().cloned().chain([PathPart::Key(key.into())]).collect()
}

/// Whether steps read the composed variable of an event.
pub(super) fn reads_variable(steps: &[Step], event: &Event) -> bool {
    let Some(position) = event.origin.path.rsplit_once("variables[") else { return false };
    let Some(position) = position.1.split(']').next().and_then(|n| n.parse::<u32>().ok()) else {
        return false;
    };
    let mut found = false;
    let mut look = |expr: &Expr| found |= matches!(expr, Expr::Variable(n) if *n == position);
    for step in steps {
        look(&step.expr);
        walk::children(&step.expr, &mut |child, _| look(child));
        step.operands.iter().for_each(|(expr, _)| look(expr));
    }
    found
}

/// The paths of what was read, in the order of the reads, without those of what is around other
/// reads. What was read of a copy of an element is the same part of the element.
pub(super) fn paths(reads: &[usize], element: Option<(&TracedValue, &Path)>, object: &Value) -> Vec<Path> {
    let of_copy = |address: usize| {
        let (copy, path) = element?;
        let below = trace::path_of(&copy.value, address)?;
        Some([path.as_slice(), below.as_slice()].concat())
    };
    let path = |address: &usize| trace::path_of(object, *address).or_else(|| of_copy(*address));
    let all: Vec<Path> = reads.iter().filter_map(path).filter(|path| !path.is_empty()).collect();
    let is_around = |path: &Path| all.iter().any(|other| other.len() > path.len() && other.starts_with(path));
    let mut out: Vec<Path> = Vec::new();
    for path in &all {
        if !is_around(path) && !out.contains(path) {
            out.push(path.clone());
        }
    }
    out
}
