//! Objects in which the order of items says nothing where an API server ignores it.
//!
//! In: an object. Out: the same with lists that are sets or maps by keys in one order.

use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{ListKind, Type, TypeDef};
use ephor_value::Value;
use ephor_value::print::json;

use crate::model::environment::Environment;

/// An object in which the order of items says nothing where the schema of its kind says so.
pub(crate) fn normal(object: &Value, environment: &Environment) -> Value {
    let types = Types::built_in();
    match types.of_object(&environment.object) {
        Some(def) => of_def(types, object, def),
        None => sorted(object),
    }
}

pub(crate) fn of_def(types: &Types, value: &Value, def: &TypeDef) -> Value {
    let Value::Map(map) = value else { return value.clone() };
    let of = |key: &str, value: &Value| match def.field(key) {
        Some(field) => of_type(types, value, &field.ty),
        None => sorted(value),
    };
    let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.clone(), of(key, value))).collect();
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Value::Map(entries.into_iter().collect())
}

pub(crate) fn of_type(types: &Types, value: &Value, ty: &Type) -> Value {
    match (ty, value) {
        (Type::Named(name, _), _) => match types.named(name) {
            Some(def) => of_def(types, value, def),
            None => sorted(value),
        },
        (Type::List(kind, item), Value::List(items)) => {
            let mut items: Vec<Value> = items.iter().map(|value| of_type(types, value, item)).collect();
            if !matches!(kind, ListKind::Atomic) {
                items.sort_by_key(json);
            }
            Value::list(items)
        }
        (Type::Map(inner, _), Value::Map(map)) => {
            let mut entries: Vec<_> =
                map.iter().map(|(key, value)| (key.clone(), of_type(types, value, inner))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Map(entries.into_iter().collect())
        }
        _ => sorted(value),
    }
}

/// A value whose objects have their keys in order, which says nothing.
pub(crate) fn sorted(value: &Value) -> Value {
    match value {
        Value::Map(map) => {
            let entries = map.sorted().into_iter();
            Value::Map(entries.map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::List(items) => Value::list(items.iter().map(sorted).collect::<Vec<_>>()),
        other => other.clone(),
    }
}
