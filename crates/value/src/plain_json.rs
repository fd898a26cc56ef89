//! Values of `serde_json` as values, and back.
//!
//! In: JSON as programs have it. Out: the same value; numbers keep their kind. Back it writes what JSON does not have as
//! [`super::print::json`] does: durations, times and quantities as texts, bytes as base64, numbers that are not finite as null.

use super::{Map, Str, Value, print, stack};

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
            // These print as texts, or as objects of texts.
            other => serde_json::from_str(&print::json(other)).unwrap_or_default(),
        }
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
        assert_eq!(serde_json::Value::from(&Value::Float(f64::NAN)), serde_json::Value::Null);
    }
}
