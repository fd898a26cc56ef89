//! Reading policy documents: the parts of rules and filters that several checks read.
//!
//! A missing part reads as empty, so that callers need no branches of their own.

use ephor_value::{Map, Value};

/// The items of a list, none for everything else.
pub fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_list).unwrap_or(&[])
}

/// The texts in the list under `path`.
pub fn texts<'v>(value: &'v Value, path: &[&str]) -> impl Iterator<Item = &'v str> + Clone {
    items(value.at(path)).iter().filter_map(Value::as_str)
}

/// The member `name` if it is there and not null.
pub fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).filter(|v| !v.is_null())
}

/// The items of the list under `name`.
pub fn listed<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    items(value.get(name))
}

/// The entries of the object under `name`.
pub fn entries<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = (&'v str, &'v Value)> {
    value.get(name).and_then(Value::as_map).into_iter().flat_map(Map::iter).map(|(k, v)| (&**k, v))
}

/// The kinds of one filter or of a legacy block.
pub fn kinds_of(filter: &Value) -> impl Iterator<Item = &str> + Clone {
    texts(filter, &["resources", "kinds"])
}

/// The filters of a match or exclude block with their place below it (`any[0]`, `""` for the legacy
/// block): those of `any`, those of `all`, the legacy block.
pub fn filters(block: Option<&Value>) -> Vec<(String, &Value)> {
    let Some(block) = block else { return Vec::new() };
    let mut out = Vec::new();
    for name in ["any", "all"] {
        let filters = listed(block, name).iter().enumerate();
        out.extend(filters.map(|(index, filter)| (format!("{name}[{index}]"), filter)));
    }
    out.push((String::new(), block));
    out
}

/// Whether nothing at all is written in a typed object: no member, or only empty texts and objects
/// in which nothing is written. An empty list is something.
pub fn is_unwritten(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Str(text) => text.is_empty(),
        Value::Map(fields) => fields.values().all(is_unwritten),
        _ => false,
    }
}

/// The kinds of body that a rule can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// `mutate`.
    Mutate,
    /// `validate`.
    Validate,
    /// `generate`.
    Generate,
    /// `verifyImages`.
    VerifyImages,
}

/// Whether a rule has a body of this kind; what differs in nothing from an unwritten one does not
/// count.
pub fn has_body(rule: &Value, body: Body) -> bool {
    let part = |name| member(rule, name);
    match body {
        Body::Mutate => part("mutate").is_some_and(|mutate| {
            mutate.as_map().is_some_and(|m| m.values().any(|v| !v.is_null() && v.as_str() != Some("")))
        }),
        Body::Validate => part("validate").is_some_and(|validate| {
            validate.as_map().is_some_and(|m| m.values().any(|v| !v.is_null() && v.as_str() != Some("")))
        }),
        Body::Generate => part("generate").is_some_and(is_generate),
        Body::VerifyImages => listed(rule, "verifyImages").iter().any(|entry| !is_unwritten(entry)),
    }
}

/// Whether a generate body differs from one in which nothing is written.
fn is_generate(body: &Value) -> bool {
    match body {
        Value::Null | Value::Bool(false) => false,
        Value::Str(text) => !text.is_empty(),
        Value::Map(fields) => {
            fields.iter().any(|(key, v)| &**key == "data" && !v.is_null() || is_generate(v))
        }
        _ => true,
    }
}
