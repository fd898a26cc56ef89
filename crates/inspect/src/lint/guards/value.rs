//! What is known of the value of a part of an expression: its types and where it stands.
//!
//! A place names a value by the fields that lead to it, so that a guard of one place is found again
//! where the place is read.

use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf, Type, Whole};
use ephor_value::{Str, Value};

/// See the module page.
#[derive(Clone, Debug)]
pub(super) struct ReadValue {
    /// What it may be.
    pub(super) what: What,
    /// Where it stands; `None` for what an expression computes.
    pub(super) place: Option<Place>,
    /// Whether it is an optional, which holds the value or nothing.
    pub(super) is_optional: bool,
}

/// What a value may be.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// Anything.
    Any,
    /// An object of a kind that is not known: it has metadata like all others.
    Object,
    /// A value of one of these types.
    Types(Vec<Type>),
    /// A value of a class.
    One(Class),
    /// A list of such values.
    List(Box<What>),
    /// One of these.
    Either(Vec<What>),
}

/// Classes of values of which none equals one of another class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// `null`
    Null,
    /// A boolean.
    Bool,
    /// An integer or double.
    Number,
    /// A text.
    Text,
    /// A list.
    List,
    /// A map or object.
    Map,
}

impl Class {
    /// The word of messages, with its article.
    pub(super) fn word(self) -> &'static str {
        match self {
            Class::Null => "null",
            Class::Bool => "a boolean",
            Class::Number => "a number",
            Class::Text => "a string",
            Class::List => "a list",
            Class::Map => "an object",
        }
    }
}

/// A step of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A variable.
    Root(Str),
    /// A field, or a key of a map.
    Field(Str),
    /// An item of a list: that of a loop by its number, every one by 0.
    Each(u32),
    /// Any field: what an object of a kind of its own has.
    Fields,
}

/// Where a value stands.
pub(super) type Place = Vec<Step>;

/// Whether a fact about one place holds for the other: items of a loop are every item's.
pub(super) fn covers(fact: &[Step], place: &[Step]) -> bool {
    let is_same = |(fact, step): (&Step, &Step)| {
        fact == step
            || matches!((fact, step), (Step::Each(0), Step::Each(_)) | (Step::Fields, Step::Field(_)))
    };
    fact.len() == place.len() && fact.iter().zip(place).all(is_same)
}

/// The place with another step.
pub(super) fn below(place: Option<&Place>, step: Step) -> Option<Place> {
    place.map(|place| place.iter().cloned().chain([step]).collect())
}

impl ReadValue {
    /// A computed value.
    pub(super) fn new(what: What) -> ReadValue {
        ReadValue { what, place: None, is_optional: false }
    }

    /// Anything.
    pub(super) fn any() -> ReadValue {
        ReadValue::new(What::Any)
    }

    /// A value of a class.
    pub(super) fn one(class: Class) -> ReadValue {
        ReadValue::new(What::One(class))
    }

    /// That of a literal.
    pub(super) fn literal(value: &Value) -> ReadValue {
        match value {
            Value::Null => ReadValue::one(Class::Null),
            Value::Bool(_) => ReadValue::one(Class::Bool),
            Value::Int(_) | Value::UInt(_) | Value::Float(_) => ReadValue::one(Class::Number),
            Value::Str(_) => ReadValue::one(Class::Text),
            _ => ReadValue::any(),
        }
    }

    /// Either of two.
    pub(super) fn or(self, other: ReadValue) -> ReadValue {
        // What stands for nothing is read like the value.
        let place = match (self.place, other.place) {
            (Some(place), None) | (None, Some(place)) => Some(place),
            (Some(a), Some(b)) if a == b => Some(a),
            _ => None,
        };
        ReadValue {
            what: self.what.or(other.what),
            place,
            is_optional: self.is_optional || other.is_optional,
        }
    }
}

