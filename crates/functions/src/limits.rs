//! Bounds on what functions make.
//!
//! Kyverno 1.19.1 has none: a policy can have it fill its memory. Here a result that is larger than
//! any sensible one is a fault, which is far cheaper than the attempt. So is a result that, with
//! all others of the rule, takes more memory than a rule may have (`value::budget`).

use super::{Arg, Context};
use ephor_value::{Fault, Object, Value, budget, stack};

/// Bytes that a text may have. Far above what an object may have in etcd (1.5 MiB); a policy that
/// builds more gets a fault.
pub const MAX_TEXT: usize = 64 << 20;
/// Items that a list may have. With 32 bytes an item, twice as much memory as [`MAX_TEXT`].
pub const MAX_ITEMS: usize = 4 << 20;
/// What a composed value may weigh: a unit for each value inside of it and one for each byte of
/// text.
const MAX_WEIGHT: usize = 16 << 20;

/// The argument, unless it is too large.
///
/// # Errors
/// It is.
pub(super) fn bounded(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    let v = super::args::value(args, 0);
    let mut left = MAX_WEIGHT;
    if weigh(v, &mut left) { Ok(v.clone()) } else { Err(too_large()) }
}

/// Whether a text may be decoded: its parts take more than the text.
///
/// # Errors
/// It may not.
pub fn decoded(text: &str) -> Result<(), Fault> {
    budget::steps(text.len() >> 6)?;
    budget::take(text.len().saturating_mul(4))
}

/// Whether a value may be written as text: parts that it shares are written as often as it holds
/// them.
///
/// # Errors
/// It may not.
pub fn printable(v: &Value) -> Result<(), Fault> {
    match v {
        Value::List(_) | Value::Map(_) | Value::Object(_) => {
            let mut left = MAX_WEIGHT;
            if weigh(v, &mut left) { budget::steps((MAX_WEIGHT - left) >> 4) } else { Err(too_large()) }
        }
        _ => Ok(()),
    }
}

/// Takes the weight of `v` off `left`; false as soon as that is not enough.
fn weigh(v: &Value, left: &mut usize) -> bool {
    let own = match v {
        Value::Str(s) => 1 + s.len(),
        _ => 1,
    };
    if !take(own, left) {
        return false;
    }
    match v {
        Value::List(l) => stack::deep(|| l.iter().all(|v| weigh(v, left))),
        Value::Map(m) => stack::deep(|| m.iter().all(|(k, v)| take(k.len(), left) && weigh(v, left))),
        Value::Object(o) => match &**o {
            Object::Keyed(entries) => entries.iter().all(|(k, v)| weigh(k, left) && weigh(v, left)),
            Object::Struct(_, fields) => fields.iter().all(|(_, v)| weigh(v, left)),
            Object::Optional(Some(v)) => weigh(v, left),
            _ => true,
        },
        _ => true,
    }
}

fn take(weight: usize, left: &mut usize) -> bool {
    left.checked_sub(weight).map(|rest| *left = rest).is_some()
}

#[cold]
fn too_large() -> Fault {
    budget::refuse(Fault::TOO_LARGE)
}

/// What a function gives, when it fits the rule's memory. What is inside of it was counted when it
/// was built, or is shared with the arguments.
#[inline]
pub fn result(made: Result<Value, Fault>) -> Result<Value, Fault> {
    let bytes = match &made {
        Ok(Value::Str(s)) => s.len(),
        Ok(Value::List(l)) => bytes_of(l.len()),
        Ok(Value::Map(m)) => bytes_of(m.len()),
        Ok(Value::Bytes(b)) => b.len(),
        _ => return made,
    };
    // Small results count where lists hold them.
    if bytes >= MIN_COUNTED {
        large(bytes)?;
    }
    made
}

/// Results with fewer bytes are not counted one by one. Smaller: every call counts, which costs
/// more than the call; larger: memory of many small results is seen late.
const MIN_COUNTED: usize = 64;

#[cold]
fn large(bytes: usize) -> Result<(), Fault> {
    budget::steps(bytes >> 8)?;
    budget::take(bytes)
}

fn bytes_of(items: usize) -> usize {
    items.saturating_mul(ITEM)
}

/// About what an item of a list or object takes, without what is inside of it.
const ITEM: usize = 32;

/// Whether the rule may still make a list or object of this many items, with its parts.
///
/// # Errors
/// It may not.
pub fn list(items: usize) -> Result<(), Fault> {
    if items < MIN_COUNTED / ITEM { Ok(()) } else { large(bytes_of(items)) }
}

/// Whether a text of `len` bytes fits the rule's memory.
///
/// # Errors
/// It may not.
pub fn text_of(len: usize) -> Result<(), Fault> {
    if len <= MAX_TEXT { Ok(()) } else { Err(too_large()) }
}

/// Whether a list of `len` items fits the rule's memory.
///
/// # Errors
/// It may not.
pub fn items_of(len: usize) -> Result<(), Fault> {
    if len <= MAX_ITEMS { Ok(()) } else { Err(too_large()) }
}

/// The length of `s` with `count` pieces of `old` bytes replaced by `new` bytes each.
pub fn replaced(s: usize, count: usize, old: usize, new: usize) -> usize {
    s.saturating_sub(count.saturating_mul(old)).saturating_add(count.saturating_mul(new))
}
