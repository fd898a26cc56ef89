//! Message literals: those of mutations, and those that stand for values of the language.
//!
//! In: the name of a message and its fields. Out: a value. Mutation messages keep their fields as
//! they were given; what a field holds is decided when it is read ([`field`]), as in Kyverno
//! 1.19.1.

use ephor_value::object::is_mutation;
use ephor_value::time::Time;
use ephor_value::{Fault, Map, Object, Str, Value};

use super::type_names::{go_type, native_type};

/// Makes a message.
///
/// # Errors
/// The type cannot be built, or a field has a value of another type.
pub fn build(name: &Str, fields: Vec<(Str, Value)>) -> Result<Value, Fault> {
    if &**name == "JSONPatch" {
        for (field, v) in &fields {
            match &**field {
                "op" | "path" | "from" if v.as_str().is_none() => {
                    let found = native_type(v);
                    return Err(Fault::new(format!(
                        "unexpected type {found} for JSONPatchType '{field}' field"
                    )));
                }
                "op" | "path" | "from" | "value" => {}
                other => return Err(Fault::new(format!("unexpected JSONPatchType field: {other}"))),
            }
        }
    }
    if is_mutation(name) {
        return Ok(Value::object(Object::Struct(name.clone(), fields.into_iter().collect())));
    }
    match name.strip_prefix("google.protobuf.") {
        Some(known) => well_known(name, known, &fields.into_iter().collect()),
        None => Err(Fault::new(format!("unknown type '{name}'"))),
    }
}

/// A message of the language's own library.
fn well_known(name: &str, known: &str, fields: &Map) -> Result<Value, Fault> {
    let value = fields.get("value");
    let wrong = |v: &Value, wanted: &str| {
        let found = v.cel_type();
        Fault::new(format!(
            "field type conversion error for {name}.value value type: unsupported native conversion from {found} to '{wanted}'"
        ))
    };
    let overflow = |kind: &str| {
        Fault::new(format!("field type conversion error for {name}.value value type: {kind} overflow"))
    };
    let seconds = |key: &str| match fields.get(key) {
        Some(Value::Int(n)) => *n,
        _ => 0,
    };
    let nanos = || i128::from(seconds("seconds")) * 1_000_000_000 + i128::from(seconds("nanos"));
    Ok(match known {
        "Int64Value" | "Int32Value" => match value {
            None => Value::Int(0),
            Some(Value::Int(n)) if known == "Int32Value" && i32::try_from(*n).is_err() => {
                return Err(overflow("integer"));
            }
            Some(v @ Value::Int(_)) => v.clone(),
            Some(v) => return Err(wrong(v, if known == "Int32Value" { "int32" } else { "int64" })),
        },
        "UInt64Value" | "UInt32Value" => match value {
            None => Value::UInt(0),
            Some(Value::UInt(n)) if known == "UInt32Value" && u32::try_from(*n).is_err() => {
                return Err(overflow("unsigned integer"));
            }
            Some(v @ Value::UInt(_)) => v.clone(),
            Some(v) => return Err(wrong(v, if known == "UInt32Value" { "uint32" } else { "uint64" })),
        },
        "FloatValue" | "DoubleValue" => match value {
            None => Value::Float(0.0),
            Some(Value::Float(f)) if known == "FloatValue" => Value::Float(f64::from(*f as f32)),
            Some(v @ Value::Float(_)) => v.clone(),
            Some(v) => return Err(wrong(v, if known == "FloatValue" { "float32" } else { "float64" })),
        },
        "BoolValue" => match value {
            None => Value::Bool(false),
            Some(v @ Value::Bool(_)) => v.clone(),
            Some(v) => return Err(wrong(v, "bool")),
        },
        "StringValue" => match value {
            None => Value::from(""),
            Some(v @ Value::Str(_)) => v.clone(),
            Some(v) => return Err(wrong(v, "string")),
        },
        "BytesValue" => match value {
            None => Value::Bytes(Vec::new().into()),
            Some(v @ Value::Bytes(_)) => v.clone(),
            Some(v) => return Err(wrong(v, "[]uint8")),
        },
        "Timestamp" => Value::Timestamp(Time::from_unix_nanos(nanos())),
        "Duration" => match i64::try_from(nanos()) {
            Ok(n) => Value::Duration(n),
            Err(_) => return Err(Fault::new("duration overflow")),
        },
        "Struct" => fields.get("fields").map_or_else(|| Value::Map(Map::new()), json),
        "ListValue" => fields.get("values").map_or_else(|| Value::list(Vec::new()), json),
        "Value" => ["number_value", "string_value", "bool_value", "struct_value", "list_value"]
            .iter()
            .find_map(|key| fields.get(key).cloned())
            .unwrap_or(Value::Null),
        "Any" => {
            let url = fields.get("type_url").and_then(Value::as_str);
            let shown = url.map(|u| format!("type_url:{}", ephor_value::quote::quote(u))).unwrap_or_default();
            return Err(Fault::new(format!(
                "unsupported conversion to ref.Val: (*dynamicpb.Message){shown}"
            )));
        }
        _ => Value::object(Object::Struct(name.into(), fields.clone())),
    })
}

/// As JSON holds it: numbers are doubles.
fn json(v: &Value) -> Value {
    match v {
        Value::Int(i) => Value::Float(*i as f64),
        Value::UInt(u) => Value::Float(*u as f64),
        Value::List(l) => Value::list(l.iter().map(json).collect()),
        Value::Map(m) => Value::Map(m.iter().map(|(k, v)| (k.clone(), json(v))).collect()),
        v => v.clone(),
    }
}

