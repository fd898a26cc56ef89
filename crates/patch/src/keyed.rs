//! Lists in a strategic merge.
//!
//! A list is replaced as a whole unless its schema says otherwise. Sets are united, the patch's
//! items first. Lists of objects with keys are merged item by item: the patch's items first in its
//! order, then the others. Items that lack a key are handled as Kyverno 1.19.1's library handles
//! them, which drops some (`docs/semantics/mutate.md`, "Lists with keys"): policies depend on the
//! results.

use std::collections::HashSet;

use ephor_value::number::float_json;
use ephor_value::{List, Map, Value, budget};

use super::merge::{DIRECTIVE, Directive, MergeError, Mode, directive, node, settle, wrong_kind};
use super::schema::Schema;

/// A walk over this many items.
fn bounded(items: usize) -> Result<(), MergeError> {
    Ok(budget::steps(1 + items)?)
}

/// The text of a scalar; collections and null have none.
pub fn text(v: &Value) -> String {
    match v {
        Value::Str(s) => s.to_string(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Float(f) => float_json(*f),
        Value::Bool(b) => b.to_string(),
        Value::Null => "null".into(),
        _ => String::new(),
    }
}

/// Merges lists; `None` when the list goes.
pub fn lists(
    dest: &List,
    patch: Option<&List>,
    schema: Schema,
    mode: Mode,
    depth: usize,
) -> Result<Option<Value>, MergeError> {
    let (dest, patch, mode) = match (schema, patch) {
        (Schema::Set | Schema::Keyed(..), Some(p)) => match list_directive(p)? {
            Some((Directive::Delete, _)) => return Ok(None),
            Some((Directive::Replace, rest)) => (rest.clone(), Some(rest), Mode::Itself),
            Some((Directive::Merge, rest)) if mode == Mode::Itself => (rest.clone(), Some(rest), mode),
            Some((Directive::Merge, rest)) => (dest.clone(), Some(rest), mode),
            None => (dest.clone(), Some(p.clone()), mode),
        },
        (_, p) => (dest.clone(), p.cloned(), mode),
    };
    merged(dest, patch, schema, mode, depth)
}

/// A list where there was none: merged into itself, a directive in it means nothing.
pub fn new_list(patch: &List, schema: Schema, depth: usize) -> Result<Option<Value>, MergeError> {
    merged(patch.clone(), Some(patch.clone()), schema, Mode::Itself, depth)
}

fn merged(
    dest: List,
    patch: Option<List>,
    schema: Schema,
    mode: Mode,
    depth: usize,
) -> Result<Option<Value>, MergeError> {
    match schema {
        Schema::Set => united(&dest, patch.as_ref()).map(Some),
        Schema::Keyed(keys, item) => {
            let (keys, items) = (Vec::from_iter(keys.iter().map(|k| &**k)), Schema::of(item));
            if patch.is_none() && regular(&dest, &keys) {
                return settled(&dest, items, depth).map(Some);
            }
            let patch = patch.unwrap_or_default();
            let list = Keyed { keys: &keys, items, mode, depth };
            list.merge(dest.to_vec(), &patch).map(|items| Some(Value::list(items)))
        }
        _ => Ok(Some(Value::List(patch.unwrap_or(dest)))),
    }
}

/// The directive that a list holds as an item of its own, and the other items.
fn list_directive(patch: &List) -> Result<Option<(Directive, List)>, MergeError> {
    let Some(at) = patch.iter().position(|v| v.get(DIRECTIVE).is_some()) else { return Ok(None) };
    let Some(Value::Map(m)) = patch.get(at) else { return Ok(None) };
    if m.len() > 1 {
        return Ok(None);
    }
    let word = directive(m.get(DIRECTIVE).unwrap_or(&Value::Null))?;
    let rest = patch.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, v)| v.clone()).collect();
    Ok(Some((word, rest)))
}

/// Items are the same when their texts are; that of the object counts, in the place of the patch's.
/// An item that is no scalar fails as soon as another one is put next to it.
fn united(dest: &List, patch: Option<&List>) -> Result<Value, MergeError> {
    let counts = |v: &&Value| !dropped(v) && !is_directive(v);
    let mut items: Vec<Value> = Vec::new();
    let mut put = |item: &Value| -> Result<(), MergeError> {
        bounded(items.len())?;
        if let Some(other) = items.iter().find(|v| matches!(v, Value::Map(_) | Value::List(_))) {
            return Err(wrong_kind(&Value::Null, other));
        }
        match items.iter_mut().find(|known| text(known) == text(item)) {
            Some(known) => *known = item.clone(),
            None => items.push(item.clone()),
        }
        Ok(())
    };
    let mut seen: HashSet<String> = HashSet::new();
    for item in patch.into_iter().flat_map(|p| p.iter()).chain(dest.iter()).filter(counts) {
        if seen.insert(text(item)) {
            put(item)?;
        }
    }
    dest.iter().filter(counts).try_for_each(put)?;
    Ok(Value::list(items))
}

