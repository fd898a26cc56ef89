//! Values as JSON that loses nothing, through `serde`.
//!
//! In: a value. Out: JSON in which null, booleans, integers that are signed, finite doubles
//! (`1.0`), texts, lists and objects stand for themselves. Everything else is an object with one
//! key that begins with `$`, such as `{"$uint": 1}`. Values that only a run of expressions has
//! (questions to an authorizer, lists with a declared type) are refused by name. The table is in
//! `docs/internals/ir-json.md`, "Values".

use std::fmt;
use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};

use super::list::Order;
use super::quantity::{Parted, Quantity};
use super::semver::Version;
use super::time::Time;
use super::{List, Map, Object, Str, Value, stack};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => to.serialize_unit(),
            Value::Bool(b) => to.serialize_bool(*b),
            Value::Int(i) => to.serialize_i64(*i),
            Value::UInt(u) => tagged(to, "$uint", u),
            Value::Float(f) if f.is_finite() => to.serialize_f64(*f),
            Value::Float(f) => tagged(to, "$double", &format!("{:016x}", f.to_bits())),
            Value::Str(s) => to.serialize_str(s),
            Value::List(l) if l.is_declared() || *l.order() != Order::Positions => {
                Err(S::Error::custom("a list with a declared type cannot be written"))
            }
            Value::List(l) if l.is_opaque() => stack::deep(|| tagged(to, "$opaque", &**l)),
            Value::List(l) => stack::deep(|| to.collect_seq(l)),
            Value::Map(m) if m.keys().any(|k| k.starts_with('$')) => {
                stack::deep(|| tagged(to, "$map", &m.iter().collect::<Vec<_>>()))
            }
            Value::Map(m) => stack::deep(|| to.collect_map(m.iter())),
            Value::Bytes(bytes) => tagged(to, "$bytes", &STANDARD.encode(bytes)),
            Value::Duration(nanos) => tagged(to, "$duration", nanos),
            Value::Timestamp(time) => tagged(to, "$time", &time.parts()),
            Value::Object(o) => stack::deep(|| object(o, to)),
        }
    }
}

fn tagged<S: Serializer, T: Serialize + ?Sized>(to: S, tag: &str, v: &T) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(1))?;
    map.serialize_entry(tag, v)?;
    map.end()
}

