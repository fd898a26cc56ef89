//! `metadata`: the fields of every Kubernetes object.
//!
//! Unlike the rest of a document it is decoded into a typed object before the schema is checked, so
//! a wrong type here is a parse failure, with the texts of that decoder.

use super::problem::Problem;
use super::shape::Kind::{self, *};
use super::shape::{Object, field, object, text, texts};
use super::walk::Walk;
use crate::labels;
use ephor_value::time::Time;
use ephor_value::{Map, Value, print, quote};

/// The fields of `metadata`.
pub(super) static META: Object = object(&[
    text("name"),
    text("generateName"),
    text("namespace"),
    text("selfLink"),
    text("uid"),
    text("resourceVersion"),
    field("generation", Whole(None)),
    field("creationTimestamp", DateTime),
    field("deletionTimestamp", DateTime),
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
    field("time", DateTime),
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
        return Some(Problem { path: ephor_value::place::parse("metadata"), text, is_type: false });
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
        (DateTime, Value::Str(text)) => {
            if let Err(text) = Time::parse_rfc3339(text) {
                walk.problems.push(Problem {
                    path: walk.path.clone(),
                    text: text.to_string(),
                    is_type: false,
                });
            }
        }
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
    let wanted = match (wanted, target.rsplit('.').next()) {
        ("string", Some("uid")) => "types.UID",
        (wanted, _) => wanted,
    };
    // A number is shown where there should be another one.
    let found = match value {
        Value::Float(_) if wanted == "int64" => format!("number {}", print::json(value)),
        _ => value.json_type().to_string(),
    };
    let text = format!("json: cannot unmarshal {found} into Go struct field {target} of type {wanted}");
    walk.problems.push(Problem { path: walk.path.clone(), text, is_type: false });
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

/// Checks names, labels, annotations, owners, finalizers and who manages which fields.
pub fn check(walk: &mut Walk, document: &Map) {
    let meta = document.get("metadata").cloned().unwrap_or_default();
    walk.in_key("metadata", |walk| {
        let prefix = meta.text_at(&["generateName"]);
        if !prefix.is_empty() {
            // Something follows the prefix, which may end in what no name ends in.
            let name = match prefix.strip_suffix('-') {
                Some(short) if !short.is_empty() => format!("{short}a"),
                _ => prefix.to_string(),
            };
            report(walk, "generateName", prefix, labels::subdomain_problems(&name));
        }
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
        let size = |(key, value): (&str, &Value)| key.len() + value.as_str().unwrap_or("").len();
        if members(&meta, "annotations").map(size).sum::<usize>() > MAX_ANNOTATIONS {
            let text = format!("Too long: may not be more than {MAX_ANNOTATIONS} bytes");
            walk.in_key("annotations", |walk| walk.refuse(text));
        }
        walk.in_key("ownerReferences", |walk| owners(walk, items(&meta, "ownerReferences")));
        walk.in_key("finalizers", |walk| finalizers(walk, &meta));
        walk.in_key("managedFields", |walk| {
            for (index, entry) in items(&meta, "managedFields").iter().enumerate() {
                walk.in_item(index, |walk| managed(walk, entry));
            }
        });
    });
}

/// How many bytes all annotations may have.
const MAX_ANNOTATIONS: usize = 256 * 1024;

fn items<'v>(meta: &'v Value, name: &str) -> &'v [Value] {
    meta.get(name).and_then(Value::as_list).unwrap_or_default()
}

