//! References of bundles: `oci://REGISTRY/REPOSITORY[:TAG][@sha256:…]`.
//!
//! In: a text. Out: its parts, read as names of images are ([`ephor_external::reference`]).

use std::fmt;

use ephor_external::reference::{self, Reference};
use ephor_external::registry::Repository;

use super::BundleError;

/// What references of bundles begin with.
pub const SCHEME: &str = "oci://";

/// Where a bundle is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BundleReference {
    /// As it was written, with the scheme.
    text: String,
    /// The repository.
    pub at: Repository,
    /// The tag; `latest` where there is neither a tag nor a digest.
    pub tag: Option<String>,
    /// The digest, which takes precedence over the tag.
    pub digest: Option<String>,
}

impl BundleReference {
    /// Reads a reference; without the scheme, too.
    ///
    /// # Errors
    /// It is none, or its digest is of another kind than SHA-256.
    pub fn parse(text: &str) -> Result<BundleReference, BundleError> {
        let name = text.strip_prefix(SCHEME).unwrap_or(text);
        let wrong = || BundleError::Reference(text.into());
        let Reference { registry, repository, tag, digest } = reference::parse(name).ok_or_else(wrong)?;
        // A scheme, or an empty step of the path.
        let has_steps = repository.split('/').all(|step| !step.is_empty());
        if !has_steps || !(digest.is_empty() || digest.starts_with("sha256:")) {
            return Err(wrong());
        }
        let some = |part: &str| Some(part.to_owned()).filter(|part| !part.is_empty());
        Ok(BundleReference {
            text: format!("{SCHEME}{name}"),
            at: Repository { registry: registry.into(), path: repository },
            tag: some(tag),
            digest: some(digest),
        })
    }

    /// The tag in its full form, under which a digest is pinned; none for a reference that has a
    /// digest, which is a pin itself.
    pub fn pinnable(&self) -> Option<String> {
        let tag = self.tag.as_deref().filter(|_| self.digest.is_none())?;
        Some(format!("{SCHEME}{}:{tag}", self.at))
    }
}

impl fmt::Display for BundleReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_reference_has_a_repository_and_a_tag_or_a_digest() {
        let of = |text: &str| {
            let reference = BundleReference::parse(text).map_err(|error| error.to_string())?;
            let BundleReference { at, tag, digest, .. } = reference;
            Ok::<_, String>((at.to_string(), tag.unwrap_or_default(), digest.unwrap_or_default()))
        };
        let is = |at: &str, tag: &str, digest: &str| Ok((at.to_owned(), tag.to_owned(), digest.to_owned()));
        assert_eq!(of("oci://ghcr.io/a/b:v1"), is("ghcr.io/a/b", "v1", ""));
        assert_eq!(of("oci://localhost:5000/bb"), is("localhost:5000/bb", "latest", ""));
        assert_eq!(of("localhost:5000/bb:1"), is("localhost:5000/bb", "1", ""));
        assert_eq!(of(&format!("oci://ghcr.io/a/b@{DIGEST}")), is("ghcr.io/a/b", "", DIGEST));
        assert_eq!(of(&format!("oci://ghcr.io/a/b:v1@{DIGEST}")), is("ghcr.io/a/b", "v1", DIGEST));
        for wrong in
            ["oci://", "oci://ghcr.io/A", "oci://ghcr.io/a:", "oci://ghcr.io//a", "oci://x/a@sha256:1"]
        {
            assert!(of(wrong).is_err_and(|text| text.contains("help: ")), "{wrong}");
        }
        let long = format!("oci://ghcr.io/a@sha512:{}", "0".repeat(128));
        assert!(of(&long).is_err(), "digests that are not checked are no digests");
    }

    #[test]
    fn tags_can_be_pinned_under_their_full_name() {
        let pinnable = |text: &str| BundleReference::parse(text).ok().and_then(|one| one.pinnable());
        assert_eq!(pinnable("oci://ghcr.io/a/b").as_deref(), Some("oci://ghcr.io/a/b:latest"));
        assert_eq!(pinnable("oci://ghcr.io/a/b:v1").as_deref(), Some("oci://ghcr.io/a/b:v1"));
        assert_eq!(pinnable(&format!("oci://ghcr.io/a/b:v1@{DIGEST}")), None);
    }
}
