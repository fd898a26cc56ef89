//! The entries of a map that a comprehension builds one by one.
//!
//! In: a key and a value. Out: whether the key is new, and the map. Numbers are found by value, but
//! no whole number finds a double, as in [`is_found_by`](ephor_value::object::is_found_by); looking
//! a key up takes the same time however many entries there are.

use std::collections::HashSet;

use ephor_value::{Map, Object, Str, Value};

/// See the module page.
#[derive(Default)]
pub struct Entries {
    all: Vec<(Value, Value)>,
    texts: HashSet<Str>,
    whole: HashSet<i128>,
    doubles: HashSet<u64>,
    booleans: [bool; 2],
}

impl Entries {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds an entry; false when its key is there already.
    pub fn insert(&mut self, key: Value, value: Value) -> bool {
        let is_new = match &key {
            Value::Str(s) => self.texts.insert(s.clone()),
            Value::Bool(b) => !std::mem::replace(&mut self.booleans[usize::from(*b)], true),
            Value::Int(i) => self.whole.insert(i128::from(*i)),
            Value::UInt(u) => self.whole.insert(i128::from(*u)),
            Value::Float(f) => {
                let is_whole = whole(*f).is_some_and(|n| self.whole.contains(&n));
                // No number equals NaN, not even itself.
                !is_whole && (f.is_nan() || self.doubles.insert((f + 0.0).to_bits()))
            }
            key => !self.all.iter().any(|(known, _)| known.cel_eq(key)),
        };
        if is_new {
            self.all.push((key, value));
        }
        is_new
    }

    /// The map; its kind is the plain one when all keys are texts.
    pub fn into_value(self) -> Value {
        if self.texts.len() < self.all.len() {
            return Value::object(Object::Keyed(self.all));
        }
        let plain = self.all.into_iter().filter_map(|(k, v)| match k {
            Value::Str(k) => Some((k, v)),
            _ => None,
        });
        Value::Map(Map::from_unique(plain.collect()))
    }
}

/// The whole number that a double is, if it is one that an integer can be.
fn whole(f: f64) -> Option<i128> {
    (f.fract() == 0.0 && f.abs() < 2f64.powi(64)).then_some(f as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_value::object::is_found_by;

    #[test]
    fn keys_are_found_as_a_walk_over_all_entries_finds_them() {
        let mut keys = vec![Value::Bool(true), Value::Bool(false), Value::from("1"), Value::from("a")];
        for n in [-1.0, -0.0, 0.0, 1.0, 1.5, 9.0e15, f64::NAN, f64::INFINITY] {
            keys.push(Value::Float(n));
        }
        for n in [-1, 0, 1, 9_000_000_000_000_000] {
            keys.push(Value::Int(n));
            keys.extend(u64::try_from(n).map(Value::UInt));
        }
        keys.push(Value::UInt(u64::MAX));
        for first in &keys {
            for second in &keys {
                let mut entries = Entries::default();
                assert!(entries.insert(first.clone(), Value::Null));
                let is_new = entries.insert(second.clone(), Value::Null);
                assert_eq!(is_new, !is_found_by(first, second), "{first:?} {second:?}");
            }
        }
    }
}
