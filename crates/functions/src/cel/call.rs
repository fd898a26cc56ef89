//! A call of a function of CEL and what it gives: the types that all bodies share.

use crate::Context;
use crate::row::Known;
use ephor_value::{Fault, Map, Object, Value};

/// What a function gives; `None` when no form of it takes such arguments.
pub type CallResult = Option<Result<Value, Fault>>;

/// A call.
pub struct Call<'a> {
    /// The arguments, the receiver first.
    pub args: &'a [&'a Value],
    /// What the checker knows.
    pub known: Known,
    /// What functions may know of the world.
    pub cx: &'a Context,
}

impl<'a> Call<'a> {
    /// The argument at a position; null when there is none.
    pub fn arg(&self, at: usize) -> &'a Value {
        const NULL: &Value = &Value::Null;
        self.args.get(at).copied().unwrap_or(NULL)
    }

    /// The text at a position.
    pub(super) fn text(&self, at: usize) -> Option<&'a str> {
        self.arg(at).as_str()
    }

    /// The integer at a position.
    pub(super) fn int(&self, at: usize) -> Option<i64> {
        match self.arg(at) {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }
}

/// The result of a call that fails.
pub(super) fn fault<T>(text: impl Into<Box<str>>) -> Option<Result<T, Fault>> {
    Some(Err(Fault::new(text)))
}

/// The result of a call that gives a value.
pub(super) fn success(v: impl Into<Value>) -> CallResult {
    Some(Ok(v.into()))
}

/// The fields of a message of the type.
pub fn fields<'v>(v: &'v Value, type_name: &str) -> Option<&'v Map> {
    match v {
        Value::Object(o) => match &**o {
            Object::Struct(name, fields) if &**name == type_name => Some(fields),
            _ => None,
        },
        _ => None,
    }
}
