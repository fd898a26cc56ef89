//! Items of lists without the key by which they are known.
//!
//! In: a kind and an object, which need not be admitted. Out: whether an item of one of its lists lacks the one key of the list, where it must have it;
//! null is such an item. An API server refuses the object, whatever else it has. Of several keys some have defaults (`protocol`), so such lists
//! are not looked at.

use super::check::is_set;
use super::table::is_required;
use crate::schema::{ListKind, Type, TypeDef, Types};
use crate::value::{Str, Value, stack};

/// Whether an item of a list lacks a key that an API server requires; `false` for kinds of which nothing is known.
pub fn has_nameless(kind: &[Str; 3], object: &Value) -> bool {
    Types::built_in().of_object(kind).is_some_and(|def| in_fields(object, def))
}

fn in_fields(value: &Value, def: &TypeDef) -> bool {
    let fields = value.as_map().into_iter().flat_map(|map| map.iter());
    let mut typed = fields.filter_map(|(key, value)| Some((value, &def.field(key)?.ty)));
    typed.any(|(value, ty)| stack::deep(|| in_value(value, ty)))
}

fn in_value(value: &Value, ty: &Type) -> bool {
    match (ty, value) {
        (Type::Named(name, _), _) => named(name).is_some_and(|def| in_fields(value, def)),
        (Type::Map(below, _), Value::Map(map)) => map.values().any(|value| in_value(value, below)),
        (Type::List(kind, item), Value::List(items)) => {
            let key = match kind {
                ListKind::Keyed(keys) => <&[Str; 1]>::try_from(&**keys).ok().map(|[key]| key),
                _ => None,
            };
            items.iter().any(|one| key.is_some_and(|key| lacks(one, key, item)) || in_value(one, item))
        }
        _ => false,
    }
}

/// Whether an item lacks a key that it must have.
fn lacks(item: &Value, key: &str, ty: &Type) -> bool {
    let Type::Named(name, _) = ty else { return false };
    let has_none = match item {
        Value::Map(fields) => !is_set(fields, key),
        Value::Null => true,
        _ => false,
    };
    has_none && is_required(name, key)
}

fn named(name: &str) -> Option<&'static TypeDef> {
    Types::built_in().named(name).map(|def| &**def)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_pod(containers: &str) -> bool {
        let containers: Value = serde_json::from_str(containers).unwrap();
        let object = Value::map([("spec", Value::map([("containers", containers)]))]);
        has_nameless(&["".into(), "v1".into(), "Pod".into()], &object)
    }

    #[test]
    fn a_container_without_a_name_is_found_wherever_it_stands() {
        assert!(of_pod(r#"[{"name": "a", "image": "a"}, {"image": "b"}]"#));
        assert!(of_pod(r#"[{"name": "a", "image": "a"}, {"name": "", "image": "b"}]"#));
        assert!(of_pod(r#"[{"name": "a", "image": "a"}, null]"#));
        assert!(of_pod(r#"[{"name": "a", "image": "a", "env": [{"value": "x"}]}]"#));
    }

    #[test]
    fn a_key_with_a_default_is_not_required() {
        assert!(!of_pod(r#"[{"name": "a", "env": [{"name": "x"}], "ports": [{"containerPort": 1}]}]"#));
    }
}