impl What {
    /// Either of two.
    pub(super) fn or(self, other: What) -> What {
        match (self, other) {
            (What::Any, _) | (_, What::Any) => What::Any,
            (What::Types(mut a), What::Types(b)) => {
                a.extend(b.into_iter().filter(|ty| !a.contains(ty)).collect::<Vec<_>>());
                What::Types(a)
            }
            (What::Either(mut all), other) | (other, What::Either(mut all)) => {
                if all.len() > MAX_ALTERNATIVES {
                    return What::Any;
                }
                all.push(other);
                What::Either(all)
            }
            (a, b) => What::Either(vec![a, b]),
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> What {
        match self {
            What::List(item) => (**item).clone(),
            What::Types(all) => {
                let items = all.iter().map(|ty| match ty {
                    Type::List(_, item) => Some((**item).clone()),
                    _ => None,
                });
                items.collect::<Option<Vec<Type>>>().map_or(What::Any, What::Types)
            }
            // The empty list of a default has no items.
            What::Either(all) => {
                let mut items = all.iter().filter(|one| !matches!(one, What::One(Class::List)));
                let first = items.next().map_or(What::Any, What::items);
                items.fold(first, |found, one| found.or(one.items()))
            }
            What::Any | What::Object | What::One(_) => What::Any,
        }
    }

    /// The types of schemas that it may have.
    pub(super) fn types(&self) -> Vec<&Type> {
        match self {
            What::Types(all) => all.iter().collect(),
            What::Either(all) => all.iter().flat_map(What::types).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether it may be something of which nothing is known.
    pub(super) fn is_open(&self) -> bool {
        match self {
            What::Any | What::Object => true,
            What::Either(all) => all.iter().any(What::is_open),
            _ => false,
        }
    }

    /// The classes that it may have; `None` when that is not known.
    pub(super) fn classes(&self) -> Option<Vec<Class>> {
        match self {
            What::Any | What::Object => None,
            What::One(class) => Some(vec![*class]),
            What::List(_) => Some(vec![Class::List]),
            What::Types(all) => all.iter().map(class_of).collect(),
            What::Either(all) => {
                let each: Option<Vec<Vec<Class>>> = all.iter().map(What::classes).collect();
                each.map(|each| each.concat())
            }
        }
    }
}

/// A value that may be one of more is anything.
const MAX_ALTERNATIVES: usize = 16;

/// The class of the values of a type; `None` where they may have several.
fn class_of(ty: &Type) -> Option<Class> {
    match ty {
        Type::Leaf(Leaf::String) => Some(Class::Text),
        Type::Leaf(Leaf::Bool) => Some(Class::Bool),
        Type::Leaf(Leaf::Int32 | Leaf::Int64 | Leaf::Double) => Some(Class::Number),
        Type::Leaf(_) => None,
        Type::List(..) => Some(Class::List),
        Type::Map(..) => Some(Class::Map),
        Type::Named(..) => Some(Class::Map),
    }
}

/// What the values of a type are: a name may stand for a scalar.
pub(super) fn resolved(ty: &Type, types: &Types) -> Type {
    match ty {
        Type::Named(name, _) => {
            match types.named(name).map(|def| (def.leaf, def.open, def.fields.is_empty())) {
                Some((Some(leaf), false, _)) => Type::Leaf(leaf),
                // An object of any form, and a name without description.
                Some((Some(_), true, _)) | Some((None, _, true)) | None => Type::Leaf(Leaf::Any),
                _ => ty.clone(),
            }
        }
        Type::List(kind, item) => Type::List(kind.clone(), Box::new(resolved(item, types))),
        Type::Map(value, whole) => Type::Map(Box::new(resolved(value, types)), *whole),
        Type::Leaf(leaf) => Type::Leaf(*leaf),
    }
}

/// The metadata that every object has.
pub(super) fn metadata() -> Type {
    Type::Named("meta/v1.ObjectMeta".into(), Whole::Merged)
}
