//! What an API server drops of an object when it decodes it: fields that the kind does not have.

use super::schema::{Type, TypeDef, Types};
use ephor_value::{Map, Value};

/// Objects that nest deeper are not read.
const MAX_DEPTH: usize = 512;

/// The object without the fields that its kind does not know.
pub fn pruned(object: &Value, def: &TypeDef, types: &Types) -> Value {
    match object {
        Value::Map(m) if !has_all(m, def, types, 0) => Value::Map(fields(m, def, types, 0)),
        other => other.clone(),
    }
}

/// Whether a kind has all fields of an object: then it stays as it is.
fn has_all(m: &Map, def: &TypeDef, types: &Types, depth: usize) -> bool {
    let is_known = |(k, v): (&ephor_value::Str, &Value)| {
        def.field(k).is_some_and(|field| has_all_inside(v, &field.ty, types, depth + 1))
    };
    m.iter().all(is_known)
}

fn has_all_inside(v: &Value, ty: &Type, types: &Types, depth: usize) -> bool {
    depth > MAX_DEPTH
        || match (ty, v) {
            (Type::Named(name, _), Value::Map(m)) => match types.named(name) {
                Some(def) if def.leaf.is_none() => has_all(m, def, types, depth),
                _ => true,
            },
            (Type::List(_, item), Value::List(items)) => {
                items.iter().all(|v| has_all_inside(v, item, types, depth + 1))
            }
            (Type::Map(inner, _), Value::Map(m)) => {
                m.values().all(|v| has_all_inside(v, inner, types, depth + 1))
            }
            _ => true,
        }
}

fn fields(m: &Map, def: &TypeDef, types: &Types, depth: usize) -> Map {
    let known = |(k, v): (&ephor_value::Str, &Value)| {
        let field = def.field(k)?;
        Some((k.clone(), value(v, &field.ty, types, depth + 1)))
    };
    m.iter().filter_map(known).collect()
}

fn value(v: &Value, ty: &Type, types: &Types, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return v.clone();
    }
    inside(v, ty, types, &|m, def| fields(m, def, types, depth), &|v, ty| value(v, ty, types, depth + 1))
}

/// A value made anew of its parts: the fields of a named type, the items of a list, the values of a
/// map.
pub(super) fn inside(
    v: &Value,
    ty: &Type,
    types: &Types,
    fields: &dyn Fn(&Map, &TypeDef) -> Map,
    part: &dyn Fn(&Value, &Type) -> Value,
) -> Value {
    match (ty, v) {
        (Type::Named(name, _), Value::Map(m)) => match types.named(name) {
            Some(def) if def.leaf.is_none() => Value::Map(fields(m, def)),
            _ => v.clone(),
        },
        (Type::List(_, item), Value::List(items)) => {
            Value::list(items.iter().map(|v| part(v, item)).collect())
        }
        (Type::Map(inner, _), Value::Map(m)) => {
            Value::Map(m.iter().map(|(k, v)| (k.clone(), part(v, inner))).collect())
        }
        _ => v.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn unknown_fields_go_at_every_depth_and_free_maps_stay() {
        let read = |text: &str| ephor_document::yaml_value(text).unwrap();
        let pod = read(
            "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {any: thing}}, nonsense: 1, \
             spec: {containers: [{name: c, imag: x}]}}",
        );
        let types = Types::built_in();
        let def = types.of_kind(&["".into(), "v1".into(), "Pod".into()]).unwrap();
        let wanted = read(
            "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {any: thing}}, spec: {containers: [{name: c}]}}",
        );
        assert!(pruned(&pod, def, types).json_eq(&wanted));
    }
}
