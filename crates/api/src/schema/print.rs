//! Typed objects as JSON, the way messages quote them.
//!
//! Fields come in the order of their table. Empty texts, lists and maps and flags that are false
//! are left out; objects that are present print even when empty, and some fields always print. Free
//! JSON prints with sorted keys.

use super::shape::{Kind, Object};
use ephor_value::{Map, Value, print};

/// `value` as compact JSON, read along `table`.
pub fn typed_json(table: &Object, value: &Value) -> String {
    let mut out = String::new();
    let empty = Map::new();
    write_object(&mut out, table, value.as_map().unwrap_or(&empty));
    out
}

fn write_object(out: &mut String, table: &Object, fields: &Map) {
    out.push('{');
    let start = out.len();
    for field in table.fields {
        let value = fields.get(field.name).filter(|value| !value.is_null());
        if !field.always && value.is_none_or(|value| !shows(&field.kind, value)) {
            continue;
        }
        if out.len() > start {
            out.push(',');
        }
        print::write_json_string(out, field.name);
        out.push(':');
        match value {
            Some(value) => write(out, &field.kind, value),
            None => write_empty(out, &field.kind),
        }
    }
    out.push('}');
}

fn shows(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Any | Kind::Conditions | Kind::ValidateLoops | Kind::MutateLoops, _) => true,
        (Kind::Object(_), _) => true,
        (_, Value::Str(text)) => !text.is_empty(),
        (_, Value::List(items)) => !items.is_empty(),
        (_, Value::Map(fields)) => !fields.is_empty(),
        (Kind::Flag, Value::Bool(set)) => *set,
        _ => true,
    }
}

fn write_empty(out: &mut String, kind: &Kind) {
    match kind {
        Kind::Object(table) => write_object(out, table, &Map::new()),
        Kind::List(_) | Kind::Atomic(_) | Kind::Any => out.push_str("null"),
        _ => out.push_str("\"\""),
    }
}

fn write(out: &mut String, kind: &Kind, value: &Value) {
    match (kind, value) {
        (Kind::Object(table), Value::Map(fields)) => write_object(out, table, fields),
        (Kind::List(kind) | Kind::Atomic(kind), Value::List(items)) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, kind, item);
            }
            out.push(']');
        }
        (Kind::MapOf(kind), Value::Map(fields)) => {
            out.push('{');
            for (index, (key, item)) in fields.sorted().into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                print::write_json_string(out, key);
                out.push(':');
                write(out, kind, item);
            }
            out.push('}');
        }
        _ => out.push_str(&print::json(value)),
    }
}
