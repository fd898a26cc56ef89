//! Container image references.
//!
//! In: the text of an `image` field and the configuration of the default registry. Out: its parts
//! and its normalised forms, or Kyverno 1.19.1's error text.
//!
//! A text whose first component cannot be a host (no `.`, no `:`, not `localhost`, lower case) gets
//! the default registry in front; then it must be an OCI reference
//! `[host[:port]/]path[:tag][@digest]`. No `library/` is inserted and no host is rewritten.

/// The longest repository path.
const MAX_PATH: usize = 255;
/// The longest tag.
const MAX_TAG: usize = 128;

/// A text is no image reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "bad image: {image}, defaultRegistry: {default_registry}, enableDefaultRegistryMutation: {mutate}: {cause}"
)]
pub struct ImageError {
    /// What was read: the text, after the default registry where it names none.
    pub image: Box<str>,
    /// The default registry.
    pub default_registry: Box<str>,
    /// Whether references get the default registry.
    pub mutate: bool,
    /// Why it is none.
    #[source]
    pub cause: ImageReason,
}

/// Why a text is no image reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageReason {
    /// It is one once it is in lower case.
    #[error("repository name must be lowercase")]
    UpperCase,
    /// It is none in any case.
    #[error("invalid reference format")]
    Syntax,
    /// The path of the repository is too long.
    #[error("repository name must not be more than 255 characters")]
    LongPath,
    /// Upper case in the digest.
    #[error("invalid checksum digest format")]
    Digest,
    /// A digest of an algorithm that is not known.
    #[error("unsupported digest algorithm")]
    DigestAlgorithm,
    /// A digest of another length than its algorithm gives.
    #[error("invalid checksum digest length")]
    DigestLength,
}

/// A parsed image reference. Parts that are absent are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRef {
    /// Host with its port.
    pub registry: String,
    /// Repository without host.
    pub path: String,
    /// Last segment of the path.
    pub name: String,
    /// Tag; `latest` when the text has neither tag nor digest.
    pub tag: String,
    /// Digest with its algorithm (`sha256:…`).
    pub digest: String,
    repository: String,
}

impl ImageRef {
    /// Reads `text`. With `mutate` off, a default registry that was put in front is dropped again;
    /// then a first path segment that holds `_` becomes the registry (Kyverno's behaviour).
    ///
    /// # Errors
    /// `bad image: <full>, defaultRegistry: <r>, enableDefaultRegistryMutation: <m>: <cause>`.
    pub fn parse(text: &str, default_registry: &str, mutate: bool) -> Result<ImageRef, ImageError> {
        let added = lacks_registry(text);
        let full = if added { format!("{default_registry}/{text}") } else { text.to_string() };
        let raw = parse_reference(&full).map_err(|cause| ImageError {
            image: full.as_str().into(),
            default_registry: default_registry.into(),
            mutate,
            cause,
        })?;
        let (mut registry, mut path) = (raw.domain, raw.path);
        let name = path.rsplit('/').next().unwrap_or_default();
        if added && !mutate {
            registry = "";
        }
        let repository = if registry.is_empty() { path.into() } else { format!("{registry}/{path}") };
        if registry.is_empty()
            && let Some((first, rest)) = path.split_once('/')
            && first.contains('_')
        {
            (registry, path) = (first, rest);
        }
        let tag = if raw.tag.is_empty() && raw.digest.is_empty() { "latest" } else { raw.tag };
        Ok(ImageRef {
            registry: registry.into(),
            path: path.into(),
            name: name.into(),
            tag: tag.into(),
            digest: raw.digest.into(),
            repository,
        })
    }

    /// `registry/path@digest`, or `registry/path:tag` without a digest.
    pub fn reference(&self) -> String {
        if self.digest.is_empty() {
            self.reference_with_tag()
        } else {
            format!("{}@{}", self.repository, self.digest)
        }
    }

    /// `registry/path:tag`; ends in a bare `:` when there is only a digest, as in Kyverno.
    pub fn reference_with_tag(&self) -> String {
        format!("{}:{}", self.repository, self.tag)
    }
}

fn lacks_registry(text: &str) -> bool {
    match text.split_once('/') {
        None => true,
        Some((host, _)) => {
            !host.contains(['.', ':']) && host != "localhost" && !host.chars().any(char::is_uppercase)
        }
    }
}

struct Raw<'a> {
    domain: &'a str,
    path: &'a str,
    tag: &'a str,
    digest: &'a str,
}

fn parse_reference(text: &str) -> Result<Raw<'_>, ImageReason> {
    let Some(raw) = split_reference(text) else {
        return Err(if split_reference(&text.to_lowercase()).is_some() {
            ImageReason::UpperCase
        } else {
            ImageReason::Syntax
        });
    };
    if raw.path.len() > MAX_PATH {
        return Err(ImageReason::LongPath);
    }
    if !raw.digest.is_empty() {
        check_digest(raw.digest)?;
    }
    Ok(raw)
}

