//! Which empty values an object shows: those that Go's encoding leaves out are as if they had not
//! been written.

use crate::convert::with_kind;
use crate::decode::{Problems, read_sent};
use crate::defaults::completed;
use crate::go::Encoding;
use crate::prune::inside;
use crate::schema::{Field, Leaf, Type, TypeDef, Types};
use ephor_value::{Map, Str, Value};

/// Objects that nest deeper are not read.
const MAX_DEPTH: usize = 512;

/// The object without the values that are the same as none.
pub fn without_empty(object: &Value, def: &TypeDef, types: &Types) -> Value {
    match object {
        Value::Map(m) => Value::Map(fields(m, def, types, 0)),
        other => other.clone(),
    }
}

fn fields(m: &Map, def: &TypeDef, types: &Types, depth: usize) -> Map {
    let mut out = Map::new();
    for (key, v) in m.iter() {
        let Some(field) = def.field(key) else { continue };
        let v = value(v, &field.ty, types, depth + 1);
        if !vanishes(&v, field) {
            out.insert(key.clone(), v);
        }
    }
    out
}

fn value(v: &Value, ty: &Type, types: &Types, depth: usize) -> Value {
    if depth > MAX_DEPTH {
        return v.clone();
    }
    inside(v, ty, types, &|m, def| fields(m, def, types, depth), &|v, ty| value(v, ty, types, depth + 1))
}

fn vanishes(v: &Value, field: &Field) -> bool {
    match (field.go.encoding, v) {
        (_, Value::Null) => true,
        (Encoding::Empty | Encoding::Null, _) => false,
        // Defaults take the place of a zero, which is shown where there is none.
        (Encoding::Zero, Value::Map(_) | Value::List(_)) => false,
        (Encoding::Omitted | Encoding::OmitZero, Value::Map(m)) => m.is_empty(),
        (_, Value::List(items)) => items.is_empty(),
        (_, Value::Bool(b)) => !b,
        (_, Value::Int(i)) => *i == 0,
        (_, Value::Float(f)) => *f == 0.0,
        (_, Value::Str(s)) => s.is_empty(),
        _ => false,
    }
}

/// An object of a built-in kind as an API server has it after decoding: zero values are as if they
/// had not been written, before there are defaults and after.
pub fn as_stored(object: &Value, def: &TypeDef, types: &Types) -> Value {
    let complete = completed(&without_empty(object, def, types), def, types);
    shown(&without_empty(&complete, def, types), def, types)
}

/// An object that a client sends as policies see it: one of a built-in kind has no fields that its
/// release does not know, and the constant defaults. What has a value of a wrong type, which the
/// API server refuses, stays as it is.
pub fn as_sent(object: &Value, kind: &[Str; 3], types: &Types) -> Value {
    let object = object.with_whole_numbers();
    let Some(def) = types.of_object(kind).filter(|def| !def.custom) else { return object };
    match read_sent(&object, def, types) {
        (typed, Problems { wrong: None, .. }) => with_kind(&as_stored(&typed, def, types), kind),
        _ => object,
    }
}

/// Whether a field is shown as null when it is not there.
pub fn is_shown_as_null(field: &Field) -> bool {
    field.go.encoding == Encoding::Null
}

/// The object with the fields that are shown when they are missing.
pub fn shown(object: &Value, def: &TypeDef, types: &Types) -> Value {
    match object {
        Value::Map(m) => Value::Map(shown_fields(m, def, types, 0)),
        other => other.clone(),
    }
}

fn shown_fields(m: &Map, def: &TypeDef, types: &Types, depth: usize) -> Map {
    let mut out = Map::new();
    let of = |m: &Map, def: &TypeDef| shown_fields(m, def, types, depth + 1);
    for (key, v) in m.iter() {
        let v = match def.field(key) {
            Some(field) if depth <= MAX_DEPTH => shown_value(v, &field.ty, types, &of),
            _ => v.clone(),
        };
        out.insert(key.clone(), v);
    }
    for field in def.fields.iter().filter(|field| !m.contains_key(&field.name)) {
        let missing = match field.go.encoding {
            Encoding::Null => Value::Null,
            Encoding::Zero if depth <= MAX_DEPTH => match zero(&field.ty) {
                Some(zero) => shown_value(&zero, &field.ty, types, &of),
                None => continue,
            },
            _ => continue,
        };
        out.insert(field.name.clone(), missing);
    }
    out
}

/// The value that a field of a type has in Go before anything is written into it.
fn zero(ty: &Type) -> Option<Value> {
    Some(match ty {
        Type::Named(..) => Value::Map(Map::new()),
        Type::Leaf(Leaf::String) => Value::from(""),
        Type::Leaf(Leaf::Bool) => Value::Bool(false),
        Type::Leaf(Leaf::Int32 | Leaf::Int64 | Leaf::Double | Leaf::IntOrString) => Value::Int(0),
        Type::Leaf(Leaf::Quantity) => Value::from("0"),
        _ => return None,
    })
}

fn shown_value(v: &Value, ty: &Type, types: &Types, of: &dyn Fn(&Map, &TypeDef) -> Map) -> Value {
    inside(v, ty, types, of, &|v, ty| shown_value(v, ty, types, of))
}
