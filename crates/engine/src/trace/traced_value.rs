//! A value that was seen, by where it lies.

use std::borrow::Cow;

use ephor_value::Value;

/// A value, and its address in a document.
#[derive(Clone, Debug)]
pub struct TracedValue {
    /// The value.
    pub value: Value,
    /// Its address, if it is a part of the request or the policy and not computed. Valid for
    /// [`super::path_of`] as long as the request lives.
    pub address: Option<usize>,
}

impl TracedValue {
    /// A value in a document.
    pub fn at(value: &Value) -> TracedValue {
        TracedValue { value: value.clone(), address: Some(address(value)) }
    }

    /// A computed value.
    pub fn computed(value: Value) -> TracedValue {
        TracedValue { value, address: None }
    }

    /// A value that may be borrowed from a request.
    pub fn of(value: Cow<'_, Value>) -> TracedValue {
        match value {
            Cow::Borrowed(v) => TracedValue::at(v),
            Cow::Owned(v) => TracedValue::computed(v),
        }
    }
}

/// The address of a piece of a policy or document.
pub(super) fn address<T>(piece: &T) -> usize {
    std::ptr::from_ref(piece).addr()
}

/// Where the parts of a value are, which copies of it share.
pub(super) fn storage(value: &Value) -> Option<usize> {
    match value {
        Value::Map(fields) if !fields.is_empty() => Some(fields.address()),
        Value::List(items) if !items.is_empty() => Some(items.address()),
        _ => None,
    }
}
