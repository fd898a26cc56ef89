//! Types of custom resources: the schemas of their definitions.

use std::sync::Arc;

use super::go::GoNames;
use super::schema::{Field, Leaf, ListKind, Type, TypeDef, Types, Whole};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

/// Schemas that nest deeper are not read.
const MAX_DEPTH: usize = 128;

impl Types {
    /// Those of the kinds that every API server has, and those of custom resources that the
    /// documents define.
    pub fn with<'v>(definitions: impl IntoIterator<Item = &'v Value>) -> Arc<Types> {
        Types::of_release_with(Release::default(), definitions)
    }

    /// As [`Types::with`], for a release of the API server.
    pub fn of_release_with<'v>(
        release: Release,
        definitions: impl IntoIterator<Item = &'v Value>,
    ) -> Arc<Types> {
        let mut own =
            definitions.into_iter().filter(|d| d.text_at(&["kind"]) == "CustomResourceDefinition").peekable();
        if own.peek().is_none() {
            return Types::of_release(release).clone();
        }
        let mut types = (**Types::of_release(release)).clone();
        own.for_each(|d| add(d, &mut types));
        Arc::new(types)
    }
}

/// Adds the types of a definition, for each version.
fn add(definition: &Value, types: &mut Types) {
    let text = |path: &[&str]| Str::from(definition.text_at(path));
    let (group, kind) = (text(&["spec", "group"]), text(&["spec", "names", "kind"]));
    for version in definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default() {
        let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else { continue };
        let version = Str::from(version.text_at(&["name"]));
        let name: Str = format!("{group}/{version}.{kind}").into();
        let mut def = object(schema, &name, types, 0);
        with_common(&mut def);
        types.insert(def);
        types.insert_kind([group.clone(), version, kind.clone()], name);
    }
}

/// Gives a description the fields of every object, whatever it says of them itself.
fn with_common(def: &mut TypeDef) {
    for field in common(false) {
        def.fields.retain(|own| *own.name != *field.name);
        def.fields.push(field);
    }
}

/// The fields of every object.
fn common(required: bool) -> impl Iterator<Item = Field> {
    let all = [
        ("apiVersion", Type::Leaf(Leaf::String)),
        ("kind", Type::Leaf(Leaf::String)),
        ("metadata", Type::Named("meta/v1.ObjectMeta".into(), Whole::Merged)),
    ];
    all.into_iter().map(move |(field, ty)| Field {
        name: field.into(),
        required,
        nullable: false,
        ty,
        formatted: false,
        default: None,
        go: GoNames::default(),
    })
}

/// The type of objects of a kind without a schema: what every object has, and whatever else.
pub fn any_object() -> TypeDef {
    let fields = common(true).collect();
    TypeDef { name: "object".into(), whole: Whole::Merged, leaf: None, open: true, custom: true, fields }
}

fn is(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}

fn object(schema: &Value, name: &Str, types: &mut Types, depth: usize) -> TypeDef {
    let required = schema.get("required").and_then(Value::as_list).unwrap_or_default();
    let mut fields = Vec::new();
    for (field, inner) in schema.get("properties").and_then(Value::as_map).into_iter().flat_map(|m| m.iter())
    {
        let below: Str = format!("{name}.{field}").into();
        fields.push(Field {
            name: field.clone(),
            required: required.iter().any(|r| r.as_str() == Some(field)),
            nullable: is(inner, "nullable"),
            ty: of(inner, &below, types, depth + 1),
            formatted: is_formatted(inner),
            default: inner.get("default").cloned(),
            go: GoNames::default(),
        });
    }
    TypeDef {
        name: name.clone(),
        whole: whole(schema),
        leaf: None,
        open: is(schema, "x-kubernetes-preserve-unknown-fields"),
        custom: true,
        fields,
    }
}

/// Whether texts have a format other than base64, also as items of lists and values of maps.
fn is_formatted(schema: &Value) -> bool {
    match schema.text_at(&["type"]) {
        "string" => !matches!(schema.text_at(&["format"]), "" | "byte"),
        "array" => schema.get("items").is_some_and(is_formatted),
        "object" => schema.get("additionalProperties").is_some_and(is_formatted),
        _ => false,
    }
}

fn whole(schema: &Value) -> Whole {
    if schema.text_at(&["x-kubernetes-map-type"]) == "atomic" { Whole::Atomic } else { Whole::Merged }
}

fn of(schema: &Value, name: &Str, types: &mut Types, depth: usize) -> Type {
    if is(schema, "x-kubernetes-int-or-string") {
        return Type::Leaf(Leaf::IntOrString);
    }
    if depth > MAX_DEPTH {
        return Type::Leaf(Leaf::Any);
    }
    let below = |what: &str| Str::from(format!("{name}.{what}"));
    match schema.text_at(&["type"]) {
        "string" => Type::Leaf(Leaf::String),
        "integer" => Type::Leaf(Leaf::Int64),
        "number" => Type::Leaf(Leaf::Double),
        "boolean" => Type::Leaf(Leaf::Bool),
        "array" => {
            let item = schema
                .get("items")
                .map_or(Type::Leaf(Leaf::Any), |items| of(items, &below("@idx"), types, depth + 1));
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_list).unwrap_or_default();
            let kind = match schema.text_at(&["x-kubernetes-list-type"]) {
                "set" => ListKind::Set,
                "map" => ListKind::Keyed(keys.iter().filter_map(Value::as_str).map(Str::from).collect()),
                _ => ListKind::Atomic,
            };
            Type::List(kind, Box::new(item))
        }
        "object" => {
            if let Some(values @ Value::Map(_)) = schema.get("additionalProperties") {
                let value = of(values, &below("@elem"), types, depth + 1);
                return Type::Map(Box::new(value), whole(schema));
            }
            if is(schema, "x-kubernetes-embedded-resource") {
                let mut def = object(schema, name, types, depth);
                with_common(&mut def);
                types.insert(def);
                return Type::Named(name.clone(), Whole::Merged);
            }
            if schema.get("properties").is_none() && is(schema, "x-kubernetes-preserve-unknown-fields") {
                return Type::Map(Box::new(Type::Leaf(Leaf::Any)), whole(schema));
            }
            let def = object(schema, name, types, depth);
            types.insert(def);
            Type::Named(name.clone(), Whole::Merged)
        }
        _ => Type::Leaf(Leaf::Any),
    }
}
