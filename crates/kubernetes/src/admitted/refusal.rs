//! Where and why an API server refuses an object, and questions about fields that its checks share.

use std::fmt;

use ephor_value::quantity::Quantity;
use ephor_value::{Map, Value};

/// Nothing, or why the object is refused.
pub type Checked = Result<(), Refusal>;

/// Where and why an API server refuses an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
#[non_exhaustive]
pub struct Refusal {
    /// The field, `spec.containers[0].name`; empty for the whole object.
    pub path: String,
    /// What is wrong with it.
    pub reason: Reason,
}

/// What is wrong with a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It has a value of a wrong type.
    Type,
    /// It must be set.
    Required,
    /// It must not be set here.
    Forbidden,
    /// Its value is none of those that are allowed.
    NotSupported,
    /// Its value is malformed, out of range, too long or at odds with another field.
    Invalid,
    /// It repeats what an earlier item has.
    Duplicate,
    /// Nothing is recorded of it, or what is recorded is too little.
    NotRecorded,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Type => "a value of another type",
            Reason::Required => "required",
            Reason::Forbidden => "forbidden",
            Reason::NotSupported => "not a supported value",
            Reason::Invalid => "invalid",
            Reason::Duplicate => "duplicate",
            Reason::NotRecorded => "not recorded",
        })
    }
}

impl Refusal {
    pub(super) fn new(path: impl Into<String>, reason: Reason) -> Refusal {
        Refusal { path: path.into(), reason }
    }
}

/// Whether an object has a value: neither missing nor empty.
pub fn is_set(m: &Map, field: &str) -> bool {
    m.get(field).is_some_and(|v| match v {
        Value::Null => false,
        Value::Str(s) => !s.is_empty(),
        Value::List(items) => !items.is_empty(),
        _ => true,
    })
}

/// The path of a field.
pub fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// A refusal of a field.
pub fn refuse(path: &str, field: &str, reason: Reason) -> Checked {
    Err(Refusal::new(join(path, field), reason))
}

/// The quantity that a value is.
pub fn quantity(v: &Value) -> Option<Quantity> {
    match v {
        Value::Str(s) => Quantity::parse(s),
        Value::Int(i) => Quantity::parse(&i.to_string()),
        _ => None,
    }
}
