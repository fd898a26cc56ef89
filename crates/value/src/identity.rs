//! Whether two values are one and the same: what `==` says of values.
//!
//! In: two values. Out: whether they are indistinguishable: kinds of numbers, the bits of doubles,
//! the order of keys and what lists are declared to be count. No language has this equality; it is
//! for those who compare or keep what was built from policies, such as nodes of the IR. Equality as
//! languages know it is [`Value::strict_eq`], [`Value::json_eq`] and [`Value::cel_eq`].

use std::hash::{Hash, Hasher};

use super::view::View;
use super::{Map, Object, Value, stack};

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        let bytes = |v: &Value| {
            let mut bytes = Bytes(Vec::new());
            write(v, &mut bytes);
            bytes.0
        };
        bytes(self) == bytes(other)
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        write(self, state);
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        Value::Map(self.clone()) == Value::Map(other.clone())
    }
}

impl Eq for Map {}

impl Hash for Map {
    fn hash<H: Hasher>(&self, state: &mut H) {
        write(&Value::Map(self.clone()), state);
    }
}

/// Keeps what is hashed.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// Writes a value so that no value begins as another one does.
fn write<H: Hasher>(v: &Value, to: &mut H) {
    match v {
        Value::Null => to.write_u8(0),
        Value::Bool(b) => (1u8, b).hash(to),
        Value::Int(i) => (2u8, i).hash(to),
        Value::UInt(u) => (3u8, u).hash(to),
        Value::Float(f) => (4u8, f.to_bits()).hash(to),
        Value::Str(s) => (5u8, s).hash(to),
        Value::List(items) => {
            // What reads items that are added has no form of its own: such lists are one when they
            // are shared.
            let declared = items.is_declared().then(|| items.address());
            (6u8, items.is_opaque(), items.is_view(), items.order(), declared, items.len()).hash(to);
            stack::deep(|| items.iter().for_each(|v| write(v, to)));
        }
        Value::Map(m) => {
            let view = m.view().map(|view| match view {
                View::Map => "",
                View::Struct(ty) => ty.name(),
            });
            (7u8, view, m.len()).hash(to);
            stack::deep(|| {
                for (key, v) in m.iter() {
                    key.hash(to);
                    write(v, to);
                }
            });
        }
        Value::Bytes(bytes) => (8u8, bytes).hash(to),
        Value::Duration(nanos) => (9u8, nanos).hash(to),
        // Their texts for developers name all that they hold.
        Value::Timestamp(time) => (10u8, format!("{time:?}")).hash(to),
        Value::Object(o) => stack::deep(|| object(o, to)),
    }
}

fn object<H: Hasher>(o: &Object, to: &mut H) {
    match o {
        Object::Optional(None) => to.write_u8(11),
        Object::Optional(Some(v)) => {
            to.write_u8(12);
            write(v, to);
        }
        Object::Keyed(entries) => {
            (13u8, entries.len()).hash(to);
            for (key, v) in entries {
                write(key, to);
                write(v, to);
            }
        }
        Object::Struct(name, fields) => {
            (14u8, name).hash(to);
            write(&Value::Map(fields.clone()), to);
        }
        Object::Type(_)
        | Object::Quantity(_)
        | Object::Url(_)
        | Object::Ip(_)
        | Object::Cidr(..)
        | Object::Semver(_)
        | Object::Format(_)
        | Object::Invalid(_)
        | Object::Check(_)
        | Object::Decision(_) => (15u8, format!("{o:?}")).hash(to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_differ_in_any_way_are_not_identical() {
        let map = |keys: [&str; 2]| {
            Value::Map(keys.into_iter().map(|k| (k.into(), Value::Null)).collect::<crate::Map>())
        };
        let list = |items: &[Value]| Value::list(items.to_vec());
        let values = [
            Value::Null,
            Value::Bool(false),
            Value::Int(0),
            Value::UInt(0),
            Value::Float(0.0),
            Value::Float(-0.0),
            Value::Float(f64::NAN),
            Value::from(""),
            Value::from("0"),
            list(&[]),
            list(&[Value::Null]),
            list(&[list(&[])]),
            list(&[Value::from("a"), Value::from("b")]),
            list(&[Value::from("ab")]),
            Value::List(crate::List::opaque(Vec::new())),
            Value::Map(crate::Map::new()),
            map(["a", "b"]),
            map(["b", "a"]),
            Value::optional(None),
            Value::optional(Some(Value::Null)),
            Value::object(Object::Url("0".into())),
            Value::object(Object::Type("0".into())),
        ];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(*a == b.clone(), i == j, "{a:?} {b:?}");
            }
        }
    }
}
