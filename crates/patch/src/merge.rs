//! Strategic merge: a patch document laid over an object.
//!
//! In: an object and a patch that holds neither variables nor anchors. Out: the merged object.
//! Objects are merged key by key, null removes, lists are replaced unless their schema says that
//! their items have keys (`super::keyed`); `$patch` in an object says otherwise. The object's keys
//! keep their order, new ones follow in the patch's. Semantics: `docs/semantics/mutate.md`,
//! "Merge", which is that of the reference's merge library down to its oddities.

use std::collections::HashMap;

use ephor_value::print::display;
use ephor_value::{Fault, Map, Str, Value, budget, stack};

use super::MAX_DEPTH;
use super::keyed;
use super::schema::Schema;

/// The key under which a patch says how it is applied.
pub const DIRECTIVE: &str = "$patch";

/// Why documents cannot be merged, in the words of the merge library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// Nodes of different kinds meet.
    #[error("wrong node kind: expected {expected} but got {got}: node contents:\n{contents}\n")]
    Kind {
        /// What the library calls the kind that belongs there.
        expected: &'static str,
        /// What it calls the kind that is there.
        got: &'static str,
        /// The node that is there.
        contents: Box<str>,
    },
    /// A directive that is none of the three words.
    #[error("unknown patch strategy '{0}'")]
    Directive(Box<str>),
    /// The documents nest too deeply.
    #[error("the documents nest too deeply")]
    TooDeep,
    /// The evaluation ended before the merge did.
    #[error(transparent)]
    Budget(#[from] Fault),
}

/// Lays a patch over an object.
///
/// # Errors
/// Nodes of different kinds meet, a directive is unknown, or the documents nest too deeply.
pub fn merge(object: &Value, patch: &Value) -> Result<Value, MergeError> {
    let merged = node(Some(object), Some(patch), Schema::Unknown, Mode::Over, 0)?;
    Ok(merged.unwrap_or_default())
}

/// What a directive says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Nothing, or that it is merged.
    Merge,
    /// What is there is removed.
    Delete,
    /// What is there is replaced.
    Replace,
}

/// Reads a directive.
///
/// # Errors
/// It is none of the three words.
pub fn directive(written: &Value) -> Result<Directive, MergeError> {
    match written {
        Value::Str(s) if &**s == "merge" => Ok(Directive::Merge),
        Value::Str(s) if &**s == "delete" => Ok(Directive::Delete),
        Value::Str(s) if &**s == "replace" => Ok(Directive::Replace),
        other => Err(MergeError::Directive(display(other).into())),
    }
}

/// What is merged into what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A patch into what is there.
    Over,
    /// A patch into itself, because there is nothing: nulls go and directives inside are obeyed.
    Itself,
}

/// Merges a node; `None` when nothing is left of it.
pub fn node(
    dest: Option<&Value>,
    patch: Option<&Value>,
    schema: Schema,
    mode: Mode,
    depth: usize,
) -> Result<Option<Value>, MergeError> {
    if depth > MAX_DEPTH {
        return Err(MergeError::TooDeep);
    }
    let schema = known(schema, dest, patch);
    let there = dest.filter(|v| !v.is_null());
    let wanted = patch.filter(|v| !v.is_null());
    match (there, wanted) {
        // A null that the patch does not mention stays.
        (None, None) if patch.is_none() => Ok(dest.cloned()),
        (None, None) => Ok(None),
        (Some(Value::Map(d)), Some(Value::Map(p))) => objects(d, p, schema, mode, depth),
        (Some(Value::List(d)), Some(Value::List(p))) => {
            let d = if mode == Mode::Itself { p } else { d };
            keyed::lists(d, Some(p), schema, mode, depth)
        }
        (Some(d), Some(p)) if scalar(d) && scalar(p) => Ok(Some(p.clone())),
        (Some(d), Some(p)) => Err(wrong_kind(d, p)),
        (None, Some(p @ Value::Map(m))) => {
            if let Some(written) = m.get(DIRECTIVE)
                && let Ok(word) = directive(written)
            {
                return match word {
                    Directive::Delete => Ok(None),
                    _ => adopt(&without_directive(m), schema, depth),
                };
            }
            adopt(p, schema, depth)
        }
        (None, Some(Value::List(p))) => keyed::new_list(p, schema, depth),
        (None, Some(p)) => Ok(Some(p.clone())),
        (Some(_), None) if patch.is_some() => Ok(None),
        (Some(d), None) => settle(d, schema, depth).map(Some),
    }
}

/// A schema is handed down; where there is none, an object may say what it is.
fn known(schema: Schema, dest: Option<&Value>, patch: Option<&Value>) -> Schema {
    if !matches!(schema, Schema::Unknown) {
        return schema;
    }
    let says = |v: &&Value| !v.text_at(&["kind"]).is_empty() && !v.text_at(&["apiVersion"]).is_empty();
    [dest, patch].into_iter().flatten().find(says).map_or(Schema::Unknown, Schema::of_object)
}

fn scalar(v: &Value) -> bool {
    !matches!(v, Value::Map(_) | Value::List(_))
}

fn without_directive(m: &Map) -> Value {
    let mut m = m.clone();
    m.remove(DIRECTIVE);
    Value::Map(m)
}

