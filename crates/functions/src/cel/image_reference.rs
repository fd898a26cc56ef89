//! Kyverno's image references in expressions.
//!
//! Unlike in rules ([`ephor_value::image`]) the default registry is the index of Docker, its single
//! names get `library/`, and references are checked loosely. A reference is a message with its text
//! in it, so references are equal only when they are written the same way. Semantics:
//! `docs/expressions/cel.md`.

use super::call::{Call, CallResult, fault, fields, success};
use ephor_external::reference::parse;
use ephor_value::{Map, Object, Str, Value};

const TYPE: &str = ephor_value::object::IMAGE;

pub(crate) fn image(call: &Call<'_>) -> CallResult {
    let text = call.text(0)?;
    let Some(r) = parse(text) else { return fault(format!("could not parse reference: {text}")) };
    let entries = [
        ("image", text),
        ("registry", r.registry),
        ("repository", &r.repository),
        ("tag", r.tag),
        ("digest", r.digest),
    ];
    let fields: Map = entries.into_iter().map(|(k, v)| (Str::from(k), Value::from(v))).collect();
    success(Value::object(Object::Struct(TYPE.into(), fields)))
}

pub(crate) fn is_image(call: &Call<'_>) -> CallResult {
    success(parse(call.text(0)?).is_some())
}

fn part<'v>(call: &Call<'v>, key: &str) -> Option<&'v str> {
    fields(call.arg(0), TYPE)?.get(key)?.as_str()
}

pub(crate) fn contains_digest(call: &Call<'_>) -> CallResult {
    success(!part(call, "digest")?.is_empty())
}

pub(crate) fn registry(call: &Call<'_>) -> CallResult {
    success(part(call, "registry")?)
}

pub(crate) fn repository(call: &Call<'_>) -> CallResult {
    success(part(call, "repository")?)
}

pub(crate) fn tag(call: &Call<'_>) -> CallResult {
    success(part(call, "tag")?)
}

pub(crate) fn digest(call: &Call<'_>) -> CallResult {
    success(part(call, "digest")?)
}

pub(crate) fn identifier(call: &Call<'_>) -> CallResult {
    success(match (part(call, "tag")?, part(call, "digest")?) {
        (tag, "") => tag.to_string(),
        ("", digest) => digest.to_string(),
        (tag, digest) => format!("{tag}@{digest}"),
    })
}

pub(crate) fn identifier_with_separator(call: &Call<'_>) -> CallResult {
    success(match (part(call, "tag")?, part(call, "digest")?) {
        (tag, "") => format!(":{tag}"),
        (_, digest) => format!("@{digest}"),
    })
}
