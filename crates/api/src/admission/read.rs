//! Reading parts of documents.

use ephor_value::Value;

/// The items of a list; none when it is not there.
pub fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v.get(key).and_then(Value::as_list).unwrap_or_default()
}

/// The texts of a list.
pub fn texts<'v>(v: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    list(v, key).iter().map(|t| t.as_str().unwrap_or_default())
}

/// A text; empty when it is not there.
pub fn text<'v>(v: &'v Value, key: &str) -> &'v str {
    v.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a member is not there.
pub fn blank(v: &Value, key: &str) -> bool {
    v.get(key).is_none_or(Value::is_null)
}

/// A member, if it is there.
pub fn part<'v>(v: &'v Value, key: &str) -> Option<&'v Value> {
    v.get(key).filter(|v| !v.is_null())
}
