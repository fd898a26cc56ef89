//! Bounds on what functions make.
//!
//! The reference has none: a policy can have it fill its memory. Here a result that is larger than any
//! sensible one is a fault, which is far cheaper than the attempt.

use super::{Arg, Arity, Context, Cost, Function, Run, Ty};
use crate::value::{Fault, Value};

/// Bytes that a text may have.
pub const MAX_TEXT: usize = 64 << 20;
/// Items that a list may have.
pub const MAX_ITEMS: usize = 4 << 20;
/// What a composed value may weigh: a unit for each value inside of it and one for each byte of text.
const MAX_WEIGHT: usize = 16 << 20;

/// Checks a result of expressions that could repeat their input without end; no name leads to it.
pub static BOUNDED: Function = Function {
    name: "bounded",
    params: &[&[Ty::Any]],
    arity: Arity::Fixed,
    returns: "any",
    pure: true,
    cost: Cost::Linear,
    kyverno: false,
    note: "The argument, unless it is too large.",
    examples: &[],
    run: Run::Plain(bounded),
};

fn bounded(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    let v = super::args::value(args, 0);
    let mut left = MAX_WEIGHT;
    if weigh(v, &mut left) { Ok(v.clone()) } else { Err(too_large()) }
}

/// Takes the weight of `v` off `left`; false as soon as that is not enough.
fn weigh(v: &Value, left: &mut usize) -> bool {
    let own = match v {
        Value::Str(s) => 1 + s.len(),
        _ => 1,
    };
    let Some(rest) = left.checked_sub(own) else { return false };
    *left = rest;
    match v {
        Value::List(l) => l.iter().all(|v| weigh(v, left)),
        Value::Map(m) => m.iter().all(|(_, v)| weigh(v, left)),
        _ => true,
    }
}

fn too_large() -> Fault {
    Fault::new(Fault::TOO_LARGE)
}

/// Whether a text of `len` bytes may be made.
///
/// # Errors
/// It may not.
pub(super) fn text_of(len: usize) -> Result<(), Fault> {
    if len <= MAX_TEXT { Ok(()) } else { Err(too_large()) }
}

/// Whether a list of `len` items may be made.
///
/// # Errors
/// It may not.
pub(super) fn items_of(len: usize) -> Result<(), Fault> {
    if len <= MAX_ITEMS { Ok(()) } else { Err(too_large()) }
}

/// The length of `s` with `count` pieces of `old` bytes replaced by `new` bytes each.
pub(super) fn replaced(s: usize, count: usize, old: usize, new: usize) -> usize {
    s.saturating_sub(count.saturating_mul(old)).saturating_add(count.saturating_mul(new))
}
