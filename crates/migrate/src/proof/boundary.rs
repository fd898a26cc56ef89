//! Objects on both sides of the boundary between what a policy refuses and what it allows.
//!
//! In: the objects that a comparison evaluated. Out: for each kind the smallest objects that
//! violate the new policy in different ways, each with the most similar one that does not: what
//! tests of a policy consist of. Only objects of new requests by the usual user, for tests know no
//! others, and only those on which old and new agree.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use ephor_compare::{Environment, Judgement, Observer, RequestContext, Side, Verdict};
use ephor_value::Value;
use ephor_value::print::json;

/// The first objects of a kind that are evaluated: they are small.
const FIRST: usize = 600;

/// The most of the others, from everywhere.
const MAX_SPREAD: usize = 1_200;

/// The most violations of a kind.
const MAX_OF_KIND: usize = 3;

/// The objects that a comparison evaluates, some of each kind.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    by_kind: Mutex<BTreeMap<String, OfKind>>,
}

/// Some of the objects of a kind: the first ones, and of the rest each of this many.
#[derive(Debug, Default)]
struct OfKind {
    first: Vec<Value>,
    spread: Vec<Value>,
    count: usize,
    /// Two to this power is how many come between two that are taken.
    step: u32,
}

impl OfKind {
    fn add(&mut self, object: &Value) {
        if self.first.len() < FIRST {
            if !self.first.contains(object) {
                self.first.push(object.clone());
            }
            return;
        }
        if self.count.is_multiple_of(1 << self.step) {
            self.spread.push(object.clone());
        }
        self.count += 1;
        if self.spread.len() >= MAX_SPREAD {
            let mut at = 0;
            self.spread.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.step += 1;
        }
    }
}

impl Observer for Seen {
    fn evaluated(
        &self,
        environment: &Environment,
        object: &Value,
        old: Option<&Value>,
        around: &Arc<RequestContext>,
    ) {
        let is_new = environment.operation == "CREATE" && environment.subresource.is_empty();
        if !is_new || old.is_some() || !around.is_usual() {
            return;
        }
        let key = format!("{} {}", environment.api_version(), environment.name());
        let mut all = self.by_kind.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(key).or_default().add(object);
    }
}

impl Seen {
    /// The objects at the boundary.
    pub fn boundary(self, sides: [&Side; 2]) -> Vec<Value> {
        let all = self.by_kind.into_inner().unwrap_or_else(PoisonError::into_inner);
        let objects = |of: OfKind| of.first.into_iter().chain(of.spread).collect();
        all.into_values().flat_map(|of| of_kind(objects(of), sides)).collect()
    }
}

/// The objects of one kind at the boundary.
fn of_kind(mut objects: Vec<Value>, [old, new]: [&Side; 2]) -> Vec<Value> {
    objects.sort_by_cached_key(|object| {
        let text = json(object);
        (text.len(), text)
    });
    objects.dedup();
    let (mut bad, mut good): (Vec<(Value, Judgement)>, Vec<Value>) = Default::default();
    for object in objects {
        let judged = [old, new].map(|side| side.judge_object(&object, "CREATE").unwrap_or_default());
        let [before, after] = judged;
        if before.verdict.is_violation() != after.verdict.is_violation() {
            continue;
        }
        match after.verdict {
            Verdict::Fail => {
                let is_known = bad.iter().any(|(_, known)| known.message == after.message);
                if !is_known && bad.len() < MAX_OF_KIND {
                    bad.push((object, after));
                }
            }
            Verdict::Pass => good.push(object),
            Verdict::Skip | Verdict::Error => {}
        }
    }
    let mut out: Vec<Value> = Vec::new();
    for (object, _) in bad {
        let near = good.iter().min_by_key(|other| distance(&object, other)).cloned();
        for one in [Some(object), near].into_iter().flatten() {
            if !out.contains(&one) {
                out.push(one);
            }
        }
    }
    out
}

/// In how many fields two values differ.
fn distance(a: &Value, b: &Value) -> usize {
    match (a, b) {
        (Value::Map(a), Value::Map(b)) => {
            let other: HashMap<&str, &Value> = b.iter().map(|(key, value)| (&**key, value)).collect();
            let own =
                a.iter().map(|(key, value)| other.get(&**key).map_or(size(value), |o| distance(value, o)));
            let more = b.iter().filter(|(key, _)| a.get(key).is_none()).map(|(_, value)| size(value));
            own.chain(more).sum()
        }
        (Value::List(a), Value::List(b)) => {
            let common: usize = a.iter().zip(b.iter()).map(|(a, b)| distance(a, b)).sum();
            let rest = a.iter().skip(b.len()).chain(b.iter().skip(a.len())).map(size);
            common + rest.sum::<usize>()
        }
        _ => usize::from(a != b),
    }
}

/// How many fields a value has.
fn size(value: &Value) -> usize {
    match value {
        Value::Map(map) => 1 + map.iter().map(|(_, value)| size(value)).sum::<usize>(),
        Value::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_distance_counts_fields() {
        let of = |a: &str, b: &str| {
            distance(&ephor_document::yaml_value(a).unwrap(), &ephor_document::yaml_value(b).unwrap())
        };
        assert_eq!(of("{a: 1, b: [x]}", "{a: 1, b: [x]}"), 0);
        assert_eq!(of("{a: 1, b: [x]}", "{a: 2, b: [x, y]}"), 2);
        assert_eq!(of("{a: 1}", "{c: {d: 1}}"), 3);
    }
}
