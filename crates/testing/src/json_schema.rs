//! JSON schemas of the files of the command line: tests, values, users, cluster objects.
//!
//! In: the tables of what these files may hold. Out: a schema (draft 7) a kind. As in Kyverno a
//! scalar stands for a text, so numbers and booleans are texts, too.

use ephor_value::{Map, Value};

use crate::inputs::strict::{Field, Object, Shape};
use crate::inputs::{user, values};
use crate::testing::schema::{CLUSTER, TEST};

/// Group and version of these files.
pub const API_VERSION: &str = "cli.kyverno.io/v1alpha1";

/// The results that a test can expect.
const RESULTS: [&str; 5] = ["pass", "fail", "skip", "warn", "error"];

/// The schema of each kind, with its name.
pub fn of_files() -> Vec<(&'static str, Value)> {
    [&TEST, &values::FILE, &user::FILE, &CLUSTER]
        .into_iter()
        .map(|table| (table.name, of_file(table)))
        .collect()
}

fn of_file(table: &Object) -> Value {
    let head = Value::map([
        ("$schema", "http://json-schema.org/draft-07/schema#".into()),
        ("title", format!("{} of {API_VERSION}", table.name).into()),
    ]);
    let own = object(table);
    own.as_map().into_iter().flat_map(Map::iter).fold(head, |out, (key, value)| out.with(key, value.clone()))
}

fn object(table: &Object) -> Value {
    let fields = table.fields.iter().map(|field: &Field| (field.name().into(), of_shape(field.shape())));
    Value::map([
        ("type", "object".into()),
        ("properties", Value::Map(fields.collect())),
        ("additionalProperties", Value::Bool(false)),
    ])
}

fn of_shape(shape: &Shape) -> Value {
    let of = |name: &str| Value::map([("type", name.into())]);
    let list_of = |item: Value| Value::map([("type", "array".into()), ("items", item)]);
    let map_of = |value: Value| Value::map([("type", "object".into()), ("additionalProperties", value)]);
    match shape {
        Shape::Any => Value::map([]),
        Shape::Text => text(),
        Shape::Word("v1alpha1.Result") => {
            Value::map([("enum", Value::list(RESULTS.into_iter().map(Value::from).collect()))])
        }
        Shape::Word(_) => of("string"),
        Shape::Flag => of("boolean"),
        Shape::Whole => of("integer"),
        Shape::Map | Shape::Kind(_) => of("object"),
        Shape::Texts => map_of(text()),
        Shape::Lists(_, item) => map_of(list_of(of_shape(item))),
        Shape::List(item) => list_of(of_shape(item)),
        Shape::Object(table) => object(table),
    }
}

fn text() -> Value {
    Value::map([(
        "type",
        Value::list(["string", "number", "boolean"].into_iter().map(Value::from).collect()),
    )])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_file_knows_its_fields_and_the_results_that_it_can_expect() {
        let all = of_files();
        assert_eq!(
            all.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            ["Test", "Values", "UserInfo", "ClusterResource"]
        );
        let test = all.first().map(|(_, schema)| schema);
        let result = ["properties", "results", "items", "properties", "result", "enum"];
        let results = test.and_then(|schema| schema.at(&result)?.as_list()).unwrap_or_default();
        assert_eq!(results.len(), RESULTS.len());
        assert_eq!(test.and_then(|schema| schema.get("additionalProperties")), Some(&Value::Bool(false)));
    }
}
