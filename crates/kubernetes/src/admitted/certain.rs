//! What an API server refuses, whatever else an object has.
//!
//! In: a kind and an object, which need not be admitted. Out: whether an item of one of its lists
//! lacks the one key of the list, where it must have it; null is such an item. Of several keys some
//! have defaults (`protocol`), so such lists are not read. And whether a text stands in the
//! place of a quantity that is none. Nothing is known of kinds that are not built in.

use super::refusal::is_set;
use super::table::is_required;
use crate::schema::{Leaf, ListKind, Type, TypeDef, Types};
use ephor_value::quantity::Quantity;
use ephor_value::{Str, Value, stack};

/// Whether an item of a list lacks a key that an API server requires.
pub fn has_nameless(kind: &[Str; 3], object: &Value) -> bool {
    has(kind, object, &|value, ty| match (ty, value) {
        (Type::List(ListKind::Keyed(keys), item), Value::List(items)) => match &**keys {
            [key] => items.iter().any(|one| lacks(one, key, item)),
            _ => false,
        },
        _ => false,
    })
}

/// Whether a text that is no quantity stands in the place of one.
pub fn has_no_quantity(kind: &[Str; 3], object: &Value) -> bool {
    has(kind, object, &|value, ty| match (ty, value) {
        (Type::Leaf(Leaf::Quantity), Value::Str(text)) => Quantity::parse(text).is_none(),
        _ => false,
    })
}

/// Whether a value somewhere in an object, with its type, is such a one.
fn has(kind: &[Str; 3], object: &Value, is_one: &dyn Fn(&Value, &Type) -> bool) -> bool {
    Types::built_in().of_object(kind).is_some_and(|def| in_fields(object, def, is_one))
}

fn in_fields(value: &Value, def: &TypeDef, is_one: &dyn Fn(&Value, &Type) -> bool) -> bool {
    let fields = value.as_map().into_iter().flat_map(|map| map.iter());
    let mut typed = fields.filter_map(|(key, value)| Some((value, &def.field(key)?.ty)));
    typed.any(|(value, ty)| stack::deep(|| in_value(value, ty, is_one)))
}

fn in_value(value: &Value, ty: &Type, is_one: &dyn Fn(&Value, &Type) -> bool) -> bool {
    is_one(value, ty)
        || match (ty, value) {
            (Type::Named(name, _), _) => {
                Types::built_in().named(name).is_some_and(|def| in_fields(value, def, is_one))
            }
            (Type::Map(below, _), Value::Map(map)) => {
                map.values().any(|value| in_value(value, below, is_one))
            }
            (Type::List(_, item), Value::List(items)) => items.iter().any(|one| in_value(one, item, is_one)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of_pod(containers: &str) -> bool {
        let containers: Value = serde_json::from_str(containers).unwrap();
        has_nameless(&pod(), &Value::map([("spec", Value::map([("containers", containers)]))]))
    }

    fn pod() -> [Str; 3] {
        ["".into(), "v1".into(), "Pod".into()]
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

    #[test]
    fn a_text_that_is_no_quantity_is_found() {
        let of = |cpu: &str| {
            let text =
                format!(r#"{{"spec": {{"containers": [{{"resources": {{"limits": {{"cpu": {cpu}}}}}}}]}}}}"#);
            has_no_quantity(&pod(), &serde_json::from_str(&text).unwrap())
        };
        assert!(of(r#""5s""#));
        assert!(!of(r#""5m""#));
        assert!(!of("5"));
    }
}
