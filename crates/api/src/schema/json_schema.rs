//! JSON schemas for editors and validators, from the definitions of the kinds.
//!
//! Out: a schema (draft 7) for each version of each kind, and one that selects among them by
//! `apiVersion` and `kind`. A structural schema of a CustomResourceDefinition is open, since an API
//! server drops unknown fields; these are closed where it drops them, so that a misspelt field is
//! an error. Names of files are those that kubeconform's templates and the catalogues of other
//! kinds use: `GROUP/KIND_VERSION.json`, in lower case.

use super::meta::META;
use super::openapi;
use super::shape::Kind;
use ephor_value::{Map, Str, Value};

/// The file of the schema that selects among all.
pub const ALL: &str = "all.json";

/// The version of JSON Schema.
pub const DRAFT: &str = "http://json-schema.org/draft-07/schema#";

/// The schema of a version of a kind.
#[derive(Clone, Debug, PartialEq)]
pub struct KindSchema {
    /// Group and version, `kyverno.io/v1`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The schema.
    pub schema: Value,
}

impl KindSchema {
    /// The name of its file: `GROUP/KIND_VERSION.json`, in lower case.
    pub fn file(&self) -> String {
        let (group, version) = self.api_version.split_once('/').unwrap_or(("", &self.api_version));
        format!("{group}/{}_{version}.json", self.kind.to_lowercase())
    }
}

/// The schemas of definitions with the names of their files, and one that selects among them.
pub fn json_schemas(definitions: &[Value]) -> Vec<(String, Value)> {
    files(&of_definitions(definitions))
}

/// Schemas with the names of their files, and one that selects among them.
pub fn files(schemas: &[KindSchema]) -> Vec<(String, Value)> {
    let choices = schemas.iter().map(|one| choice(&one.api_version, &one.kind, &one.file())).collect();
    let all = [("$schema", DRAFT.into()), ("type", "object".into()), ("allOf", Value::list(choices))];
    let own = schemas.iter().map(|one| (one.file(), one.schema.clone()));
    own.chain([(ALL.to_string(), Value::map(all))]).collect()
}

/// The schemas of the kinds that definitions have.
pub fn of_definitions(definitions: &[Value]) -> Vec<KindSchema> {
    let mut schemas = Vec::new();
    for definition in definitions {
        let (group, kind) =
            (definition.text_at(&["spec", "group"]), definition.text_at(&["spec", "names", "kind"]));
        for version in definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default() {
            let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else { continue };
            let name = version.text_at(&["name"]);
            let api_version = format!("{group}/{name}");
            let schema = of_kind(schema, &api_version, kind);
            schemas.push(KindSchema { api_version, kind: kind.to_string(), schema });
        }
    }
    schemas
}

/// `if` it is this kind, `then` its schema holds: objects of other kinds are valid.
fn choice(api_version: &str, kind: &str, file: &str) -> Value {
    let properties = Value::map([("apiVersion", constant(api_version)), ("kind", constant(kind))]);
    let condition = Value::map([("properties", properties), ("required", required())]);
    Value::map([("if", condition), ("then", Value::map([("$ref", file.into())]))])
}

fn required() -> Value {
    Value::list(vec!["apiVersion".into(), "kind".into()])
}

fn constant(text: &str) -> Value {
    Value::map([("const", text.into())])
}

/// The schema of a kind as its file has it: it names itself, and `metadata` has the fields that
/// every object has.
pub(super) fn of_kind(schema: &Value, api_version: &str, kind: &str) -> Value {
    let closed = closed(schema);
    let mut properties = closed.get("properties").and_then(Value::as_map).cloned().unwrap_or_default();
    properties.insert("apiVersion", constant(api_version));
    properties.insert("kind", constant(kind));
    properties.insert("metadata", self::closed(&openapi::of(&Kind::Object(&META))));
    let own = closed.get("required").and_then(Value::as_list).unwrap_or_default();
    let all = [required().as_list().unwrap_or_default(), own].concat();
    let head = Value::map([("$schema", DRAFT.into()), ("title", format!("{kind} of {api_version}").into())]);
    let members = closed.as_map().into_iter().flat_map(Map::iter);
    members
        .fold(head, |out, (key, value)| out.with(key, value.clone()))
        .with("properties", Value::Map(properties))
        .with("required", Value::list(all))
}

