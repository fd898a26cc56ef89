//! JSON text to [`Value`] and back, through `serde_json`.
//!
//! Numbers written as integers are [`Value::Int`] or [`Value::UInt`] when they fit 64 bits, all
//! others are [`Value::Float`]. Of equal keys the last wins, in the place of the first. Collections
//! nest up to 127 levels, the parser's own limit, so that no input can exhaust the stack; callers
//! with large stacks may allow more ([`parse_deep`]).

use std::fmt;

use serde_json::de::{Deserializer, StrRead};
use serde_json::{Number, value::Value as Json};

use super::intern::Interner;
use ephor_value::{Map, Str, Value};

/// A text is not JSON, in the words of the parser, which end in line and column.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct JsonError(#[from] serde_json::Error);

impl JsonError {
    /// The line and column, both from 1.
    pub fn place(&self) -> (usize, usize) {
        (self.0.line(), self.0.column())
    }
}

/// The value of a JSON text; blanks around it are allowed, other text is not.
///
/// # Errors
/// What is wrong, with line and column.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    read(reader(text), usize::MAX)
}

/// As [`parse`], with collections that nest up to `levels` levels. Reading a value and most of what
/// is done with it takes stack for each level.
///
/// # Errors
/// As [`parse`], and that it is deeper.
pub fn parse_deep(text: &str, levels: usize) -> Result<Value, JsonError> {
    let mut reader = reader(text);
    reader.disable_recursion_limit();
    read(reader, levels)
}

fn reader(text: &str) -> Deserializer<StrRead<'_>> {
    Deserializer::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn read(mut reader: Deserializer<StrRead<'_>>, levels: usize) -> Result<Value, JsonError> {
    let mut strings = Interner::new();
    let seed = Seed { strings: &mut strings, levels };
    let value = serde::de::DeserializeSeed::deserialize(seed, &mut reader)?;
    reader.end()?;
    Ok(value)
}

/// A `serde_json` value as ours.
pub fn from_serde(json: Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(b),
        Json::Number(n) => number(&n),
        Json::String(s) => Value::from(s),
        Json::Array(items) => Value::list(items.into_iter().map(from_serde).collect()),
        Json::Object(entries) => Value::Map(Map::from_unique(
            entries.into_iter().map(|(k, v)| (k.into(), from_serde(v))).collect(),
        )),
    }
}

/// Our value for `serde_json`. NaN and infinities, which JSON has not, become null.
pub fn to_serde(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(b) => Json::Bool(*b),
        Value::Int(i) => Json::from(*i),
        Value::UInt(u) => Json::from(*u),
        Value::Float(f) => Number::from_f64(*f).map_or(Json::Null, Json::Number),
        Value::Str(s) => Json::from(&**s),
        Value::List(l) => Json::Array(l.iter().map(to_serde).collect()),
        Value::Map(m) => Json::Object(m.iter().map(|(k, v)| (k.to_string(), to_serde(v))).collect()),
        Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) | Value::Object(_) => Json::Null,
    }
}

fn number(n: &Number) -> Value {
    if let Some(i) = n.as_i64() {
        Value::Int(i)
    } else if let Some(u) = n.as_u64() {
        Value::UInt(u)
    } else {
        n.as_f64().map_or(Value::Null, Value::Float)
    }
}

/// Builds a value directly from the parser's calls.
struct Seed<'s> {
    strings: &'s mut Interner,
    /// How many levels of collections there may be.
    levels: usize,
}

impl Seed<'_> {
    /// The seed of a collection's items.
    fn inside<E: serde::de::Error>(&mut self) -> Result<Seed<'_>, E> {
        let levels = self.levels.checked_sub(1).ok_or_else(|| E::custom("exceeded max depth"))?;
        Ok(Seed { strings: &mut *self.strings, levels })
    }
}

impl<'de> serde::de::DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, de: D) -> Result<Value, D::Error> {
        de.deserialize_any(self)
    }
}

impl<'de> serde::de::Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, i: i64) -> Result<Value, E> {
        Ok(Value::Int(i))
    }

    fn visit_u64<E>(self, u: u64) -> Result<Value, E> {
        Ok(i64::try_from(u).map_or(Value::UInt(u), Value::Int))
    }

    fn visit_f64<E>(self, f: f64) -> Result<Value, E> {
        Ok(Value::Float(f))
    }

    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        Ok(Value::Str(self.strings.get(s)))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(mut self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self.inside()?)? {
            items.push(item);
        }
        Ok(Value::list(items))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        let inside = self.inside()?;
        while let Some(key) = map.next_key_seed(KeySeed(inside.strings))? {
            let seed = Seed { strings: &mut *inside.strings, levels: inside.levels };
            entries.push((key, map.next_value_seed(seed)?));
        }
        Ok(Value::Map(super::build::unique(entries)))
    }
}

/// Reads an object's key.
struct KeySeed<'s>(&'s mut Interner);

impl<'de> serde::de::DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Str;

    fn deserialize<D: serde::Deserializer<'de>>(self, de: D) -> Result<Str, D::Error> {
        de.deserialize_str(self)
    }
}

impl serde::de::Visitor<'_> for KeySeed<'_> {
    type Value = Str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, s: &str) -> Result<Str, E> {
        Ok(self.0.get(s))
    }
}
