//! Values that differ from all others, where values are copied.
//!
//! In: an object, the places whose values are copied and those to which they are. Out: the object with a value at each of these that is nowhere
//! else, where there is one that has no other value of its type beside it. Rules do not look at these values, so what they make of such an object shows where
//! each value goes: sides that make the same of it make the same of all objects that differ in these values alone.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::analysis::reads::Step;
use crate::kubernetes::Types;
use crate::kubernetes::schema::Leaf;
use crate::value::{Map, Str, Value, stack};

use super::environment::Environment;
use super::writes::{leaf_of, type_at};

/// Numbers count down from here: what comes later in an object is less, as requests are that come after limits.
const FIRST: i64 = 9_000;

/// Gives objects values of their own.
pub(crate) struct Fresh<'t> {
    places: Vec<(&'t [Step], Option<Leaf>)>,
    /// A text that no rule writes, nor a part of one.
    text: String,
}

impl<'t> Fresh<'t> {
    /// For the places of objects of a kind; `written`: the texts that rules write.
    pub fn new(
        types: &Types,
        kind: &[Str; 3],
        places: &'t BTreeSet<Vec<Step>>,
        written: &BTreeSet<String>,
    ) -> Fresh<'t> {
        let leaf = |place: &[Step]| leaf_of(types, type_at(types, kind, place)?);
        let mut text = String::from("copied");
        while written.iter().any(|other| other.contains(&text)) {
            text.push('x');
        }
        Fresh { places: places.iter().map(|place| (&**place, leaf(place))).collect(), text }
    }

    /// Whether the values of a place are texts.
    pub fn is_text(environment: &Environment, place: &[Step]) -> bool {
        leaf_at(environment, place) == Some(Leaf::String)
    }

    /// Whether they are quantities.
    pub fn is_amount(environment: &Environment, place: &[Step]) -> bool {
        leaf_at(environment, place) == Some(Leaf::Quantity)
    }

    /// An object with values of its own.
    pub fn object(&self, object: &Value) -> Value {
        let next = Cell::new(0);
        let mut object = object.clone();
        for (place, leaf) in &self.places {
            object = self.with(&object, place, *leaf, &next);
        }
        object
    }

    fn with(&self, value: &Value, place: &[Step], leaf: Option<Leaf>, next: &Cell<i64>) -> Value {
        let Some((step, rest)) = place.split_first() else { return self.value(value, leaf, next) };
        let below = |value: &Value| stack::deep(|| self.with(value, rest, leaf, next));
        match (step, value) {
            (Step::Key(key), Value::Map(map)) => {
                let of = |(name, value): (&Str, &Value)| {
                    (name.clone(), if name == key { below(value) } else { value.clone() })
                };
                Value::Map(map.iter().map(of).collect::<Map>())
            }
            (Step::Items, Value::List(items)) => Value::list(items.iter().map(below).collect()),
            _ => value.clone(),
        }
    }

    fn value(&self, value: &Value, leaf: Option<Leaf>, next: &Cell<i64>) -> Value {
        next.set(next.get() + 1);
        let number = FIRST - next.get();
        match (value, leaf) {
            (Value::Int(_), _) => Value::Int(number),
            (Value::Str(text), Some(Leaf::Quantity)) if !text.is_empty() => Value::from(number.to_string()),
            (Value::Str(text), _) if !text.is_empty() => Value::from(format!("{}{number}", self.text)),
            _ => value.clone(),
        }
    }
}

fn leaf_at(environment: &Environment, place: &[Step]) -> Option<Leaf> {
    let types: &Types = Types::built_in();
    leaf_of(types, type_at(types, &environment.object, place)?)
}
