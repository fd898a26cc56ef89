//! Decoding an object as a typed Kubernetes object.
//!
//! In: an object and its [`Struct`]. Out: the object as the checks may read it, or the text of the
//! first value that does not fit its type. An object that fits is handed on as it is.
//!
//! Semantics, those of Kyverno's JSON decoder:
//! - Names of fields are taken exactly or, failing that, without regard to case; what comes twice is
//!   merged in the order of the sorted keys. Unknown fields are ignored. Null fits everywhere.
//! - A value of a wrong type is noted and decoding continues; the first one noted is the error. But a
//!   value with a syntax of its own (quantity, time, port) that cannot be read ends the decoding at
//!   once, so its error wins even if it comes later.
//! - The text names the Go struct, the path with the embedded structs, and the Go type.

use std::borrow::Cow;

use crate::value::number::float_json;
use crate::value::quantity::Quantity;
use crate::value::time::Time;
use crate::value::{Map, Str, Value};

use super::types::{Field, Kind, Struct};

/// The object with the field names of `shape`.
///
/// # Errors
/// The text for a value that does not fit.
pub fn decode<'v>(object: &'v Value, shape: &'static Struct) -> Result<Cow<'v, Value>, String> {
    if fits_struct(object, shape) {
        return Ok(Cow::Borrowed(object));
    }
    let mut decoder = Decoder { place: Vec::new(), noted: None };
    let decoded = decoder.object(object, shape, None)?;
    match decoder.noted {
        Some(text) => Err(text),
        None => Ok(Cow::Owned(decoded)),
    }
}

fn fits_struct(v: &Value, shape: &Struct) -> bool {
    match v {
        Value::Null => true,
        Value::Map(m) => m.iter().all(|(k, v)| match shape.field(k) {
            Some(field) => fits(v, &field.kind),
            None => shape.field_any_case(k).is_none(),
        }),
        _ => false,
    }
}

/// Whether a value can be used as it is.
fn fits(v: &Value, kind: &Kind) -> bool {
    match (kind, v) {
        (_, Value::Null) | (Kind::Any, _) => true,
        (Kind::Bool, Value::Bool(_)) | (Kind::Text(_), Value::Str(_)) => true,
        (Kind::Int32 | Kind::Int64, v) => whole(v, *kind).is_some(),
        (Kind::Struct(s), v) => fits_struct(v, s),
        (Kind::List(item), Value::List(l)) => l.iter().all(|v| fits(v, item)),
        (Kind::Map(item) | Kind::NamedMap(_, item), Value::Map(m)) => m.values().all(|v| fits(v, item)),
        (Kind::Port, Value::Str(_)) => true,
        (Kind::Port, v) => whole(v, Kind::Int32).is_some(),
        (Kind::Quantity | Kind::Time, v) => own_syntax(v, *kind).is_none(),
        _ => false,
    }
}

fn whole(v: &Value, kind: Kind) -> Option<i64> {
    let number = match v {
        Value::Int(i) => *i,
        Value::Float(f) if f.fract() == 0.0 && f.abs() < 1e18 => *f as i64,
        _ => return None,
    };
    (matches!(kind, Kind::Int64) || i32::try_from(number).is_ok()).then_some(number)
}

/// How JSON writes a number.
fn number_text(v: &Value) -> String {
    match v {
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Float(f) => float_json(*f),
        _ => String::new(),
    }
}

/// Why a value with a syntax of its own cannot be read; a wrong type is reported by the caller.
fn own_syntax(v: &Value, kind: Kind) -> Option<Unfit> {
    match kind {
        Kind::Quantity => {
            let text: Cow<'_, str> = match v {
                Value::Str(s) => Cow::Borrowed(s.trim()),
                Value::Int(_) | Value::UInt(_) | Value::Float(_) => Cow::Owned(number_text(v)),
                _ => Cow::Borrowed(""),
            };
            Quantity::parse(&text).is_none().then(|| Unfit::Text(quantity_error(&text)))
        }
        Kind::Time => match v {
            Value::Str(s) => Time::parse_rfc3339(s).err().map(Unfit::Text),
            _ => Some(Unfit::Type("string".into())),
        },
        _ => match v {
            Value::Str(_) => None,
            v if whole(v, Kind::Int32).is_some() => None,
            _ => Some(Unfit::Type("int32".into())),
        },
    }
}

