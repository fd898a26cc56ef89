//! A schema table as the structural schema of a CustomResourceDefinition.
//!
//! In: a table. Out: its `openAPIV3Schema`. Semantics: "Specifying a structural schema" in the
//! Kubernetes documentation of CustomResourceDefinitions. Descriptions are left out: they would be
//! nine tenths of the text.

use super::shape::{Field, Kind, Object, Rule};
use ephor_value::{Map, Str, Value};

/// The parts of a schema, in the order in which they are printed.
type Parts = Vec<(Str, Value)>;

/// The schema of a kind, with the fields that every object has.
pub fn of_kind(table: &Object) -> Value {
    let mut properties: Parts = vec![
        ("apiVersion".into(), typed("string")),
        ("kind".into(), typed("string")),
        ("metadata".into(), typed("object")),
    ];
    properties.extend(members(table));
    let mut parts = object_parts(table);
    parts.push(("properties".into(), Value::Map(Map::from_unique(properties))));
    Value::Map(Map::from_unique(parts))
}

/// The schema of a field.
fn of_field(field: &Field) -> Value {
    let mut schema = of(&field.kind);
    if let Some(literal) = field.default.or(field.stored_default) {
        schema = schema.with("default", literal.value());
    }
    if field.is_filled {
        let least = if matches!(field.kind, Kind::Text) { "minLength" } else { "minItems" };
        schema = schema.with(least, Value::Int(1));
    }
    if field.is_nullable {
        schema = schema.with("nullable", Value::Bool(true));
    }
    schema
}

/// The schema of what a field or an item may hold.
pub(super) fn of(kind: &Kind) -> Value {
    match kind {
        Kind::Any | Kind::Conditions | Kind::ValidateLoops | Kind::MutateLoops => open(),
        Kind::Text => typed("string"),
        Kind::Short(most) => typed("string").with("maxLength", length(*most)),
        Kind::Shaped(shape) => {
            let schema = typed("string").with("maxLength", length(shape.most));
            let schema = schema.with("pattern", Value::from(shape.pattern));
            if shape.filled { schema.with("minLength", Value::Int(1)) } else { schema }
        }
        Kind::DateTime => formatted("string", "date-time"),
        Kind::Duration => formatted("string", "duration"),
        Kind::Choice(choices) => typed("string").with("enum", texts(choices)),
        Kind::Flag | Kind::Switch => typed("boolean"),
        Kind::Int32 => formatted("integer", "int32"),
        Kind::Int64 => formatted("integer", "int64"),
        Kind::Count => formatted("integer", "int64").with("minimum", Value::Int(0)),
        Kind::Whole(None) => typed("integer"),
        Kind::Whole(Some(least)) => typed("integer").with("minimum", Value::Int(*least)),
        Kind::Open => typed("object").with("x-kubernetes-preserve-unknown-fields", Value::Bool(true)),
        Kind::TextMap => typed("object").with("additionalProperties", typed("string")),
        Kind::MapOf(kind) => typed("object").with("additionalProperties", of(kind)),
        Kind::List(kind) => items(kind),
        Kind::Atomic(kind) => list_of_type(kind, "atomic"),
        Kind::Set(kind) => list_of_type(kind, "set"),
        Kind::Named(kind) => list_of_type(kind, "map").with("x-kubernetes-list-map-keys", texts(&["name"])),
        Kind::Object(table) => of_object(table),
    }
}

fn of_object(table: &Object) -> Value {
    let mut parts = object_parts(table);
    parts.push(("properties".into(), Value::Map(members(table).into_iter().collect())));
    Value::Map(Map::from_unique(parts))
}

fn members(table: &Object) -> Parts {
    let mut fields: Vec<&Field> = table.fields.iter().collect();
    fields.sort_unstable_by_key(|field| field.name);
    fields.into_iter().map(|field| (field.name.into(), of_field(field))).collect()
}

/// What the schema of an object says besides its fields.
fn object_parts(table: &Object) -> Parts {
    let mut parts: Parts = vec![("type".into(), "object".into())];
    let mut required: Vec<&str> = table.fields.iter().filter(|f| f.required).map(|f| f.name).collect();
    required.sort_unstable();
    if !required.is_empty() {
        parts.push(("required".into(), texts(&required)));
    }
    match table.rule {
        Rule::Free => {}
        Rule::NotBoth(a, b) => {
            parts.push(("not".into(), Value::map([("required", texts(&[a, b]))])));
        }
        Rule::OneOf(names) => {
            let one = |name: &&str| Value::map([("required", texts(&[*name]))]);
            parts.push(("oneOf".into(), Value::list(names.iter().map(one).collect())));
        }
        Rule::LateUnknown => {
            parts.push(("x-kubernetes-preserve-unknown-fields".into(), Value::Bool(true)));
        }
    }
    if table.is_atomic {
        parts.push(("x-kubernetes-map-type".into(), "atomic".into()));
    }
    parts
}

fn typed(name: &str) -> Value {
    Value::map([("type", name.into())])
}

fn formatted(name: &str, format: &str) -> Value {
    Value::map([("type", name.into()), ("format", format.into())])
}

fn open() -> Value {
    Value::map([("x-kubernetes-preserve-unknown-fields", Value::Bool(true))])
}

fn items(kind: &Kind) -> Value {
    Value::map([("type", "array".into()), ("items", of(kind))])
}

fn list_of_type(kind: &Kind, name: &str) -> Value {
    items(kind).with("x-kubernetes-list-type", name.into())
}

fn texts(texts: &[&str]) -> Value {
    Value::list(texts.iter().map(|text| Value::from(*text)).collect())
}

fn length(bytes: usize) -> Value {
    Value::Int(i64::try_from(bytes).unwrap_or(i64::MAX))
}
