//! Conditions: those whose result is known before any request go, together with those that are
//! never reached.
//!
//! A condition with a message stays, so does everything before the one that decides:
//! its variables may fail, and the failure comes first.

use super::template::template;
use crate::{Condition, Conditions, operator};

/// Optimises conditions.
pub fn conditions(c: Conditions) -> Conditions {
    let c = Conditions { any: c.any.map(each), all: each(c.all), ..c };
    Conditions { any: c.any.map(|any| decided(any, true)), all: decided(c.all, false), ..c }
}

/// Whether the conditions hold for every request, without a message.
pub fn always_hold(c: &Conditions) -> bool {
    c.any.is_none() && c.all.is_empty()
}

fn each(items: Box<[Condition]>) -> Box<[Condition]> {
    items.into_vec().into_iter().map(condition).collect()
}

fn condition(c: Condition) -> Condition {
    let c = Condition { key: template(c.key), value: template(c.value), ..c };
    if c.prepared.is_some() { c } else { c.with_prepared() }
}

/// The result of a condition that is the same for every request.
fn result(c: &Condition) -> Option<bool> {
    Some(operator::holds(c.operator?, c.key.as_const()?, c.prepared.as_ref()?))
}

/// Cuts a list behind the condition that ends it (`ends` is the result that does), and takes out
/// those before it that say nothing.
fn decided(items: Box<[Condition]>, ends: bool) -> Box<[Condition]> {
    let mut out = Vec::with_capacity(items.len());
    for c in items.into_vec() {
        match result(&c) {
            Some(r) if r == ends => {
                out.push(c);
                break;
            }
            Some(_) if c.message.is_empty() => {}
            _ => out.push(c),
        }
    }
    out.into()
}