fn object<S: Serializer>(o: &Object, to: S) -> Result<S::Ok, S::Error> {
    match o {
        Object::Optional(v) => tagged(to, "$optional", &v.iter().collect::<Vec<_>>()),
        Object::Type(name) => tagged(to, "$type", name),
        Object::Keyed(entries) => tagged(to, "$keyed", entries),
        Object::Quantity(q) => {
            let text = Str::from(q.to_string());
            let same = |read: Option<Quantity>| format!("{read:?}") == format!("{:?}", Some(q));
            match (same(Quantity::parse(&text)), same(Quantity::written(&text))) {
                (true, _) => tagged(to, "$quantity", &text),
                (false, true) => tagged(to, "$quantityText", &text),
                _ => tagged(to, "$quantityParts", &q.parts()),
            }
        }
        Object::Url(url) => tagged(to, "$url", url),
        Object::Ip(ip) => tagged(to, "$ip", ip),
        Object::Cidr(ip, prefix) => tagged(to, "$cidr", &(ip, prefix)),
        Object::Semver(version) => tagged(to, "$semver", &version.to_string()),
        Object::Format(name) => tagged(to, "$format", name),
        Object::Struct(name, fields) => tagged(to, "$struct", &(name, fields)),
        Object::Invalid(_) | Object::Check(_) | Object::Decision(_) => {
            Err(S::Error::custom(format!("a value of type `{}` cannot be written", o.type_name())))
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        stack::deep(|| from.deserialize_any(EncodingReader))
    }
}

struct EncodingReader;

impl<'de> Visitor<'de> for EncodingReader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
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

    fn visit_u64<E: serde::de::Error>(self, u: u64) -> Result<Value, E> {
        let large =
            || E::custom(format!("`{u}` is larger than any signed integer; write {{\"$uint\": {u}}}"));
        i64::try_from(u).map(Value::Int).map_err(|_| large())
    }

    fn visit_f64<E>(self, f: f64) -> Result<Value, E> {
        Ok(Value::Float(f))
    }

    fn visit_str<E>(self, s: &str) -> Result<Value, E> {
        Ok(Value::from(s))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = items.next_element()? {
            out.push(item);
        }
        Ok(Value::list(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut key = entries.next_key::<Str>()?;
        if let Some(tag) = key.as_deref().filter(|k| k.starts_with('$')) {
            let value = read_tagged(tag, &mut entries)?;
            return match entries.next_key::<Str>()? {
                None => Ok(value),
                Some(other) => Err(A::Error::custom(format!("`{other}` next to `{tag}`"))),
            };
        }
        let mut map = Map::new();
        while let Some(k) = key {
            if k.starts_with('$') {
                return Err(A::Error::custom(format!(
                    "`{k}` next to other keys; write {{\"$map\": [[key, value]]}}"
                )));
            }
            insert(&mut map, k, entries.next_value()?)?;
            key = entries.next_key()?;
        }
        Ok(Value::Map(map))
    }
}

fn insert<E: serde::de::Error>(map: &mut Map, key: Str, value: Value) -> Result<(), E> {
    match map.insert(key.clone(), value) {
        None => Ok(()),
        Some(_) => Err(E::custom(format!("duplicate key `{key}`"))),
    }
}

fn read_tagged<'de, A: MapAccess<'de>>(tag: &str, from: &mut A) -> Result<Value, A::Error> {
    let wrong = |text: &str| A::Error::custom(format!("`{text}` is not a `{tag}`"));
    let object = |o: Option<Object>, text: &str| o.map(Value::object).ok_or_else(|| wrong(text));
    Ok(match tag {
        "$uint" => Value::UInt(from.next_value()?),
        "$double" => {
            let text: Str = from.next_value()?;
            let bits = u64::from_str_radix(&text, 16).ok().filter(|_| text.len() == 16);
            let double = bits.map(f64::from_bits).filter(|f| !f.is_finite());
            Value::Float(double.ok_or_else(|| wrong(&text))?)
        }
        "$opaque" => Value::List(List::opaque(from.next_value()?)),
        "$map" => {
            let mut map = Map::new();
            for (key, value) in from.next_value::<Vec<(Str, Value)>>()? {
                insert(&mut map, key, value)?;
            }
            Value::Map(map)
        }
        "$bytes" => {
            let text: Str = from.next_value()?;
            Value::Bytes(STANDARD.decode(&*text).map_err(|_| wrong(&text))?.into())
        }
        "$duration" => Value::Duration(from.next_value()?),
        "$time" => {
            let parts = from.next_value()?;
            Value::Timestamp(Time::of_parts(parts).ok_or_else(|| wrong(&format!("{parts:?}")))?)
        }
        "$optional" => {
            let items: Vec<Value> = from.next_value()?;
            match <[Value; 1]>::try_from(items) {
                Ok([v]) => Value::optional(Some(v)),
                Err(none) if none.is_empty() => Value::optional(None),
                Err(_) => return Err(wrong("a list of several")),
            }
        }
        "$type" => Value::object(Object::Type(from.next_value()?)),
        "$keyed" => Value::object(Object::Keyed(from.next_value()?)),
        "$quantity" => {
            let text: Str = from.next_value()?;
            object(Quantity::parse(&text).map(Object::Quantity), &text)?
        }
        "$quantityText" => {
            let text: Str = from.next_value()?;
            object(Quantity::written(&text).map(Object::Quantity), &text)?
        }
        "$quantityParts" => {
            let parts = from.next_value::<Parted>()?;
            let text = parts.0.clone();
            object(Quantity::of_parts(parts).map(Object::Quantity), &text)?
        }
        "$url" => Value::object(Object::Url(from.next_value()?)),
        "$ip" => Value::object(Object::Ip(from.next_value()?)),
        "$cidr" => {
            let (ip, prefix): (IpAddr, u8) = from.next_value()?;
            let longest = if ip.is_ipv4() { 32 } else { 128 };
            object((prefix <= longest).then_some(Object::Cidr(ip, prefix)), &format!("{ip}/{prefix}"))?
        }
        "$semver" => {
            let text: Str = from.next_value()?;
            object(Version::parse(&text).ok().map(Object::Semver), &text)?
        }
        "$format" => Value::object(Object::Format(from.next_value()?)),
        "$struct" => {
            let (name, fields) = from.next_value()?;
            Value::object(Object::Struct(name, fields))
        }
        _ => return Err(A::Error::custom(format!("unknown kind of value `{tag}`"))),
    })
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Value::Map(self.clone()).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Map(map) => Ok(map),
            other => Err(D::Error::custom(format!("{} where an object belongs", other.json_type()))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn back(v: &Value) -> Value {
        serde_json::from_str(&serde_json::to_string(v).unwrap()).unwrap()
    }

    #[test]
    fn values_of_every_kind_are_read_back_as_they_were() {
        let text = |s: &str| Value::from(s);
        let map =
            |keys: &[&str]| Value::Map(keys.iter().map(|k| ((*k).into(), Value::Null)).collect::<Map>());
        let objects = [
            Object::Optional(None),
            Object::Optional(Some(Value::Null)),
            Object::Type("list(int)".into()),
            Object::Keyed(vec![(Value::Int(1), text("a")), (Value::Bool(true), Value::UInt(1))]),
            Object::Quantity(Quantity::parse("1.50Gi").unwrap()),
            Object::Quantity(Quantity::written(&"1500m".into()).unwrap()),
            Object::Url("https://a/b".into()),
            Object::Ip("::1".parse().unwrap()),
            Object::Cidr("10.0.0.1".parse().unwrap(), 8),
            Object::Semver(Version::parse("1.2.3-a.1+b").unwrap()),
            Object::Format("dns1123Label".into()),
            Object::Struct("Object.spec".into(), Map::new()),
        ];
        let mut values = vec![
            Value::Null,
            Value::Bool(true),
            Value::Int(1),
            Value::Int(i64::MIN),
            Value::UInt(1),
            Value::UInt(u64::MAX),
            Value::Float(1.0),
            Value::Float(-0.0),
            Value::Float(1e300),
            Value::Float(0.1 + 0.2),
            Value::Float(f64::NAN),
            Value::Float(-f64::NAN),
            Value::Float(f64::NEG_INFINITY),
            text("$uint"),
            Value::list(vec![Value::list(Vec::new()), Value::Null]),
            Value::List(List::opaque(vec![Value::Int(1)])),
            map(&["b", "a"]),
            map(&["$uint"]),
            map(&["a", "$b"]),
            Value::Bytes(vec![0, 255].into()),
            Value::Duration(-1),
            Value::Timestamp(Time::from_unix_nanos(-1).with_offset(3600)),
        ];
        values.extend(objects.map(Value::object));
        for v in values {
            assert_eq!(back(&v), v, "{}", serde_json::to_string(&v).unwrap());
        }
    }

    #[test]
    fn values_that_only_a_run_has_are_refused_by_name() {
        let check = Value::object(Object::Check(super::super::object::Check::default()));
        let error = serde_json::to_string(&check).unwrap_err().to_string();
        assert_eq!(error, "a value of type `kubernetes.authorization.Authorizer` cannot be written");
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for (text, part) in [
            (r#"{"$uint":1,"a":2}"#, "`a` next to `$uint`"),
            (r#"{"a":1,"$uint":2}"#, "`$uint` next to other keys"),
            (r#"{"a":1,"a":2}"#, "duplicate key `a`"),
            (r#"{"$nothing":1}"#, "unknown kind of value `$nothing`"),
            (r#"{"$double":"3ff0000000000000"}"#, "`3ff0000000000000` is not a `$double`"),
            (r#"{"$quantity":"x"}"#, "`x` is not a `$quantity`"),
            (r#"{"$cidr":["1.1.1.1",33]}"#, "`1.1.1.1/33` is not a `$cidr`"),
            (r#"{"$time":[0,1000000000,0]}"#, "is not a `$time`"),
            ("9223372036854775808", "larger than any signed integer"),
        ] {
            let error = serde_json::from_str::<Value>(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
