//! Names of images as registries read them: `[registry/]repository[:tag][@digest]`.
//!
//! In: a text. Out: its parts. Unlike in rules ([`ephor_value::image`]) the default registry is the
//! index of Docker, its single names get `library/`, and references are checked loosely. Semantics:
//! `docs/expressions/cel.md`.

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
