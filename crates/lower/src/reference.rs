//! References `$(…)`: a string of a document that takes the value of another place of it.

use ephor_ir::shape::Anchor;
use ephor_value::number::float_f6;
use ephor_value::print::display;
use ephor_value::variables::find_references;
use ephor_value::{Map, Value};

const OPERATORS: [&str; 5] = [">=", "<=", ">", "<", "!"];

/// Why a reference cannot be resolved; the texts are those of Kyverno 1.19.1. Places have the form
/// `/a/b`.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// It points nowhere.
    #[error("got nil resolved variable {reference} at path {place}: <nil>")]
    Nil {
        /// The reference.
        reference: String,
        /// Where it stands.
        place: String,
    },
    /// It points at something that is no text.
    #[error("NotResolvedReferenceErr,reference {reference} not resolved at path {place}")]
    NoText {
        /// The reference.
        reference: String,
        /// Where it stands.
        place: String,
    },
    /// Its operator does not go with the value.
    #[error(
        "failed to resolve {reference} at path {place}: incorrect expression: operator {operator} does not match with value {value}"
    )]
    Operator {
        /// The reference.
        reference: String,
        /// Where it stands.
        place: String,
        /// The operator.
        operator: &'static str,
        /// The value.
        value: String,
    },
}

/// Resolves all references of a document.
///
/// # Errors
/// A reference points nowhere or at something unfit.
pub fn resolve(document: &Value) -> Result<Value, ReferenceError> {
    walk(document, document, &mut Vec::new())
}

fn walk(v: &Value, root: &Value, path: &mut Vec<String>) -> Result<Value, ReferenceError> {
    match v {
        Value::Str(s) => text(s, root, path).map(Value::from),
        Value::List(l) => {
            let mut items = Vec::with_capacity(l.len());
            for (i, v) in l.iter().enumerate() {
                path.push(i.to_string());
                let item = walk(v, root, path);
                path.pop();
                items.push(item?);
            }
            Ok(Value::list(items))
        }
        Value::Map(m) => {
            let mut entries = Vec::with_capacity(m.len());
            for (k, v) in m.iter() {
                path.push(k.to_string());
                let value = walk(v, root, path);
                path.pop();
                entries.push((k.clone(), value?));
            }
            Ok(Value::Map(entries.into_iter().collect::<Map>()))
        }
        other => Ok(other.clone()),
    }
}

fn path_text(path: &[String]) -> String {
    path.iter().map(|p| format!("/{}", p.replace('/', "\\/"))).collect()
}

fn text(s: &str, root: &Value, path: &[String]) -> Result<String, ReferenceError> {
    let mut out = String::new();
    let mut at = 0;
    for range in find_references(s) {
        out.push_str(s.get(at..range.start).unwrap_or_default());
        let reference = s.get(range.clone()).unwrap_or_default();
        out.push_str(&one(reference, root, path)?);
        at = range.end;
    }
    out.push_str(s.get(at..).unwrap_or_default());
    Ok(out.replace("\\$(", "$("))
}

fn one(reference: &str, root: &Value, path: &[String]) -> Result<String, ReferenceError> {
    let place = || path_text(path);
    let reference_text = || reference.to_owned();
    let inner = reference.strip_prefix("$(").and_then(|r| r.strip_suffix(')')).unwrap_or(reference);
    let (operator, target) =
        OPERATORS.iter().find_map(|op| inner.strip_prefix(op).map(|rest| (*op, rest))).unwrap_or(("", inner));
    let found = match lookup(root, &clean(target, path)).filter(|_| !target.is_empty()) {
        // For an object Kyverno takes any of its keys; nothing can rely on that.
        None | Some(Value::Map(_) | Value::List(_)) => &Value::Null,
        Some(found) => found,
    };
    match (operator, found) {
        (op, Value::Null) if op.is_empty() || target.is_empty() => {
            Err(ReferenceError::Nil { reference: reference_text(), place: place() })
        }
        ("", Value::Str(s)) => Ok(s.to_string()),
        ("", _) => Err(ReferenceError::NoText { reference: reference_text(), place: place() }),
        (op, Value::Str(s)) => Ok(format!("{op}{s}")),
        (op, Value::Int(i)) => Ok(format!("{op}{i}")),
        (op, Value::Float(f)) => Ok(format!("{op}{}", float_f6(*f))),
        (operator, other) => Err(ReferenceError::Operator {
            reference: reference_text(),
            place: place(),
            operator,
            value: display(other),
        }),
    }
}

/// The steps of a path, relative ones taken from the leaf that holds the reference.
fn clean(target: &str, leaf: &[String]) -> Vec<String> {
    let mut steps: Vec<String> = if target.starts_with('/') { Vec::new() } else { leaf.to_vec() };
    for step in target.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step.to_string()),
        }
    }
    steps
}

/// The value at a path; anchors of the document's keys do not count.
fn lookup<'v>(v: &'v Value, steps: &[String]) -> Option<&'v Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(v) };
    match v {
        Value::Map(m) => {
            m.iter().filter(|(k, _)| Anchor::parse(k).1 == step).find_map(|(_, v)| lookup(v, rest))
        }
        Value::List(l) => lookup(l.get(step.parse::<usize>().ok()?)?, rest),
        _ => None,
    }
}