/// Merges a patch into itself.
fn adopt(patch: &Value, schema: Schema, depth: usize) -> Result<Option<Value>, MergeError> {
    let Value::Map(m) = patch else { return Ok(Some(patch.clone())) };
    members(m, m, schema, Mode::Itself, depth).map(Some)
}

fn objects(
    dest: &Map,
    patch: &Map,
    schema: Schema,
    mode: Mode,
    depth: usize,
) -> Result<Option<Value>, MergeError> {
    let Some(written) = patch.get(DIRECTIVE) else {
        return members(dest, patch, schema, mode, depth).map(Some);
    };
    let word = directive(written)?;
    let Value::Map(patch) = without_directive(patch) else { return Ok(None) };
    match word {
        Directive::Delete => Ok(None),
        Directive::Replace => members(&patch, &patch, schema, Mode::Itself, depth).map(Some),
        Directive::Merge if mode == Mode::Itself => members(&patch, &patch, schema, mode, depth).map(Some),
        Directive::Merge => members(dest, &patch, schema, mode, depth).map(Some),
    }
}

/// Merges objects key by key. Keys are worked on in ascending order, which decides which of several
/// failures is returned.
fn members(dest: &Map, patch: &Map, schema: Schema, mode: Mode, depth: usize) -> Result<Value, MergeError> {
    nameless(dest)?;
    if patch.contains_key("") {
        return Err(wrong_kind(&Value::Null, &Value::Map(dest.clone())));
    }
    let mut keys: Vec<&Str> = dest.keys().chain(patch.keys().filter(|k| !dest.contains_key(k))).collect();
    keys.sort_unstable();
    budget::steps(keys.len())?;
    let mut out = dest.clone();
    let mut added: HashMap<&Str, Value> = HashMap::new();
    for key in keys {
        let (old, new) = (dest.get(key), patch.get(key));
        let merged = stack::deep(|| node(old, new, schema.field(key), mode, depth + 1))?;
        match (old, merged) {
            (None, merged) => added.extend(merged.map(|v| (key, v))),
            (Some(_), None) => {
                out.remove(key);
            }
            (Some(old), Some(merged)) => {
                let merged = if new.is_some() { in_style_of(old, merged) } else { merged };
                if new.is_some() || !shares(old, &merged) {
                    out.insert(key.clone(), merged);
                }
            }
        }
    }
    for key in patch.keys() {
        if let Some(value) = added.remove(key) {
            out.insert(key.clone(), value);
        }
    }
    Ok(Value::Map(out))
}

/// The merge library cannot name the empty key.
fn nameless(m: &Map) -> Result<(), MergeError> {
    if m.contains_key("") { Err(wrong_kind(&Value::Null, &Value::Map(m.clone()))) } else { Ok(()) }
}

/// Whether both are the same scalar.
fn shares(a: &Value, b: &Value) -> bool {
    scalar(a) && a.strict_eq(b)
}

/// A number or truth value in the place of a text becomes a text: the new scalar is written with
/// the quotes of the old one (the reference's behaviour).
fn in_style_of(old: &Value, new: Value) -> Value {
    match (old, &new) {
        (Value::Str(_), Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Bool(_)) => {
            Value::from(keyed::text(&new))
        }
        _ => new,
    }
}

/// What a patch does not mention is walked all the same: lists with keys lose what the algorithm
/// drops.
pub fn settle(value: &Value, schema: Schema, depth: usize) -> Result<Value, MergeError> {
    match value {
        Value::Map(m) if !m.is_empty() => {
            nameless(m)?;
            let schema = known(schema, Some(value), None);
            let mut out = None;
            for (key, old) in m.iter().filter(|(_, v)| !scalar(v)) {
                if depth > MAX_DEPTH {
                    return Err(MergeError::TooDeep);
                }
                let new = stack::deep(|| settle(old, schema.field(key), depth + 1))?;
                if !new.strict_eq(old) {
                    out.get_or_insert_with(|| m.clone()).insert(key.clone(), new);
                }
            }
            Ok(out.map_or_else(|| value.clone(), Value::Map))
        }
        Value::List(l) => {
            keyed::lists(l, None, schema, Mode::Over, depth).map(|v| v.unwrap_or_else(|| value.clone()))
        }
        other => Ok(other.clone()),
    }
}

/// The failure of nodes that do not fit.
pub fn wrong_kind(expected: &Value, got: &Value) -> MergeError {
    MergeError::Kind { expected: node_kind(expected), got: node_kind(got), contents: flow(got).into() }
}

/// What the merge library calls the kind of a value.
pub fn node_kind(v: &Value) -> &'static str {
    match v {
        Value::Map(_) => "MappingNode",
        Value::List(_) => "SequenceNode",
        _ => "ScalarNode",
    }
}

/// A value on one line, as the merge library shows it.
pub fn flow(v: &Value) -> String {
    match v {
        Value::Map(m) => {
            let entries: Vec<String> =
                m.sorted().into_iter().map(|(k, v)| format!("{}: {}", quoted(k), flow(v))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::List(l) => format!("[{}]", l.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Str(s) => quoted(s),
        other => keyed::text(other),
    }
}

fn quoted(s: &str) -> String {
    let mut out = String::new();
    ephor_value::print::write_json_string(&mut out, s);
    // Only JSON escapes these.
    out.replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&")
}

#[cfg(test)]
mod tests;
