//! How requests name kinds and resources: objects with group, version and the name.

use ephor_value::stock::stock;
use ephor_value::{Map, Str, Value};

/// `{"group": …, "version": …, "kind": …}`.
pub fn kind_object(parts: [impl Into<Str>; 3]) -> Value {
    object("kind", parts)
}

/// `{"group": …, "version": …, "resource": …}`.
pub fn resource_object(parts: [impl Into<Str>; 3]) -> Value {
    object("resource", parts)
}

fn object(last: &'static str, parts: [impl Into<Str>; 3]) -> Value {
    let names = ["group", "version", last].map(stock);
    Value::Map(Map::from_unique(names.into_iter().zip(parts.map(|part| Value::Str(part.into()))).collect()))
}
