//! The second, typed decoding: parts that the schema leaves free but that must have a shape.
//!
//! Conditions are a list of condition objects or an object `{any, all}` of such lists; nested loops
//! are lists of loop objects. This decoding takes field names in any case and ignores unknown ones.
//! Semantics: section 2.9 of the policy object specification.

use super::policy::{MUTATE_FOREACH, VALIDATE_FOREACH};
use super::shape::{Kind, Object, Rule};
use super::walk::{Walk, type_name};
use ephor_value::{Map, Str, Value};

/// Decodes conditions; names are given their proper case.
pub fn conditions(walk: &mut Walk, value: &Value) -> Value {
    let decoded = match value {
        Value::List(_) => condition_list(value),
        Value::Map(fields) => any_all(fields).map(Value::Map),
        _ => None,
    };
    decoded.unwrap_or_else(|| {
        walk.refuse_late("failed to unmarshal Conditions".to_owned());
        value.clone()
    })
}

fn any_all(fields: &Map) -> Option<Map> {
    let known = known(fields, &["any", "all"]);
    known.iter().map(|(key, value)| Some((key.clone(), condition_list(value)?))).collect()
}

fn condition_list(value: &Value) -> Option<Value> {
    match value {
        Value::Null => Some(Value::Null),
        Value::List(items) => items.iter().map(condition).collect::<Option<_>>().map(Value::List),
        _ => None,
    }
}

/// A null item decodes as a condition without anything.
fn condition(value: &Value) -> Option<Value> {
    let fields = match value {
        Value::Null => return Some(Value::Map(Map::new())),
        Value::Map(fields) => known(fields, &["key", "operator", "value", "message"]),
        _ => return None,
    };
    let is_text = |name| fields.get(name).is_none_or(|v| matches!(v, Value::Str(_) | Value::Null));
    (is_text("operator") && is_text("message")).then_some(Value::Map(fields))
}

/// The fields of these names, in proper case.
fn known(fields: &Map, names: &[&str]) -> Map {
    let proper = |key: &Str| match names.iter().find(|name| key.eq_ignore_ascii_case(name)) {
        Some(name) if **key != **name => Some(Str::from(*name)),
        found => found.map(|_| key.clone()),
    };
    fields.iter().filter_map(|(key, value)| Some((proper(key)?, value.clone()))).collect()
}

/// Decodes nested loops: types only, neither choices nor requirements.
pub fn loops(walk: &mut Walk, kind: &Kind, value: &Value) -> Value {
    let (table, type_of) = match kind {
        Kind::MutateLoops => (&MUTATE_FOREACH, "ForEachMutation"),
        _ => (&VALIDATE_FOREACH, "ForEachValidation"),
    };
    let Value::List(items) = value else {
        refuse(walk, value, &format!("value of type []v1.{type_of}"));
        return value.clone();
    };
    let items = items.iter().enumerate().map(|(index, item)| {
        walk.in_item(index, |walk| match item {
            Value::Map(fields) => Value::Map(one_loop(walk, table, type_of, fields)),
            Value::Null => Value::Map(Map::new()),
            other => {
                refuse(walk, other, &format!("value of type v1.{type_of}"));
                other.clone()
            }
        })
    });
    Value::List(items.collect())
}

fn one_loop(walk: &mut Walk, table: &Object, type_of: &str, fields: &Map) -> Map {
    let fields = fields.iter().filter_map(|(key, value)| Some((key, table.field(key)?, value)));
    fields
        .filter(|(_, _, value)| !value.is_null())
        .map(|(key, field, value)| {
            if let Kind::Object(Object { rule: Rule::LateUnknown, .. }) = field.kind
                && let Some(decoded) = value.as_map().and_then(any_all)
            {
                return (key.clone(), Value::Map(decoded));
            }
            let mut inner = Walk { path: walk.path.clone(), ..Walk::default() };
            let decoded = inner.in_key(key, |inner| inner.value(&field.kind, value));
            walk.late.append(&mut inner.late);
            if inner.problems.iter().any(|problem| problem.is_type) {
                let target = format!("struct field {type_of}.{key} of type {}", go_type(&field.kind));
                walk.in_key(key, |walk| refuse(walk, value, &target));
            }
            (key.clone(), decoded)
        })
        .collect()
}

fn refuse(walk: &mut Walk, value: &Value, target: &str) {
    let found = match type_name(value) {
        "boolean" => "bool",
        "integer" => "number",
        other => other,
    };
    walk.refuse_late(format!("json: cannot unmarshal {found} into Go {target}"));
}

fn go_type(kind: &Kind) -> &'static str {
    match kind {
        Kind::Switch | Kind::Flag => "bool",
        Kind::Text | Kind::Choice(_) => "string",
        _ => "object",
    }
}
