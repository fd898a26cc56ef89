//! Abstract values: the places that a value comes from.
//!
//! What is computed of parts that already count as read is nothing new: its value follows from
//! them.

use ephor_value::{Str, Value};

use crate::reads::expected_type::ExpectedType;
use crate::reads::footprint::{Step, Untracked};
use crate::reads::texts::Way;

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The new object.
    Object,
    /// The former object.
    Old,
    /// The one of them that rules match.
    Shown,
    /// The namespace as an object.
    Namespace,
}

/// Where a text comes from that another one is built of; only where comparisons are collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is the value at a place.
    At(Part, Vec<Step>),
    /// It is a name of a field of the object at a place.
    Name(Vec<Step>),
}

/// One of the things that a value may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AbstractValue {
    /// The data of the request.
    Root,
    /// `request` in it.
    Request,
    /// What is at a place.
    At(Part, Vec<Step>),
    /// A list of such items.
    List(ValueSet),
    /// An object with these entries.
    Map(Vec<(Str, ValueSet)>),
    /// Something that depends on more than the request.
    Untracked,
    /// A constant; only where comparisons are collected.
    Constant(Value),
    /// Something computed of what is read already; only where comparisons are collected.
    Computed,
    /// A name of a field of the object at a place; only where comparisons are collected.
    Name(Vec<Step>),
    /// A part of the request that is none of its objects; only where comparisons are collected.
    Elsewhere,
    /// The user who makes the request.
    User,
    /// A text that is built of another one.
    Made(Origin, Way),
    /// The parts of a text that is built of another one, between the occurrences of a text.
    Split(Origin, Way, Str),
    /// How many parts these are.
    Count(Origin, Way, Str),
    /// How long a text, list or object is.
    Length(ValueSet),
    /// The items of some lists, or what is put together or computed of values that are no lists.
    Sum(ValueSet),
}

/// All the things that a value may be; none = it follows from what is read already.
pub type ValueSet = Vec<AbstractValue>;

/// More alternatives, or longer ways, are given up.
const MOST: usize = 48;

/// Texts that are built in more steps are not described.
const MAX_STEPS: usize = 6;

/// Parts of texts behind this many others are not described.
pub const MAX_PARTS_OF_TEXT: usize = 16;

/// Values of more parts are given up.
const MAX_PARTS: usize = 1024;

/// Names at the root of data that are the same in all requests.
pub(crate) const CONSTANT: [&str; 13] = [
    "resource",
    "http",
    "globalContext",
    "generator",
    "image",
    "json",
    "yaml",
    "mcp",
    "mylib_version",
    "exceptions",
    "params",
    "authorizer",
    "authorizer.requestResource",
];

/// Whether a value is built of another one in a way that tests can describe.
pub(crate) fn is_built(one: &AbstractValue) -> bool {
    match one {
        AbstractValue::Made(..)
        | AbstractValue::Split(..)
        | AbstractValue::Count(..)
        | AbstractValue::Sum(_) => true,
        AbstractValue::List(items) => items.iter().any(is_built),
        AbstractValue::Map(entries) => entries.iter().any(|(_, values)| values.iter().any(is_built)),
        _ => false,
    }
}

/// How many parts a value has, as far as they are counted.
pub(crate) fn parts(values: &ValueSet, left: usize) -> Option<usize> {
    values.iter().try_fold(left, |left, one| {
        let left = left.checked_sub(1)?;
        match one {
            AbstractValue::List(items) | AbstractValue::Sum(items) | AbstractValue::Length(items) => {
                parts(items, left)
            }
            AbstractValue::Map(entries) => entries.iter().try_fold(left, |left, (_, v)| parts(v, left)),
            _ => Some(left),
        }
    })
}

/// A value composed of others, unless it has too many parts.
pub fn composed(one: AbstractValue) -> Result<ValueSet, Untracked> {
    let values = vec![one];
    parts(&values, MAX_PARTS).map(|_| values).ok_or(Untracked)
}

/// Either of two.
pub fn either(mut a: ValueSet, b: ValueSet) -> Result<ValueSet, Untracked> {
    for one in b {
        if !a.contains(&one) {
            a.push(one);
        }
    }
    if a.len() > MOST { Err(Untracked) } else { Ok(a) }
}

pub(crate) fn further(part: Part, steps: &[Step], step: Step) -> Result<AbstractValue, Untracked> {
    if steps.len() >= MOST {
        return Err(Untracked);
    }
    let mut steps = steps.to_vec();
    steps.push(step);
    Ok(AbstractValue::At(part, steps))
}

/// The text that a value is built of, and how, where further steps may follow.
pub(crate) fn origin_of(value: &AbstractValue) -> Option<(Origin, Way)> {
    match value {
        AbstractValue::At(part, steps) => Some((Origin::At(*part, steps.clone()), Way::new())),
        AbstractValue::Name(steps) => Some((Origin::Name(steps.clone()), Way::new())),
        AbstractValue::Made(of, way) if way.len() < MAX_STEPS => Some((of.clone(), way.clone())),
        _ => None,
    }
}

/// A field of the metadata of the object.
pub(crate) fn of_object(field: &str) -> AbstractValue {
    AbstractValue::At(Part::Object, vec![Step::Key("metadata".into()), Step::Key(field.into())])
}

/// Whether values are nothing but a list or an object without members; which of these.
pub(crate) fn empty(values: &ValueSet) -> Option<ExpectedType> {
    match &values[..] {
        [AbstractValue::Constant(Value::List(items))] if items.is_empty() => Some(ExpectedType::LIST),
        [AbstractValue::Constant(Value::Map(map))] if map.is_empty() => Some(ExpectedType::MAP),
        [AbstractValue::List(items)] if items.is_empty() => Some(ExpectedType::LIST),
        _ => None,
    }
}
