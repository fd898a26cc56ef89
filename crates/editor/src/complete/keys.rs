//! The keys of values, which expressions read.

use std::collections::BTreeSet;

use ephor_value::Value;

/// The keys of an object, or of the objects in a list.
pub fn keys(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Map(map) => out.extend(map.iter().map(|(k, _)| k.to_string())),
        Value::List(items) => {
            for item in items.iter().filter(|item| matches!(item, Value::Map(_))) {
                keys(item, out);
            }
        }
        _ => {}
    }
}

/// The keys of every object inside of a value.
pub fn all_keys(value: &Value, out: &mut BTreeSet<String>) {
    keys(value, out);
    match value {
        Value::Map(map) => map.values().for_each(|v| all_keys(v, out)),
        Value::List(items) => items.iter().for_each(|v| all_keys(v, out)),
        _ => {}
    }
}
