//! JSON schemas of Kubernetes' own kinds, from what API servers publish.
//!
//! In: the types of a release. Out: schemas as [`super::json_schema`] writes those of Kyverno's
//! kinds: closed where an API server drops unknown fields.

use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Field, Leaf, Type, TypeDef};
use ephor_value::{Map, Str, Value};

use super::json_schema::{KindSchema, of_kind};

/// How deep types are followed; deeper ones, which refer to themselves, hold anything.
const MAX_DEPTH: usize = 12;

/// The schemas of the kinds of a group, in the order of versions and names.
pub fn of_group(group: &str, types: &Types) -> Vec<KindSchema> {
    let mut kinds: Vec<_> = types.kinds().filter(|([of, ..], _)| **of == *group).collect();
    kinds.sort_by_key(|(kind, _)| (*kind).clone());
    let one = |([group, version, kind], def): (&[Str; 3], &TypeDef)| {
        let api_version = format!("{group}/{version}");
        let schema = of_kind(&object(def, types, 0), &api_version, kind);
        KindSchema { api_version, kind: kind.to_string(), schema }
    };
    kinds.into_iter().map(one).collect()
}

fn object(def: &TypeDef, types: &Types, depth: usize) -> Value {
    if let Some(leaf) = def.leaf {
        return scalar(leaf);
    }
    let is_whole = !def.open && !def.fields.is_empty() && depth < MAX_DEPTH;
    let open =
        Value::map([("type", "object".into()), ("x-kubernetes-preserve-unknown-fields", Value::Bool(true))]);
    if !is_whole {
        return open;
    }
    let one = |field: &Field| (field.name.clone(), of_field(field, types, depth + 1));
    let properties: Map = def.fields.iter().map(one).collect();
    let required = def.fields.iter().filter(|field| field.required).map(|field| Value::from(&*field.name));
    let schema = Value::map([("type", "object".into()), ("properties", Value::Map(properties))]);
    match required.collect::<Vec<_>>() {
        required if required.is_empty() => schema,
        required => schema.with("required", Value::list(required)),
    }
}

/// A field may be null: an API server takes that for a field that is not there.
fn of_field(field: &Field, types: &Types, depth: usize) -> Value {
    let schema = of_type(&field.ty, types, depth);
    match field.required || schema.get("type").is_none() {
        true => schema,
        false => schema.with("nullable", Value::Bool(true)),
    }
}

fn of_type(ty: &Type, types: &Types, depth: usize) -> Value {
    match ty {
        Type::Leaf(leaf) => scalar(*leaf),
        Type::Named(name, _) => match types.named(name) {
            Some(def) => object(def, types, depth),
            None => Value::map([]),
        },
        Type::List(_, item) => {
            Value::map([("type", "array".into()), ("items", of_type(item, types, depth + 1))])
        }
        Type::Map(value, _) => Value::map([
            ("type", "object".into()),
            ("additionalProperties", of_type(value, types, depth + 1)),
        ]),
    }
}

fn scalar(leaf: Leaf) -> Value {
    let of = |name: &str| Value::map([("type", name.into())]);
    let any_of =
        |names: [&str; 2]| Value::map([("type", Value::list(names.into_iter().map(Value::from).collect()))]);
    match leaf {
        Leaf::String | Leaf::Bytes | Leaf::Time | Leaf::MicroTime => of("string"),
        Leaf::Int32 | Leaf::Int64 => of("integer"),
        Leaf::Double => of("number"),
        Leaf::Bool => of("boolean"),
        Leaf::IntOrString => any_of(["integer", "string"]),
        Leaf::Quantity => any_of(["number", "string"]),
        Leaf::Any => Value::map([]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_of_admission_policies_have_closed_schemas() {
        let all = of_group("admissionregistration.k8s.io", Types::built_in());
        let files: Vec<String> = all.iter().map(KindSchema::file).collect();
        let file = "admissionregistration.k8s.io/validatingadmissionpolicy_v1.json";
        assert!(files.iter().any(|one| one == file), "{files:?}");
        let policy = all.iter().find(|one| one.file() == file).map(|one| &one.schema);
        let spec = policy.and_then(|schema| schema.at(&["properties", "spec"]));
        assert_eq!(spec.and_then(|s| s.get("additionalProperties")), Some(&Value::Bool(false)));
        let expression = ["properties", "validations", "items", "properties", "expression", "type"];
        assert_eq!(spec.and_then(|s| s.at(&expression)), Some(&Value::from("string")));
    }
}
