//! Objects in which quantities are spelled in two ways.
//!
//! In: an object. Out: pairs of it that mean the same, for each place where a quantity may stand:
//! an API server that compares structures by their meaning takes both for equal, one that compares
//! trees does not. Both spellings are as an API server writes them: it keeps whether a quantity is
//! decimal or binary.

use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf, Type, TypeDef};
use ephor_value::{Map, Str, Value};

/// One amount, decimal and binary.
const SPELLINGS: [&str; 2] = ["134217728", "128Mi"];

/// What maps of quantities hold.
const KEY: &str = "memory";

/// Deeper quantities are not spelled.
const MAX_DEPTH: usize = 12;

/// The pairs of an object of a kind; none for kinds of which nothing is known.
pub(crate) fn respelled(kind: &[Str; 3], object: &Value) -> Vec<[Value; 2]> {
    let types = Types::built_in();
    let Some(def) = types.of_object(kind) else { return Vec::new() };
    let mut found = Vec::new();
    of_structure(object, (def, types), 0, &mut |pair| found.push(pair));
    found
}

fn of_structure(
    value: &Value,
    (def, types): (&TypeDef, &Types),
    depth: usize,
    found: &mut dyn FnMut([Value; 2]),
) {
    if depth > MAX_DEPTH || value.as_map().is_none() {
        return;
    }
    for field in &def.fields {
        let below = value.get(&field.name);
        of_type(below, &field.ty, types, depth + 1, &mut |pair| {
            found(pair.map(|part| value.with(&field.name, part)));
        });
    }
}

fn of_type(value: Option<&Value>, ty: &Type, types: &Types, depth: usize, found: &mut dyn FnMut([Value; 2])) {
    match (ty, value) {
        (Type::Leaf(Leaf::Quantity), _) => found(SPELLINGS.map(Value::from)),
        (Type::Map(of, _), _) if matches!(**of, Type::Leaf(Leaf::Quantity)) => {
            let own = value.and_then(Value::as_map).cloned().unwrap_or_default();
            let key = own.keys().next().cloned().unwrap_or_else(|| KEY.into());
            found(SPELLINGS.map(|text| Value::Map(own.clone()).with(&key, Value::from(text))));
        }
        (Type::Named(name, _), _) => {
            let Some(def) = types.named(name).filter(|def| def.leaf.is_none()) else { return };
            let none = Value::Map(Map::new());
            // A structure that is not there is put in where it has quantities of its own.
            let is_near = |def: &TypeDef| {
                def.fields
                    .iter()
                    .any(|f| matches!(&f.ty, Type::Map(of, _) if **of == Type::Leaf(Leaf::Quantity)))
            };
            match value {
                Some(value) => of_structure(value, (def, types), depth, found),
                None if is_near(def) => of_structure(&none, (def, types), MAX_DEPTH, found),
                None => {}
            }
        }
        (Type::List(_, of), Some(Value::List(items))) => {
            let Some(first) = items.first() else { return };
            of_type(Some(first), of, types, depth + 1, &mut |pair| {
                found(pair.map(|part| {
                    let rest = items.iter().skip(1).cloned();
                    Value::list([part].into_iter().chain(rest).collect())
                }));
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_spelled_in_two_ways_wherever_they_may_stand() {
        let pod = ephor_document::yaml_value(
            "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: a}]}}",
        )
        .unwrap();
        let kind = ["", "v1", "Pod"].map(Str::from);
        let path = ["spec", "containers"];
        let of_containers: Vec<[String; 2]> = respelled(&kind, &pod)
            .iter()
            .filter(|[a, _]| a.at(&path) != pod.at(&path))
            .map(|pair| {
                pair.each_ref().map(|one| {
                    let first = one.at(&path).and_then(Value::as_list).and_then(<[Value]>::first);
                    ephor_value::print::json(first.and_then(|c| c.get("resources")).unwrap())
                })
            })
            .collect();
        let both =
            |key: &str| ["134217728", "128Mi"].map(|text| format!("{{\"{key}\":{{\"memory\":\"{text}\"}}}}"));
        assert_eq!(of_containers, [both("limits"), both("requests")]);
    }
}
