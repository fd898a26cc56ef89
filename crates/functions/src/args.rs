//! Reading checked arguments.
//!
//! A function's body runs after [`super::check`], so an argument of another type than declared
//! cannot come; these readers give a neutral value then instead of failing a second time.

use super::{Arg, Context};
use ephor_value::{Fault, Map, Value};

/// What a function gives.
pub(crate) type FunctionResult = Result<Value, Fault>;
/// The body of a function: its arguments' number and types are checked.
pub(crate) type Body = fn(&Context, &[Arg<'_>]) -> FunctionResult;

static NULL: Value = Value::Null;

/// The argument `i`; null for an expression reference and beyond the end.
pub(super) fn value<'a>(args: &'a [Arg<'_>], i: usize) -> &'a Value {
    match args.get(i) {
        Some(Arg::Value(v)) => v,
        _ => &NULL,
    }
}

/// The text of argument `i`.
pub(super) fn text<'a>(args: &'a [Arg<'_>], i: usize) -> &'a str {
    value(args, i).as_str().unwrap_or("")
}

/// The double of argument `i`.
pub(super) fn number(args: &[Arg<'_>], i: usize) -> f64 {
    match value(args, i) {
        Value::Float(f) => *f,
        _ => f64::NAN,
    }
}

/// The items of argument `i`.
pub(super) fn list<'a>(args: &'a [Arg<'_>], i: usize) -> &'a [Value] {
    value(args, i).as_list().unwrap_or(&[])
}

/// The object of argument `i`; `None` for other kinds.
pub(super) fn object<'a>(args: &'a [Arg<'_>], i: usize) -> Option<&'a Map> {
    value(args, i).as_map()
}

/// The failure of the function `name` with its usual prefix.
pub(super) fn failure(name: &str, text: impl std::fmt::Display) -> Fault {
    Fault::new(format!("JMESPath function '{name}': {text}"))
}

/// A double cut to an integer the way Kyverno 1.19.1's machine does it: what does not fit, NaN
/// included, becomes the smallest integer.
pub(super) fn cut(f: f64) -> i64 {
    if f >= -(2f64.powi(63)) && f < 2f64.powi(63) { f as i64 } else { i64::MIN }
}
