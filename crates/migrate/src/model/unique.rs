//! Lists whose members stand in them once, and maps with some members of another one.

use ephor_value::{Map, Value};

/// Adds what is not in a list.
pub fn add_new<T: PartialEq>(all: &mut Vec<T>, more: impl IntoIterator<Item = T>) {
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}

/// The members of an object under some keys, in the order of these.
pub fn members(of: &Value, keys: &[&str]) -> Map {
    let mut out = Map::new();
    for key in keys {
        if let Some(value) = of.get(key) {
            out.insert(*key, value.clone());
        }
    }
    out
}