/// An object that is nothing but a directive.
fn is_directive(v: &Value) -> bool {
    v.as_map().is_some_and(|m| m.len() == 1 && m.get(DIRECTIVE).is_some_and(|w| directive(w).is_ok()))
}

/// Whether all items are objects that have all keys and differ in them: the merge leaves them as
/// they are.
fn regular(items: &[Value], keys: &[&str]) -> bool {
    let tuples: Option<Vec<Vec<String>>> = items
        .iter()
        .map(|item| {
            let texts = keys.iter().map(|k| item.get(k).map(text).filter(|t| !t.is_empty() && t != "null"));
            texts.collect()
        })
        .collect();
    let mut seen = HashSet::new();
    tuples.is_some_and(|t| t.into_iter().all(|tuple| seen.insert(tuple)))
}

fn settled(items: &List, schema: Schema, depth: usize) -> Result<Value, MergeError> {
    let mut out = None;
    for (at, old) in items.iter().enumerate() {
        let new = settle(old, schema, depth + 1)?;
        if !new.strict_eq(old)
            && let Some(slot) = out.get_or_insert_with(|| items.clone()).make_mut().get_mut(at)
        {
            *slot = new;
        }
    }
    Ok(Value::List(out.unwrap_or_else(|| items.clone())))
}

/// The values of an item's keys; `""` for one that it lacks.
type Tuple = Vec<String>;

/// A list of objects with keys.
struct Keyed<'k> {
    keys: &'k [&'k str],
    items: Schema,
    mode: Mode,
    depth: usize,
}

/// The text of a key, `""` where the item has none.
fn key_text(item: &Value, key: &str) -> String {
    match item.get(key) {
        None | Some(Value::Null) => String::new(),
        Some(v) => text(v),
    }
}

fn dropped(item: &Value) -> bool {
    item.is_null() || item.as_map().is_some_and(Map::is_empty)
}

impl Keyed<'_> {
    fn merge(&self, mut dest: Vec<Value>, patch: &[Value]) -> Result<Vec<Value>, MergeError> {
        let tuples = self.tuples(patch, &dest);
        let mut patch = patch.to_vec();
        let mut out = Vec::new();
        let mut valid: Vec<usize> = Vec::new();
        for tuple in &tuples {
            bounded(dest.len() + patch.len() + out.len())?;
            valid = (0..self.keys.len())
                .filter(|k| tuples.iter().any(|t| t.get(*k).is_some_and(|v| !v.is_empty())))
                .collect();
            if valid.is_empty() {
                valid = (0..self.keys.len()).collect();
            }
            let keys: Vec<&str> = valid.iter().filter_map(|k| self.keys.get(*k).copied()).collect();
            let values: Vec<&str> = valid.iter().filter_map(|k| tuple.get(*k).map(String::as_str)).collect();
            self.one(&keys, &values, &mut dest, &mut patch, &mut out)?;
        }
        if tuples.is_empty() {
            return Ok(dest);
        }
        let keys: Vec<&str> = valid.iter().filter_map(|k| self.keys.get(*k).copied()).collect();
        append_all(&mut out, &dest, &keys)?;
        Ok(out)
    }

    /// Merges the items of one tuple.
    fn one(
        &self,
        keys: &[&str],
        values: &[&str],
        dest: &mut Vec<Value>,
        patch: &mut [Value],
        out: &mut Vec<Value>,
    ) -> Result<(), MergeError> {
        let in_dest = position(dest, keys, values);
        let in_patch = position(patch, keys, values);
        let replaces = in_patch
            .and_then(|at| patch.get(at))
            .and_then(|v| v.get(DIRECTIVE))
            .is_some_and(|w| directive(w) == Ok(Directive::Replace));
        let merged = node(
            in_dest.and_then(|at| dest.get(at)),
            in_patch.and_then(|at| patch.get(at)),
            self.items,
            self.mode,
            self.depth + 1,
        )?;
        // A directive is taken away when it is obeyed: the item may come again, as an ordinary one.
        if let Some(Value::Map(m)) = in_patch.and_then(|at| patch.get_mut(at)) {
            m.remove(DIRECTIVE);
        }
        let Some(mut merged) = merged.filter(|v| !dropped(v)) else {
            return set(dest, keys, values, None);
        };
        if let Value::Map(m) = &mut merged {
            for (key, value) in keys.iter().zip(values) {
                if !value.is_empty() && !m.contains_key(key) {
                    m.insert(*key, plain_scalar(value));
                }
            }
        }
        // Merging is in place: the item of the list is changed as well, unless it was replaced.
        if let Some(slot) = in_dest.filter(|_| !replaces).and_then(|at| dest.get_mut(at)) {
            *slot = merged.clone();
        }
        if self.mode == Mode::Itself
            && let Some(slot) = in_patch.and_then(|at| patch.get_mut(at))
        {
            *slot = merged.clone();
        }
        set(out, keys, values, Some(merged))
    }

    /// The distinct tuples, those of the patch first. With several keys, tuples that agree in one
    /// and of which one lacks the others become one.
    fn tuples(&self, patch: &[Value], dest: &[Value]) -> Vec<Tuple> {
        let mut tuples: Vec<Tuple> = Vec::new();
        let mut seen: HashSet<Tuple> = HashSet::new();
        for item in patch.iter().chain(dest) {
            let tuple: Tuple = self.keys.iter().map(|k| key_text(item, k)).collect();
            if seen.insert(tuple.clone()) {
                tuples.push(tuple);
            }
        }
        if self.keys.len() < 2 {
            return tuples;
        }
        for i in 0..tuples.len() {
            if bounded(tuples.len()).is_err() {
                break;
            }
            let Some(of_i) = tuples.get(i).cloned() else { break };
            for j in 0..tuples.len() {
                let Some(of_j) = tuples.get(j).cloned() else { break };
                let some_equal = of_i.iter().zip(&of_j).any(|(a, b)| a == b);
                let fits = of_i.iter().zip(&of_j).all(|(a, b)| a == b || a.is_empty() || b.is_empty());
                if i == j || !some_equal || !fits {
                    continue;
                }
                let both: Tuple =
                    of_i.iter().zip(of_j).map(|(a, b)| if a.is_empty() { b } else { a.clone() }).collect();
                for at in [i, j] {
                    if let Some(slot) = tuples.get_mut(at) {
                        slot.clone_from(&both);
                    }
                }
            }
        }
        tuples
    }
}

