//! The field that decided, of those that were read.
//!
//! In: a decision on computed values, with the addresses of what was read for it. Out: the path of the read value that decides alone, or else of the
//! part that all reads have in common.

use crate::engine::trace::{self, Event, EventKind, Step, TracedValue};
use crate::ir::condition::{Operator, Prepared};
use crate::ir::{Expr, operator, walk};
use crate::value::place::{Path, follow};
use crate::value::{Fault, Value};

use super::{of_element, path_of_read};

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
        // Of a list that was computed the item that decides alone, where it was read.
        let items = key.value.as_list().unwrap_or_default().iter();
        // Some operators take an item by itself for another question than a list with it.
        let holds = |value: &Value| operator::holds(operator, value, &right);
        let mut deciding =
            items.filter(|item| holds(item) || holds(&Value::List(vec![(*item).clone()].into())));
        if let Some(path) = deciding.find_map(|item| path_of_read(object, &found, item.as_str()?)) {
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

/// The paths of what was read, in the order of the reads, without those of what is around other reads. What was read of a copy of an element is the same
/// part of the element.
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
