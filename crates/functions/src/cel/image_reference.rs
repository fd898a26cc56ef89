//! Kyverno's image references in expressions.
//!
//! Unlike in rules ([`crate::value::image`]) the default registry is the index of Docker, its single names
//! get `library/`, and references are checked loosely. A reference is a message with its text in it, so
//! references are equal only when they are written the same way. Semantics: `docs/cel.md`.

use super::outside::fields;
use super::{Call, CallResult, fault, success};
use crate::value::{Map, Object, Str, Value};

const TYPE: &str = crate::value::object::IMAGE;
const DEFAULT_REGISTRY: &str = "index.docker.io";

/// The parts of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'t> {
    /// The host with its port.
    pub registry: &'t str,
    /// The path.
    pub repository: String,
    /// The tag; empty where there is only a digest.
    pub tag: &'t str,
    /// The digest with its algorithm; empty where there is none.
    pub digest: &'t str,
}

/// Takes a reference apart; `None` when it is none.
pub fn parse(text: &str) -> Option<Reference<'_>> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, digest),
        None => (text, ""),
    };
    if text.contains('@') && !is_digest(digest) {
        return None;
    }
    let name_at = rest.rfind('/').map_or(0, |i| i + 1);
    let (name, tag) = match rest.get(name_at..)?.rfind(':') {
        Some(i) => (rest.get(..name_at + i)?, Some(rest.get(name_at + i + 1..)?)),
        None => (rest, None),
    };
    if tag.is_some_and(|t| !is_tag(t)) {
        return None;
    }
    let (registry, path) = match name.split_once('/') {
        Some((host, path)) if host.contains(['.', ':']) || host == "localhost" => (host, path),
        _ => (DEFAULT_REGISTRY, name),
    };
    let registry = if registry == "docker.io" { DEFAULT_REGISTRY } else { registry };
    if !is_repository(path) || registry.is_empty() {
        return None;
    }
    let needs_library = registry == DEFAULT_REGISTRY && !path.contains('/');
    let repository = if needs_library { format!("library/{path}") } else { path.to_string() };
    let tag = tag.unwrap_or(if digest.is_empty() { "latest" } else { "" });
    Some(Reference { registry, repository, tag, digest })
}

fn is_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let wanted = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == wanted && hex.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'))
}

fn is_tag(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn is_repository(text: &str) -> bool {
    (2..=255).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'.' | b'/' | b'-'))
}

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
