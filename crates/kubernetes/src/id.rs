//! How requests name kinds and resources: objects with group, version and the name.

use ephor_value::{Str, Value};

/// `{"group": …, "version": …, "kind": …}`.
pub fn kind_object(parts: [impl Into<Str>; 3]) -> Value {
    object("kind", parts)
}

/// `{"group": …, "version": …, "resource": …}`.
pub fn resource_object(parts: [impl Into<Str>; 3]) -> Value {
    object("resource", parts)
}

fn object(last: &str, parts: [impl Into<Str>; 3]) -> Value {
    let keys = ["group", "version", last].map(Str::from);
    Value::Map(keys.into_iter().zip(parts.map(|part| Value::Str(part.into()))).collect())
}
