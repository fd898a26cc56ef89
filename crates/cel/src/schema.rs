//! Types from OpenAPI schemas: what the checker knows of objects of a kind.
//!
//! In: a schema, structural (custom resources) or published by a server. Out: a [`Declared`] type
//! with the fields that expressions may name, how large its values can be, and how data are read
//! ([`values`]). Properties whose schema says nothing of a type are no fields. Semantics:
//! `docs/expressions/cel.md`.
//!
//! - [`names`]: names of properties as expressions write them
//! - [`values`]: data → values as their schema declares them

pub mod names;
#[cfg(feature = "declared-data")]
pub mod values;

use std::sync::Arc;

use super::types::Type;
use ephor_value::{Str, Value};

/// A type that a schema declares.
#[derive(Clone, Debug)]
pub struct Declared {
    /// As the checker sees it; objects have the name of their path.
    pub ty: Type,
    /// Its structure.
    pub kind: TypeKind,
    /// Whether null is a value of it.
    pub nullable: bool,
    /// The most items, entries or bytes that it can have.
    pub most: u64,
    /// The fewest bytes that it has in JSON.
    fewest: u64,
}

/// The structure of a declared type.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// Neither of the following.
    Scalar(Scalar),
    /// A list.
    List(Arc<Declared>, ListKind),
    /// A map with string keys.
    Map(Arc<Declared>),
    /// An object with fields.
    Object(Vec<Field>),
}

/// Scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of CEL's and JSON's types")]
pub enum Scalar {
    Bool,
    Int,
    Double,
    String,
    Bytes,
    Date,
    DateTime,
    Duration,
    IntOrString,
}

/// How lists compare and are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// In order, with repetitions.
    Plain,
    /// Without order, each item once.
    Set,
    /// Without order, each item known by these members.
    Map(Vec<Str>),
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name in expressions.
    pub name: Option<Str>,
    /// The name in data.
    pub property: Str,
    /// Its type; `None` when the schema says nothing of it.
    pub declared: Option<Declared>,
}

/// The size of a request that a server takes.
const REQUEST: u64 = 3 * 1024 * 1024;
/// The same without the quotes or brackets around a value.
const MAX_VALUE: u64 = REQUEST - 2;
/// How deeply schemas may nest.
const MAX_DEPTH: usize = 64;

impl Declared {
    /// The type that a schema declares, with `name` for its objects; `resource` adds what every
    /// resource has. `None` when the schema declares no type.
    pub fn of(schema: &Value, resource: bool, name: &str) -> Option<Declared> {
        declared(schema, resource, name, 0)
    }

    /// The type at a path of fields, `@items`, `@keys` and `@values`: its largest size.
    pub fn most_at(&self, path: &[Str]) -> Option<u64> {
        let Some((first, rest)) = path.split_first() else { return Some(self.most) };
        match (&self.kind, &**first) {
            (TypeKind::List(item, _), "@items") | (TypeKind::Map(item), "@values") => item.most_at(rest),
            // Keys are texts of which nothing is known.
            (TypeKind::Map(_), "@keys") => rest.is_empty().then_some(0),
            (TypeKind::Object(fields), name) => {
                let field = fields.iter().find(|f| f.name.as_deref() == Some(name))?;
                field.declared.as_ref()?.most_at(rest)
            }
            _ => None,
        }
    }
}