fn owners(walk: &mut Walk, owners: &[Value]) {
    let mut leading: Option<&Value> = None;
    for owner in owners {
        let written = |name: &str| owner.text_at(&[name]);
        let api_version = written("apiVersion");
        let version = match api_version.split('/').collect::<Vec<_>>()[..] {
            [version] | [_, version] => version,
            _ => "",
        };
        if version.is_empty() {
            walk.in_key("apiVersion", |walk| empty(walk, api_version, "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if written(name).is_empty() {
                walk.in_key(name, |walk| empty(walk, "", "must not be empty"));
            }
        }
        if (api_version, written("kind")) == ("v1", "Event") {
            let owner = decoded(owner);
            walk.refuse(format!("Invalid value: {owner}: /v1, Kind=Event is disallowed from being an owner"));
        }
        if owner.get("controller").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        match leading {
            None => leading = Some(owner),
            Some(first) => {
                let all: Vec<String> = owners.iter().map(decoded).collect();
                let all = all.join(",");
                let name = |of: &Value| format!("{}/{}", of.text_at(&["kind"]), of.text_at(&["name"]));
                walk.refuse(format!(
                    "Invalid value: [{all}]: Only one reference can have Controller set to true. Found \"true\" in \
                     references for {} and {}",
                    name(first),
                    name(owner)
                ));
            }
        }
    }
}

/// An owner as messages quote it: in the order of the typed object.
fn decoded(owner: &Value) -> String {
    let texts = ["apiVersion", "kind", "name", "uid"]
        .map(|name| format!("\"{name}\":{}", print::json(&owner.text_at(&[name]).into())));
    let flags = ["controller", "blockOwnerDeletion"].into_iter().filter_map(|name| {
        let flag = owner.get(name)?.as_bool()?;
        Some(format!("\"{name}\":{flag}"))
    });
    format!("{{{}}}", texts.into_iter().chain(flags).collect::<Vec<_>>().join(","))
}

fn finalizers(walk: &mut Walk, meta: &Value) {
    let all = items(meta, "finalizers");
    for name in all.iter().map(|name| name.as_str().unwrap_or("")) {
        let value = print::json(&Value::from(name));
        for problem in labels::key_problems(name) {
            walk.refuse(format!("Invalid value: {value}: {problem}"));
        }
    }
    let has = |name: &str| all.iter().any(|f| f.as_str() == Some(name));
    if has("orphan") && has("foregroundDeletion") {
        let all = print::json(&Value::list(all.to_vec()));
        walk.refuse(format!(
            "Invalid value: {all}: finalizer orphan and foregroundDeletion cannot be both set"
        ));
    }
}

/// The longest name of a field manager.
const MAX_MANAGER: usize = 128;
/// The longest name of a subresource.
const MAX_SUBRESOURCE: usize = 256;

fn managed(walk: &mut Walk, entry: &Value) {
    let written = |name: &str| entry.text_at(&[name]);
    if !matches!(written("operation"), "Apply" | "Update") {
        let operation = print::json(&Value::from(written("operation")));
        let text = format!("Invalid value: {operation}: must be `Apply` or `Update`");
        walk.in_key("operation", |walk| walk.refuse(text));
    }
    if !matches!(written("fieldsType"), "" | "FieldsV1") {
        let kind = print::json(&Value::from(written("fieldsType")));
        let text = format!("Invalid value: {kind}: must be `FieldsV1`");
        walk.in_key("fieldsType", |walk| walk.refuse(text));
    }
    let manager = written("manager");
    if manager.len() > MAX_MANAGER {
        let text = format!("Too long: may not be more than {MAX_MANAGER} bytes");
        walk.in_key("manager", |walk| walk.refuse(text));
    }
    if let Some((at, c)) = manager.char_indices().find(|(_, c)| c.is_control()) {
        let manager = quote::quote(manager);
        let text =
            format!("Invalid value: {manager}: invalid character U+{:04X} (at position {at})", u32::from(c));
        walk.in_key("manager", |walk| walk.refuse(text));
    }
    if written("subresource").len() > MAX_SUBRESOURCE {
        let text = format!("Too long: may not be more than {MAX_SUBRESOURCE} bytes");
        walk.in_key("subresource", |walk| walk.refuse(text));
    }
    let fields = entry.get("fieldsV1").filter(|fields| !fields.is_null());
    if let Some(fields) = fields.filter(|fields| fields.as_map().is_none()) {
        walk.in_key("fieldsV1", |walk| walk.wrong_type(fields, "object"));
    }
}

fn empty(walk: &mut Walk, value: &str, problem: &str) {
    let value = print::json(&Value::from(value));
    walk.refuse(format!("Invalid value: {value}: {problem}"));
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