enum Unfit {
    /// The whole text.
    Text(String),
    /// The type that was expected.
    Type(Str),
}

/// Why a text is no quantity: its suffix is unknown, or it has not even the form of one.
fn quantity_error(text: &str) -> String {
    let digit = |c: char| c.is_ascii_digit();
    let rest = text.strip_prefix(['+', '-']).unwrap_or(text).trim_start_matches(digit);
    let rest = rest.strip_prefix('.').unwrap_or(rest).trim_start_matches(digit);
    let rest = rest.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest).trim_start_matches(digit);
    if !text.is_empty() && rest.is_empty() {
        return "unable to parse quantity's suffix".into();
    }
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".into()
}

struct Decoder {
    /// The struct and the field that are being decoded, outermost first.
    place: Vec<(&'static Struct, &'static Field)>,
    noted: Option<String>,
}

impl Decoder {
    fn note(&mut self, v: &Value, wanted: &str) {
        if self.noted.is_none() {
            self.noted = Some(self.mismatch(v, wanted));
        }
    }

    /// `json: cannot unmarshal … into Go struct field … of type …`.
    fn mismatch(&self, v: &Value, wanted: &str) -> String {
        let found: Cow<'_, str> = match v {
            Value::Null => "null".into(),
            Value::Bool(_) => "bool".into(),
            Value::Str(_) => "string".into(),
            Value::List(_) => "array".into(),
            Value::Map(_) => "object".into(),
            _ if matches!(wanted, "int32" | "int64") => format!("number {}", number_text(v)).into(),
            _ => "number".into(),
        };
        let Some((inner, _)) = self.place.last() else {
            return format!("json: cannot unmarshal {found} into Go value of type {wanted}");
        };
        let path = |(_, f): &(&Struct, &Field)| match f.via {
            "" => f.key.to_string(),
            via => format!("{via}.{}", f.key),
        };
        let path: Vec<String> = self.place.iter().map(path).collect();
        format!(
            "json: cannot unmarshal {found} into Go struct field {}.{} of type {wanted}",
            inner.name,
            path.join(".")
        )
    }

    fn value(&mut self, v: &Value, kind: &'static Kind, before: Option<&Value>) -> Result<Value, String> {
        match (kind, v) {
            (_, Value::Null) | (Kind::Any, _) => return Ok(v.clone()),
            (Kind::Struct(s), _) => return self.object(v, s, before),
            (Kind::List(item), Value::List(l)) => {
                let before = before.and_then(Value::as_list).unwrap_or_default();
                let items: Result<Vec<Value>, String> =
                    l.iter().enumerate().map(|(i, v)| self.value(v, item, before.get(i))).collect();
                return Ok(Value::list(items?));
            }
            (Kind::Map(item) | Kind::NamedMap(_, item), Value::Map(m)) => {
                let mut out = before.and_then(Value::as_map).cloned().unwrap_or_default();
                for (k, v) in m.sorted() {
                    let v = self.value(v, item, None)?;
                    out.insert(k.clone(), v);
                }
                return Ok(Value::Map(out));
            }
            (Kind::Quantity | Kind::Time | Kind::Port, _) => match own_syntax(v, *kind) {
                None => {}
                Some(Unfit::Text(text)) => return Err(text),
                Some(Unfit::Type(wanted)) => return Err(self.mismatch(v, &wanted)),
            },
            _ if !fits(v, kind) => self.note(v, &kind.go_type()),
            _ => {}
        }
        Ok(v.clone())
    }

    fn object(&mut self, v: &Value, shape: &'static Struct, before: Option<&Value>) -> Result<Value, String> {
        let map = match v {
            Value::Null => return Ok(Value::Null),
            Value::Map(m) => m,
            _ => {
                self.note(v, &shape.go_type());
                return Ok(Value::Null);
            }
        };
        let mut out: Map = before.and_then(Value::as_map).cloned().unwrap_or_default();
        for (key, v) in map.sorted() {
            let Some(field) = shape.field(key).or_else(|| shape.field_any_case(key)) else { continue };
            self.place.push((shape, field));
            let former = out.get(field.key).cloned();
            let decoded = self.value(v, &field.kind, former.as_ref())?;
            self.place.pop();
            out.insert(field.key, decoded);
        }
        Ok(Value::Map(out))
    }
}