/// The schema without what only an API server knows, and closed where that drops unknown fields.
fn closed(schema: &Value) -> Value {
    let Some(members) = schema.as_map() else { return schema.clone() };
    let is_set = |key: &str| schema.get(key).and_then(Value::as_bool) == Some(true);
    let mut parts: Vec<(Str, Value)> = Vec::new();
    for (key, value) in members.iter() {
        let value = match &**key {
            "properties" => {
                let fields = value.as_map().into_iter().flat_map(Map::iter);
                Value::Map(fields.map(|(name, field)| (name.clone(), closed(field))).collect())
            }
            "items" | "additionalProperties" => closed(value),
            "type" if is_set("nullable") => Value::list(vec![value.clone(), "null".into()]),
            // Durations are written as Go writes them, which the format of this name does not know;
            // sizes of numbers are no formats.
            "format" if value.as_str() != Some("date-time") => continue,
            "nullable" => continue,
            key if key.starts_with("x-kubernetes-") => continue,
            _ => value.clone(),
        };
        parts.push((key.clone(), value));
    }
    let is_object = schema.text_at(&["type"]) == "object";
    if is_object
        && !is_set("x-kubernetes-preserve-unknown-fields")
        && schema.get("additionalProperties").is_none()
    {
        parts.push(("additionalProperties".into(), Value::Bool(false)));
    }
    Value::Map(Map::from_unique(parts))
}

#[cfg(test)]
mod tests {
    use super::super::definitions::definitions;
    use super::*;

    /// Each object of a schema, with whether it is closed and whether the definition keeps unknown
    /// fields there.
    fn objects<'v>(closed: &'v Value, open: &'v Value, path: &str, out: &mut Vec<(String, bool, bool)>) {
        let is =
            |schema: &Value, key: &str, value: bool| schema.get(key).and_then(Value::as_bool) == Some(value);
        if open.get("properties").is_some() {
            let keeps = is(open, "x-kubernetes-preserve-unknown-fields", true);
            out.push((path.to_string(), is(closed, "additionalProperties", false), keeps));
        }
        for key in ["items", "additionalProperties"] {
            if let (Some(closed), Some(open)) = (closed.get(key), open.get(key)) {
                objects(closed, open, &format!("{path}[]"), out);
            }
        }
        for (name, open) in open.get("properties").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            if let Some(closed) = closed.at(&["properties", name]) {
                objects(closed, open, &format!("{path}.{name}"), out);
            }
        }
    }

    #[test]
    fn every_version_of_every_kind_has_a_schema_that_is_closed_where_an_api_server_drops_fields() {
        let schemas = json_schemas(&definitions());
        let (mut versions, mut seen) = (0, Vec::new());
        for definition in definitions() {
            let group = definition.text_at(&["spec", "group"]);
            let kind = definition.text_at(&["spec", "names", "kind"]).to_lowercase();
            for version in definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap_or_default() {
                versions += 1;
                let file = format!("{group}/{kind}_{}.json", version.text_at(&["name"]));
                let schema = schemas.iter().find(|(name, _)| *name == file).map(|(_, schema)| schema);
                assert!(schema.is_some(), "{file}");
                if let (Some(schema), Some(open)) = (schema, version.at(&["schema", "openAPIV3Schema"])) {
                    objects(schema, open, &file, &mut seen);
                }
            }
        }
        assert_eq!(schemas.len(), versions + 1);
        let choices = schemas.last().and_then(|(_, all)| all.get("allOf")?.as_list()).unwrap_or_default();
        assert_eq!(choices.len(), versions);
        assert!(seen.len() > 500, "{}", seen.len());
        let wrong: Vec<_> = seen.iter().filter(|(_, is_closed, keeps)| is_closed == keeps).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn nothing_is_left_that_only_an_api_server_knows() {
        fn check(value: &Value) {
            for (key, value) in value.as_map().into_iter().flat_map(Map::iter) {
                let is_known = !key.starts_with("x-kubernetes-") && &**key != "nullable";
                assert!(
                    is_known && (&**key != "format" || value.as_str().is_none_or(|name| name == "date-time")),
                    "{key}: {value:?}"
                );
                check(value);
            }
            value.as_list().unwrap_or_default().iter().for_each(check);
        }
        json_schemas(&definitions()).iter().for_each(|(_, schema)| check(schema));
        let mut reports = definitions();
        reports.retain(|definition| definition.text_at(&["spec", "group"]) == "openreports.io");
        assert_eq!(json_schemas(&reports).len(), 3);
    }
}
