//! Schemas of kinds as a server publishes them, without references.
//!
//! In: group, version and kind, definitions of custom resources, and the release of the server.
//! Out: an OpenAPI schema. That of a kind that every server has is put together from the table; a
//! type that contains itself is an object without fields the second time.

use super::schema::{Leaf, ListKind, Type, TypeDef, Types};
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};

/// The schema of a kind; `None` when nothing is published.
pub fn schema<'v>(
    kind: &[Str; 3],
    definitions: impl IntoIterator<Item = &'v Value>,
    release: Release,
) -> Option<Value> {
    let types = Types::of_release(release);
    for definition in definitions {
        let is_it = definition.text_at(&["kind"]) == "CustomResourceDefinition"
            && definition.text_at(&["spec", "group"]) == &*kind[0]
            && definition.text_at(&["spec", "names", "kind"]) == &*kind[2];
        if is_it && let Some(found) = custom(definition, &kind[1], types) {
            return Some(found);
        }
    }
    Some(object(types.of_kind(kind)?, types, &mut Vec::new()))
}

/// The schema of a version of a custom resource, with what every object has.
fn custom(definition: &Value, version: &str, types: &Types) -> Option<Value> {
    let versions = definition.at(&["spec", "versions"])?.as_list()?;
    let served = |v: &&Value| {
        v.text_at(&["name"]) == version && v.get("served").and_then(Value::as_bool) != Some(false)
    };
    let own = versions.iter().find(served)?.at(&["schema", "openAPIV3Schema"])?;
    let mut schema = own.as_map()?.clone();
    let mut properties = schema.get("properties").and_then(Value::as_map).cloned().unwrap_or_default();
    properties.insert("apiVersion", typed("string"));
    properties.insert("kind", typed("string"));
    if let Some(metadata) = types.named("meta/v1.ObjectMeta") {
        properties.insert("metadata", object(metadata, types, &mut Vec::new()));
    }
    schema.insert("properties", Value::Map(properties));
    Some(Value::Map(schema))
}

fn object(def: &TypeDef, types: &Types, open: &mut Vec<Str>) -> Value {
    if let Some(known) = def.leaf {
        // A type whose form is not known has no type in its schema.
        return if known == Leaf::Any && def.open { typed("object") } else { leaf(known) };
    }
    if open.contains(&def.name) || def.is_empty_structure() {
        return typed("object");
    }
    open.push(def.name.clone());
    let properties = def.fields.iter().map(|f| (f.name.clone(), of(&f.ty, types, open))).collect();
    open.pop();
    with("object", "properties", Value::Map(properties))
}

fn of(ty: &Type, types: &Types, open: &mut Vec<Str>) -> Value {
    match ty {
        Type::Leaf(known) => leaf(*known),
        Type::Named(name, _) => types.named(name).map_or(Value::Map(Map::new()), |d| object(d, types, open)),
        Type::Map(values, _) => with("object", "additionalProperties", of(values, types, open)),
        Type::List(kind, items) => {
            let Value::Map(mut list) = with("array", "items", of(items, types, open)) else {
                return Value::Null;
            };
            let (name, keys): (_, &[Str]) = match kind {
                ListKind::Atomic => ("atomic", &[]),
                ListKind::Set => ("set", &[]),
                ListKind::Keyed(keys) => ("map", keys),
            };
            list.insert("x-kubernetes-list-type", name.into());
            list.insert(
                "x-kubernetes-list-map-keys",
                keys.iter().cloned().map(Value::Str).collect::<Vec<_>>().into(),
            );
            Value::Map(list)
        }
    }
}

fn leaf(leaf: Leaf) -> Value {
    match leaf {
        Leaf::String => typed("string"),
        Leaf::Bytes => with("string", "format", "byte".into()),
        Leaf::Time | Leaf::MicroTime => with("string", "format", "date-time".into()),
        Leaf::IntOrString => {
            Value::Map([(Str::from("format"), "int-or-string".into())].into_iter().collect())
        }
        Leaf::Int32 | Leaf::Int64 => typed("integer"),
        Leaf::Double => typed("number"),
        Leaf::Bool => typed("boolean"),
        // What may be text or number has alternatives instead of a type.
        Leaf::Quantity | Leaf::Any => Value::Map(Map::new()),
    }
}

fn typed(name: &str) -> Value {
    Value::Map([(Str::from("type"), name.into())].into_iter().collect())
}

fn with(name: &str, key: &str, value: Value) -> Value {
    Value::Map([(Str::from("type"), name.into()), (Str::from(key), value)].into_iter().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(kind: [&str; 3], path: &[&str]) -> Option<Value> {
        let mut found = schema(&kind.map(Str::from), [], Release::default())?;
        for key in path {
            found = found.get(key)?.clone();
        }
        Some(found)
    }

    #[test]
    fn fields_that_may_be_text_or_number_have_no_type() {
        let container = ["properties", "spec", "properties", "containers", "items", "properties"];
        let limits =
            [&container[..], &["resources", "properties", "limits", "additionalProperties"]].concat();
        assert!(at(["", "v1", "Pod"], &limits).unwrap().get("type").is_none());
        let image = [&container[..], &["image", "type"]].concat();
        assert_eq!(at(["", "v1", "Pod"], &image).unwrap().as_str(), Some("string"));
    }

    #[test]
    fn fields_of_a_release_are_published_by_it_and_later_ones() {
        let pod = ["", "v1", "Pod"].map(Str::from);
        let path = ["properties", "spec", "properties", "evictionResponders"];
        let has = |release| schema(&pod, [], release).is_some_and(|s| s.at(&path).is_some());
        assert!(!has(Release::V1_36) && has(Release::V1_37));
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let inner = ["properties", "spec", "properties", "versions", "items", "properties", "schema"];
        let schema = [&inner[..], &["properties", "openAPIV3Schema", "properties", "not"]].concat();
        let kind = ["apiextensions.k8s.io", "v1", "CustomResourceDefinition"];
        let found = at(kind, &schema).unwrap();
        assert!(found.text_at(&["type"]) == "object" && found.get("properties").is_none());
    }

    #[test]
    fn a_kind_has_the_schema_of_the_release() {
        let kind = ["resource.k8s.io", "v1", "DeviceTaintRule"].map(Str::from);
        assert!(schema(&kind, [], Release::V1_36).is_none());
        assert!(schema(&kind, [], Release::V1_37).is_some());
    }

    #[test]
    fn kinds_without_description_have_no_schema() {
        assert!(at(["acme.test", "v1", "Gadget"], &[]).is_none());
    }
}
