//! CEL's functions: what they compute and what they cost.
//!
//! In: evaluated arguments, the receiver first. Out: a value or a fault. Arguments that fit no form
//! of a function give `no such overload: f(types)`. Semantics: `docs/expressions/cel.md`; which
//! overloads the checker knows is declared in [`overload`].

#[cfg(not(all(feature = "gzip", feature = "tokens")))]
mod absent;
mod authorizer;
pub mod convert;
mod cost;
pub mod data;
pub mod format;
mod format_plain;
#[cfg(feature = "gzip")]
mod gzip;
pub mod image_reference;
pub mod image_verification;
#[cfg(feature = "tokens")]
pub mod key_set;
pub mod kubernetes;
mod lists;
mod math;
mod mcp;
pub mod messages;
mod named_format;
mod network;
mod operators;
pub mod optional;
pub mod outside;
pub mod overload;
mod pattern_sort;
mod patterns;
pub mod proxy;
pub mod proxy_types;
pub mod selectors;
mod strings;
mod table;
mod time;
#[cfg(feature = "tokens")]
mod token;
#[cfg(not(feature = "gzip"))]
use absent::gzip;
#[cfg(not(feature = "tokens"))]
use absent::tokens::{self as key_set, self as token};
pub mod types;

use super::registry::{self, Function, Language, Operation, Run};
use super::{Context, limits};
use crate::registry::Known;
use ephor_value::{Fault, Value, budget};

pub use cost::Charge;
pub use lists::go_type;
pub use operators::{order, unhashable};
pub use table::sum_of;

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
    fn text(&self, at: usize) -> Option<&'a str> {
        self.arg(at).as_str()
    }

    /// The integer at a position.
    fn int(&self, at: usize) -> Option<i64> {
        match self.arg(at) {
            Value::Int(i) => Some(*i),
            _ => None,
        }
    }
}

/// CEL's function of a name.
pub fn find(name: &str) -> Option<&'static Function> {
    registry::find(Language::Cel, name)
}

/// The operation that a function of this name is to an analysis.
pub fn operation(name: &str) -> Option<Operation> {
    find(name)?.operation()
}

/// CEL's functions.
pub fn all() -> &'static [Function] {
    table::TABLE
}

/// Runs a function.
///
/// # Errors
/// The fault of the function, or that it takes no such arguments.
pub fn call(function: &'static Function, call: &Call<'_>) -> Result<Value, Fault> {
    budget::step()?;
    let made = match function.run {
        Run::Strict(run) => run(call),
        Run::Plain(_) | Run::Higher(_) | Run::Node => None,
    };
    limits::result(made.unwrap_or_else(|| Err(no_overload(function, call))))
}

/// `no such overload: f(int, string)`.
pub fn no_overload(function: &Function, call: &Call<'_>) -> Fault {
    let name = function.shown;
    let types: Vec<&str> = call.args.iter().map(|a| a.cel_type()).collect();
    Fault::new(format!("no such overload: {name}({})", types.join(", ")))
}

/// The name of the reference's native type for a value.
pub fn native_type(v: &Value) -> &'static str {
    match v {
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::UInt(_) => "uint64",
        Value::Float(_) => "float64",
        Value::Str(_) => "string",
        Value::Bytes(_) => "[]uint8",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        _ => go_type(v),
    }
}

fn fault<T>(text: impl Into<Box<str>>) -> Option<Result<T, Fault>> {
    Some(Err(Fault::new(text)))
}

fn success(v: impl Into<Value>) -> CallResult {
    Some(Ok(v.into()))
}
