//! `metadata`: the fields of every Kubernetes object.
//!
//! Unlike the rest of a document it is decoded into a typed object before the schema is checked, so a
//! wrong type here is a parse failure, with the texts of that decoder.

use super::Problem;
use super::check::Walk;
use super::shape::Kind::{self, *};
use super::shape::{Object, field, object, text, texts};
use crate::api::labels;
use crate::value::{Map, Value, print};

static META: Object = object(&[
    text("name"),
    text("generateName"),
    text("namespace"),
    text("selfLink"),
    text("uid"),
    text("resourceVersion"),
    field("generation", Whole(None)),
    text("creationTimestamp"),
    text("deletionTimestamp"),
    field("deletionGracePeriodSeconds", Whole(None)),
    field("labels", TextMap),
    field("annotations", TextMap),
    field("ownerReferences", List(&Object(&OWNER))),
    texts("finalizers"),
    field("managedFields", List(&Object(&MANAGED))),
]);

static OWNER: Object = object(&[
    text("apiVersion"),
    text("kind"),
    text("name"),
    text("uid"),
    field("controller", Switch),
    field("blockOwnerDeletion", Switch),
]);

static MANAGED: Object = object(&[
    text("manager"),
    text("operation"),
    text("apiVersion"),
    text("time"),
    text("fieldsType"),
    field("fieldsV1", Any),
    text("subresource"),
]);

/// Collects the unknown fields of `metadata`.
pub fn unknown_fields(walk: &mut Walk, document: &Map) {
    if let Some(meta) = document.get("metadata").filter(|meta| matches!(meta, Value::Map(_))) {
        walk.in_key("metadata", |walk| walk.unknown_fields(&Object(&META), meta));
    }
}

/// The first type in `metadata` that the typed decoding refuses.
pub fn malformed(document: &Map) -> Option<Problem> {
    let mut walk = Walk::default();
    let meta = document.get("metadata").filter(|meta| !meta.is_null())?;
    let Value::Map(fields) = meta else {
        let text = format!("json: cannot unmarshal {} into Go value of type v1.ObjectMeta", meta.json_type());
        return Some(Problem { path: crate::value::place::parse("metadata"), text });
    };
    walk.in_key("metadata", |walk| object_types(walk, &META, "ObjectMeta", fields));
    walk.problems.into_iter().next()
}

fn object_types(walk: &mut Walk, table: &Object, name: &str, fields: &Map) {
    for (key, value) in fields.iter() {
        if let Some(field) = table.field(key) {
            walk.in_key(key, |walk| types(walk, &field.kind, &format!("{name}.{key}"), value));
        }
    }
}

fn types(walk: &mut Walk, kind: &Kind, target: &str, value: &Value) {
    match (kind, value) {
        (_, Value::Null) | (Any, _) | (Text, Value::Str(_)) | (Switch, Value::Bool(_)) => {}
        (Whole(_), Value::Int(_)) => {}
        (TextMap, Value::Map(fields)) => {
            for (key, value) in fields.iter() {
                walk.in_key(key, |walk| types(walk, &Text, target, value));
            }
        }
        (List(Text), Value::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                walk.in_item(index, |walk| types(walk, &Text, target, item));
            }
        }
        (List(Object(table)), Value::List(items)) => {
            let owner = target.rsplit('.').next().unwrap_or_default();
            let name = if owner == "ownerReferences" { "OwnerReference" } else { "ManagedFieldsEntry" };
            for (index, item) in items.iter().enumerate() {
                walk.in_item(index, |walk| match item {
                    Value::Map(fields) => object_types(walk, table, &format!("{name}.{owner}"), fields),
                    Value::Null => {}
                    other => refuse(walk, other, target, &format!("v1.{name}")),
                });
            }
        }
        (_, other) => refuse(walk, other, target, decoded_type(kind)),
    }
}

fn refuse(walk: &mut Walk, value: &Value, target: &str, wanted: &str) {
    let text = format!(
        "json: cannot unmarshal {} into Go struct field {target} of type {wanted}",
        value.json_type()
    );
    walk.problems.push(Problem { path: walk.path.clone(), text });
}

fn decoded_type(kind: &Kind) -> &'static str {
    match kind {
        Whole(_) => "int64",
        Switch => "bool",
        TextMap => "map[string]string",
        List(Text) => "[]string",
        List(_) => "[]v1.OwnerReference",
        _ => "string",
    }
}

/// Checks name, labels and annotation keys.
pub fn check(walk: &mut Walk, document: &Map) {
    let meta = document.get("metadata").cloned().unwrap_or_default();
    walk.in_key("metadata", |walk| {
        match meta.text_at(&["name"]) {
            "" => walk.in_key("name", |walk| {
                walk.refuse("Required value: name or generateName is required");
            }),
            name => report(walk, "name", name, labels::subdomain_problems(name)),
        }
        for (key, value) in members(&meta, "labels") {
            report(walk, "labels", key, labels::key_problems(key));
            let value = value.as_str().unwrap_or("");
            report(walk, "labels", value, labels::value_problems(value));
        }
        for (key, _) in members(&meta, "annotations") {
            report(walk, "annotations", key, labels::key_problems(&key.to_lowercase()));
        }
    });
}

fn members<'v>(meta: &'v Value, name: &str) -> impl Iterator<Item = (&'v str, &'v Value)> {
    meta.get(name).and_then(Value::as_map).into_iter().flat_map(Map::iter).map(|(k, v)| (&**k, v))
}

fn report(walk: &mut Walk, field: &str, value: &str, problems: Vec<String>) {
    let value = print::json(&Value::from(value));
    for problem in problems {
        walk.in_key(field, |walk| walk.refuse(format!("Invalid value: {value}: {problem}")));
    }
}