/// The parts of a well-formed reference.
fn split_reference(text: &str) -> Option<Raw<'_>> {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) if is_digest_syntax(digest) => (rest, digest),
        Some(_) => return None,
        None => (text, ""),
    };
    let last = rest.rfind('/').map_or(0, |i| i + 1);
    let (name, tag) = match rest.get(last..)?.find(':') {
        Some(at) => {
            let (name, tag) = rest.split_at(last + at);
            let tag = &tag[1..];
            if !is_tag(tag) {
                return None;
            }
            (name, tag)
        }
        None => (rest, ""),
    };
    let (domain, path) = match name.split_once('/') {
        Some((host, path)) if is_domain(host) => (host, path),
        _ => ("", name),
    };
    path.split('/').all(is_path_component).then_some(Raw { domain, path, tag, digest })
}

fn is_tag(tag: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    tag.len() <= MAX_TAG
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|b| word(b) || b == b'.' || b == b'-')
}

/// Alphanumeric runs joined by `.`, `_`, `__` or any number of `-`.
fn is_path_component(s: &str) -> bool {
    let alnum = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let (Some(first), Some(last)) = (s.bytes().next(), s.bytes().next_back()) else { return false };
    alnum(first)
        && alnum(last)
        && s.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit()).all(|separator| {
            matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|b| b == b'-')
        })
}

fn is_domain(s: &str) -> bool {
    let (host, port) = match s.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else { return false };
            if address.is_empty() || !address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':') {
                return false;
            }
            (None, port.strip_prefix(':').or(if port.is_empty() { Some("0") } else { None }))
        }
        None => match s.split_once(':') {
            Some((host, port)) => (Some(host), Some(port)),
            None => (Some(s), Some("0")),
        },
    };
    let host_ok = host.is_none_or(|h| h.split('.').all(is_host_label));
    host_ok && port.is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
}

fn is_host_label(s: &str) -> bool {
    !s.is_empty()
        && !s.starts_with('-')
        && !s.ends_with('-')
        && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// `algorithm:hex` with at least 32 hexadecimal digits.
fn is_digest_syntax(s: &str) -> bool {
    let Some((algorithm, hex)) = s.split_once(':') else { return false };
    let word = |w: &str| {
        w.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
            && w.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(word)
        && hex.len() >= 32
        && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

fn check_digest(digest: &str) -> Result<(), ImageReason> {
    let (algorithm, hex) = digest.split_once(':').unwrap_or((digest, ""));
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ if algorithm.bytes().any(|b| b.is_ascii_uppercase()) => {
            return Err(ImageReason::Digest);
        }
        _ => return Err(ImageReason::DigestAlgorithm),
    };
    if hex.len() != length {
        return Err(ImageReason::DigestLength);
    }
    if hex.bytes().any(|b| b.is_ascii_uppercase()) {
        return Err(ImageReason::Digest);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parts(text: &str, mutate: bool) -> String {
        match ImageRef::parse(text, "docker.io", mutate) {
            Ok(i) => format!("{}|{}|{}|{}|{}|{}", i.registry, i.path, i.name, i.tag, i.digest, i.reference()),
            Err(e) => e.cause.to_string(),
        }
    }

    #[test]
    fn references_are_taken_apart_and_normalised() {
        let d = format!("sha256:{}", "a".repeat(64));
        for (text, want) in [
            ("nginx".to_string(), "docker.io|nginx|nginx|latest||docker.io/nginx:latest".to_string()),
            (
                "docker.io/library/nginx:1".into(),
                "docker.io|library/nginx|nginx|1||docker.io/library/nginx:1".into(),
            ),
            ("localhost:5000/x:t".into(), "localhost:5000|x|x|t||localhost:5000/x:t".into()),
            ("Foo/x".into(), "Foo|x|x|latest||Foo/x:latest".into()),
            ("[::1]:5000/x".into(), "[::1]:5000|x|x|latest||[::1]:5000/x:latest".into()),
            (format!("q.io/o/x:t@{d}"), format!("q.io|o/x|x|t|{d}|q.io/o/x@{d}")),
            (format!("o/x@{d}"), format!("docker.io|o/x|x||{d}|docker.io/o/x@{d}")),
            ("Bad Image".into(), "invalid reference format".into()),
            ("Foo".into(), "repository name must be lowercase".into()),
            ("x:".into(), "invalid reference format".into()),
            (format!("x@{}", d.to_uppercase()), "invalid checksum digest format".into()),
        ] {
            assert_eq!(parts(&text, true), want, "{text}");
        }
    }

    #[test]
    fn the_added_registry_goes_again_without_mutation() {
        assert_eq!(parts("o/x:1", false), "|o/x|x|1||o/x:1");
        assert_eq!(parts("my_reg/x/y:1", false), "my_reg|x/y|y|1||my_reg/x/y:1");
        assert_eq!(parts("docker.io/x:1", false), "docker.io|x|x|1||docker.io/x:1");
    }

    #[test]
    fn an_error_names_the_settings() {
        assert_eq!(
            ImageRef::parse("Foo", "docker.io", true).unwrap_err().to_string(),
            "bad image: docker.io/Foo, defaultRegistry: docker.io, enableDefaultRegistryMutation: true: repository name must be lowercase"
        );
    }

    #[test]
    fn a_digest_alone_has_no_tag() {
        let text = format!("x@sha256:{}", "0".repeat(64));
        assert_eq!(ImageRef::parse(&text, "docker.io", true).unwrap().reference_with_tag(), "docker.io/x:");
    }
}