/// What a field of a mutation's message holds; one that was not set is null, a text of a patch
/// empty.
///
/// # Errors
/// The field holds a map whose keys are no texts.
pub fn field(message: &Value, key: &str) -> Result<Option<Value>, Fault> {
    let Value::Object(o) = message else { return Ok(None) };
    let Object::Struct(name, fields) = &**o else { return Ok(None) };
    match fields.get(key) {
        Some(v) if &**name == "JSONPatch" => Ok(Some(v.clone())),
        Some(v) => native(v).map(Some).map_err(|_| Fault::new(format!("cannot get field \"{key}\""))),
        None if &**name == "JSONPatch" && matches!(key, "op" | "path" | "from") => Ok(Some(Value::from(""))),
        None => Ok(Some(Value::Null)),
    }
}

/// Why a map is none whose keys are texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MapKeyError {
    /// It has a key that is no text.
    #[error("map key {key} is of type {go}, not string")]
    Type {
        /// The key as Go shows it.
        key: Box<str>,
        /// Go's type of it.
        go: &'static str,
    },
    /// It is no map of the evaluator that could have other keys.
    #[error("")]
    None,
}

/// The value that a field's one stands for in the object: messages are maps, optional values what
/// they hold, types their names. Lists and maps are looked into, those inside of them are not.
/// Where a message has a field without such a value, reading it is a fault.
///
/// # Errors
/// A map's key is no text.
pub fn native(v: &Value) -> Result<Value, MapKeyError> {
    match v {
        Value::List(l) => Ok(Value::list(l.iter().map(scalar).collect())),
        Value::Map(m) => Ok(Value::Map(m.iter().map(|(k, v)| (k.clone(), scalar(v))).collect())),
        Value::Object(o) => match &**o {
            Object::Keyed(entries) => {
                let bad = entries.iter().map(|(k, _)| k).find(|k| k.as_str().is_none());
                Err(bad.map_or(MapKeyError::None, key_problem))
            }
            Object::Optional(Some(inner)) => native(inner),
            _ => Ok(scalar(v)),
        },
        _ => Ok(v.clone()),
    }
}

/// A field whose map has a key that is no text.
#[derive(Debug, thiserror::Error)]
#[error("fail to convert field \"{field}\": {cause}")]
struct MessageFieldError {
    field: Str,
    #[source]
    cause: MapKeyError,
}

/// Why a key is none of a map whose keys are texts.
pub fn key_problem(key: &Value) -> MapKeyError {
    let code = |n: Option<u32>| n.and_then(char::from_u32).unwrap_or('\u{fffd}');
    let shown = match key {
        Value::Int(n) => quoted(code(u32::try_from(*n).ok())),
        Value::UInt(n) => quoted(code(u32::try_from(*n).ok())),
        Value::Null => quoted('\0'),
        Value::Timestamp(t) => {
            format!("\"{}\"", t.utc().rfc3339_nano().replace('T', " ").replace('Z', " +0000 UTC"))
        }
        Value::Duration(d) => format!("\"{}\"", super::convert::duration_text(*d)),
        Value::Bool(b) => format!("%!q(types.Bool={b})"),
        Value::Float(f) => format!("%!q(types.Double={})", ephor_value::number::float_v(*f)),
        _ => String::new(),
    };
    MapKeyError::Type { key: shown.into(), go: go_type(key) }
}

fn quoted(c: char) -> String {
    match c {
        '\u{7}' => "'\\a'".into(),
        '\u{8}' => "'\\b'".into(),
        '\u{c}' => "'\\f'".into(),
        '\n' => "'\\n'".into(),
        '\r' => "'\\r'".into(),
        '\t' => "'\\t'".into(),
        '\u{b}' => "'\\v'".into(),
        '\'' => "'\\''".into(),
        '\\' => "'\\\\'".into(),
        c if c.is_control() => format!("'\\x{:02x}'", u32::from(c)),
        c => format!("'{c}'"),
    }
}

fn scalar(v: &Value) -> Value {
    let Value::Object(o) = v else { return v.clone() };
    match &**o {
        Object::Optional(inner) => inner.clone().unwrap_or_default(),
        Object::Type(name) => Value::Str(name.clone()),
        Object::Struct(name, fields) if is_mutation(name) && &**name != "JSONPatch" => {
            let one = |(k, v): (&Str, &Value)| match native(v) {
                Ok(v) => Ok((k.clone(), v)),
                Err(cause) => Err(MessageFieldError { field: k.clone(), cause }),
            };
            let fields: Result<Map, MessageFieldError> = fields.iter().map(one).collect();
            fields.map_or_else(|e| Value::object(Object::Invalid(e.to_string().into())), Value::Map)
        }
        _ => v.clone(),
    }
}

/// Why the types of a mutation's messages do not say where they stand.
pub fn misnamed(v: &Value) -> Option<String> {
    misnamed_at(v, "Object")
}

fn misnamed_at(v: &Value, path: &str) -> Option<String> {
    match v {
        Value::List(l) => l.iter().find_map(|v| misnamed_at(v, path)),
        Value::Map(m) => m.iter().find_map(|(_, v)| misnamed_at(v, path)),
        Value::Object(o) => match &**o {
            Object::Struct(name, _) if &**name == "JSONPatch" => None,
            Object::Struct(name, fields) => {
                if **name != *path {
                    return Some(format!(
                        "unexpected type name \"{name}\", expected \"{path}\", which matches field name path from root Object type"
                    ));
                }
                fields.iter().find_map(|(k, v)| misnamed_at(v, &format!("{path}.{k}")))
            }
            Object::Optional(Some(inner)) => misnamed_at(inner, path),
            _ => None,
        },
        _ => None,
    }
}
