//! A value that stands for others at a place, and how many items of lists it takes.

use ephor_value::Value;

/// A value of a field, or none, and how many items its lists have.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) value: Option<Value>,
    pub(crate) items: usize,
}

pub(crate) const ABSENT: Choice = Choice { value: None, items: 0 };

pub(crate) fn plain(value: Value) -> Choice {
    Choice { value: Some(value), items: 0 }
}