fn scalar(scalar: Scalar, ty: Type, most: u64, fewest: u64) -> Declared {
    Declared { ty, kind: TypeKind::Scalar(scalar), nullable: false, most, fewest }
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn limit(schema: &Value, key: &str) -> Option<u64> {
    match schema.get(key)? {
        Value::Int(n) => Some(u64::try_from(*n).unwrap_or(0)),
        Value::Float(f) => Some(f.max(0.0) as u64),
        _ => None,
    }
}

fn declared(schema: &Value, resource: bool, name: &str, depth: usize) -> Option<Declared> {
    if depth > MAX_DEPTH {
        return None;
    }
    if flag(schema, "x-kubernetes-int-or-string") || schema.text_at(&["format"]) == "int-or-string" {
        return Some(Declared {
            nullable: flag(schema, "nullable"),
            ..scalar(Scalar::IntOrString, Type::Dyn, MAX_VALUE, 1)
        });
    }
    let found = match schema.text_at(&["type"]) {
        "array" => list(schema, name, depth),
        "object" => match schema.get("additionalProperties").filter(|v| v.as_map().is_some()) {
            Some(values) => map(schema, values, name, depth),
            None => Some(object(schema, resource, name, depth)),
        },
        "string" => Some(text(schema)),
        "boolean" => Some(scalar(Scalar::Bool, Type::Bool, 0, 4)),
        "number" => Some(scalar(Scalar::Double, Type::Double, 0, 1)),
        "integer" => Some(scalar(Scalar::Int, Type::Int, 0, 1)),
        _ => None,
    };
    found.map(|d| Declared { nullable: flag(schema, "nullable"), ..d })
}

fn text(schema: &Value) -> Declared {
    let length = limit(schema, "maxLength");
    match schema.text_at(&["format"]) {
        "byte" => scalar(Scalar::Bytes, Type::Bytes, length.unwrap_or(MAX_VALUE), 2),
        "duration" => scalar(Scalar::Duration, Type::Duration, 32, 3),
        "date" => scalar(Scalar::Date, Type::Timestamp, 12, 12),
        "date-time" => scalar(Scalar::DateTime, Type::Timestamp, 32, 21),
        _ => {
            let words = schema.get("enum").and_then(Value::as_list).unwrap_or_default();
            let longest = words.iter().filter_map(Value::as_str).map(str::len).max();
            let longest = longest.and_then(|n| u64::try_from(n).ok()).unwrap_or(MAX_VALUE);
            // Four bytes a character.
            scalar(Scalar::String, Type::String, length.map_or(longest, |n| n.saturating_mul(4)), 2)
        }
    }
}

fn list(schema: &Value, name: &str, depth: usize) -> Option<Declared> {
    let items = schema.get("items")?;
    let embedded = flag(items, "x-kubernetes-embedded-resource");
    let item = declared(items, embedded, &format!("{name}.@idx"), depth + 1)?;
    let most = limit(schema, "maxItems").unwrap_or(MAX_VALUE / (item.fewest + 1));
    let kind = match schema.text_at(&["x-kubernetes-list-type"]) {
        "set" => ListKind::Set,
        "map" => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_list).unwrap_or_default();
            ListKind::Map(keys.iter().filter_map(Value::as_str).map(Str::from).collect())
        }
        _ => ListKind::Plain,
    };
    let ty = Type::list(item.ty.clone());
    Some(Declared { ty, kind: TypeKind::List(Arc::new(item), kind), nullable: false, most, fewest: 2 })
}

fn map(schema: &Value, values: &Value, name: &str, depth: usize) -> Option<Declared> {
    let embedded = flag(values, "x-kubernetes-embedded-resource");
    let value = declared(values, embedded, &format!("{name}.@elem"), depth + 1)?;
    let most = limit(schema, "maxProperties").unwrap_or(MAX_VALUE / (value.fewest + 6));
    let ty = Type::map(Type::String, value.ty.clone());
    Some(Declared { ty, kind: TypeKind::Map(Arc::new(value)), nullable: false, most, fewest: 2 })
}

fn object(schema: &Value, resource: bool, name: &str, depth: usize) -> Declared {
    let mut fields = Vec::new();
    let required = schema.get("required").and_then(Value::as_list).unwrap_or_default();
    let mut fewest = 2;
    let add_own = resource && !describes_resource(schema);
    let own = ["apiVersion", "kind", "metadata"];
    for (property, inner) in
        schema.get("properties").and_then(Value::as_map).into_iter().flat_map(|m| m.iter())
    {
        if add_own && own.contains(&&**property) {
            continue;
        }
        let accessible = names::escape(property);
        let path = format!("{name}.{}", accessible.as_deref().unwrap_or(property));
        let embedded = flag(inner, "x-kubernetes-embedded-resource");
        let declared = declared(inner, embedded, &path, depth + 1);
        if let Some(d) = &declared
            && inner.get("default").is_none()
            && required.iter().any(|r| r.as_str() == Some(property))
        {
            fewest += u64::try_from(property.len()).unwrap_or(0) + d.fewest + 4;
        }
        fields.push(Field { name: accessible, property: property.clone(), declared });
    }
    if add_own {
        let text = || Some(scalar(Scalar::String, Type::String, MAX_VALUE, 2));
        let field = |name: &str, declared| Field { name: Some(name.into()), property: name.into(), declared };
        let metadata = Declared {
            ty: Type::Struct(format!("{name}.metadata").into()),
            kind: TypeKind::Object(vec![field("name", text()), field("generateName", text())]),
            nullable: false,
            most: 0,
            fewest: 2,
        };
        fields.push(field("apiVersion", text()));
        fields.push(field("kind", text()));
        fields.push(field("metadata", Some(metadata)));
    }
    Declared {
        ty: Type::Struct(name.into()),
        kind: TypeKind::Object(fields),
        nullable: false,
        most: 0,
        fewest,
    }
}

/// Whether a schema says itself what every resource has.
fn describes_resource(schema: &Value) -> bool {
    let is = |path: &[&str], wanted: &str| {
        let mut at = Some(schema);
        for key in path {
            at = at.and_then(|v| v.get("properties")).and_then(|v| v.get(key));
        }
        at.is_some_and(|v| v.text_at(&["type"]) == wanted)
    };
    is(&["kind"], "string")
        && is(&["apiVersion"], "string")
        && is(&["metadata"], "object")
        && is(&["metadata", "name"], "string")
        && is(&["metadata", "generateName"], "string")
}