/// A text as a scalar without quotes.
fn plain_scalar(text: &str) -> Value {
    ephor_document::yaml_value(text).unwrap_or_else(|_| Value::from(text))
}

/// The first object that has every key with a value, and with this text; without any value, every
/// key.
fn position(items: &[Value], keys: &[&str], values: &[&str]) -> Option<usize> {
    let some = values.iter().any(|v| !v.is_empty());
    items.iter().position(|item| {
        let Value::Map(m) = item else { return false };
        keys.iter().zip(values).filter(|(_, v)| !some || !v.is_empty()).all(|(key, value)| match m.get(key) {
            None => false,
            Some(Value::Map(_) | Value::List(_)) if value.is_empty() => true,
            Some(v) => text(v) == **value,
        })
    })
}

/// Replaces every item that has these keys, or removes it without `item`; adds `item` when there is
/// none. An empty value is had by every item that has the key.
fn set(list: &mut Vec<Value>, keys: &[&str], values: &[&str], item: Option<Value>) -> Result<(), MergeError> {
    let mut found = false;
    let mut out = Vec::with_capacity(list.len() + 1);
    for x in list.drain(..) {
        if dropped(&x) {
            continue;
        }
        let Value::Map(m) = &x else {
            let first = |texts: &[&str]| texts.first().is_some_and(|t| !t.is_empty());
            if !(first(keys) && first(values)) {
                return Err(wrong_kind(&Value::Map(Map::new()), &x));
            }
            out.push(x);
            continue;
        };
        let matches = !values.is_empty()
            && keys.iter().zip(values).all(|(key, value)| match m.get(key) {
                None => false,
                Some(v) => value.is_empty() || text(v) == **value,
            });
        if matches {
            found = true;
            out.extend(item.clone());
        } else if !values.is_empty() {
            out.push(x);
        }
    }
    if !found {
        out.extend(item);
    }
    *list = out;
    Ok(())
}

fn append_all(out: &mut Vec<Value>, dest: &[Value], keys: &[&str]) -> Result<(), MergeError> {
    for item in dest {
        bounded(out.len())?;
        if !matches!(item, Value::Map(_) | Value::Null) {
            return Err(wrong_kind(&Value::Map(Map::new()), item));
        }
        let mut values: Vec<String> = Vec::new();
        for key in keys {
            match item.get(key) {
                None | Some(Value::Null) => out.push(item.clone()),
                Some(v) => values.push(text(v)),
            }
        }
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        if keys.len() > 1 {
            set(out, keys, &values, None)?;
        }
        set(out, keys, &values, Some(item.clone()))?;
    }
    Ok(())
}
