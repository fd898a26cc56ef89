//! Values of `serde_json` as values, and back.
//!
//! In: JSON as programs have it. Out: the same value; numbers keep their kind. Back, what JSON does
//! not have is written as JSON of protocol buffers has it: durations (`1.5s`) and times as texts,
//! bytes as base64, quantities, versions and addresses as their texts, maps with keys that are no
//! texts as lists of `key` and `value`, numbers that are not finite as null.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Map, Object, Str, Value, stack};

impl From<serde_json::Value> for Value {
    fn from(v: serde_json::Value) -> Value {
        match v {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(b) => Value::Bool(b),
            serde_json::Value::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(i), _) => Value::Int(i),
                (None, Some(u)) => Value::UInt(u),
                (None, None) => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(s) => Value::from(s),
            serde_json::Value::Array(items) => {
                stack::deep(|| Value::list(items.into_iter().map(Value::from).collect()))
            }
            serde_json::Value::Object(fields) => stack::deep(|| {
                let fields = fields.into_iter().map(|(k, v)| (Str::from(k), Value::from(v)));
                Value::Map(fields.collect::<Map>())
            }),
        }
    }
}

impl From<&Value> for serde_json::Value {
    fn from(v: &Value) -> serde_json::Value {
        match v {
            Value::Null => serde_json::Value::Null,
            Value::Bool(b) => serde_json::Value::Bool(*b),
            Value::Int(i) => serde_json::Value::from(*i),
            Value::UInt(u) => serde_json::Value::from(*u),
            Value::Float(f) => serde_json::Value::from(*f),
            Value::Str(s) => serde_json::Value::from(&**s),
            Value::List(items) => stack::deep(|| items.iter().map(serde_json::Value::from).collect()),
            Value::Map(fields) => stack::deep(|| {
                let fields = fields.iter().map(|(k, v)| (k.to_string(), serde_json::Value::from(v)));
                serde_json::Value::Object(fields.collect())
            }),
            Value::Bytes(bytes) => serde_json::Value::from(STANDARD.encode(bytes)),
            Value::Duration(nanos) => serde_json::Value::from(seconds(*nanos)),
            Value::Timestamp(time) => serde_json::Value::from(time.rfc3339_nano()),
            Value::Object(o) => stack::deep(|| of_object(o)),
        }
    }
}

/// A duration as JSON of protocol buffers has it: seconds with as many digits as are needed,
/// `1.5s`.
fn seconds(nanos: i64) -> String {
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let (whole, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let fraction = format!(".{rest:09}");
    format!("{sign}{whole}{}s", fraction.trim_end_matches('0').trim_end_matches('.'))
}

fn of_object(o: &Object) -> serde_json::Value {
    match o {
        Object::Optional(Some(v)) => v.into(),
        Object::Struct(_, fields) => {
            let fields = fields.iter().map(|(k, v)| (k.to_string(), serde_json::Value::from(v)));
            serde_json::Value::Object(fields.collect())
        }
        Object::Quantity(q) => serde_json::Value::from(q.to_string()),
        Object::Url(text) => serde_json::Value::from(&**text),
        Object::Ip(ip) => serde_json::Value::from(ip.to_string()),
        Object::Cidr(ip, bits) => serde_json::Value::from(format!("{ip}/{bits}")),
        Object::Semver(v) => serde_json::Value::from(v.to_string()),
        Object::Type(name) => serde_json::Value::from(&**name),
        Object::Keyed(entries) => entries
            .iter()
            .map(|(k, v)| serde_json::json!({"key": serde_json::Value::from(k), "value": serde_json::Value::from(v)}))
            .collect(),
        // What only a run of expressions has.
        Object::Optional(None)
        | Object::Invalid(_)
        | Object::Format(_)
        | Object::Check(_)
        | Object::Decision(_) => serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_comes_back_as_it_was() {
        let text = r#"{"b":[1,18446744073709551615,-2.5,1.0,null,true],"a":{"":"x"}}"#;
        let json: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let value = Value::from(json.clone());
        assert_eq!(value.get("b").and_then(Value::as_list).map(<[Value]>::len), Some(6));
        assert_eq!(serde_json::Value::from(&value), json);
    }

    #[test]
    fn json_may_nest_as_deeply_as_values() {
        let mut json = serde_json::Value::Null;
        for _ in 0..10_000 {
            json = serde_json::Value::Array(vec![json]);
        }
        let back = serde_json::Value::from(&Value::from(json));
        // `serde_json` drops what it holds recursively.
        stack::deep(|| std::mem::forget(back));
    }

    #[test]
    fn what_json_does_not_have_is_a_text() {
        assert_eq!(serde_json::Value::from(&Value::Duration(1_500_000_000)), serde_json::json!("1.5s"));
        assert_eq!(serde_json::Value::from(&Value::Duration(-60_000_000_000)), serde_json::json!("-60s"));
        assert_eq!(
            serde_json::Value::from(&Value::Bytes(b"ab".as_slice().into())),
            serde_json::json!("YWI=")
        );
        assert_eq!(serde_json::Value::from(&Value::Float(f64::NAN)), serde_json::Value::Null);
    }
}
