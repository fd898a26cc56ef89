//! What is read of registries of images: manifests, blobs and what refers to an image.
//!
//! In: the repository and tag or digest of an artefact. Out: its bytes, or why there are none. Who
//! fetches them is `sources::registry`. Semantics: `docs/semantics/images.md`, "Registries".

use std::sync::Arc;

use crate::reference::{self, Reference};
use ephor_document::decode::{self, decode_json};
use ephor_value::Value;

/// Why something is not known that needs a registry or a transparency log, where there is none.
pub const OFFLINE: &str = "registries and transparency logs are not queried";

/// A repository: where the images of one name are stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Repository {
    /// The host with its port.
    pub registry: String,
    /// The path below it.
    pub path: String,
}

impl std::fmt::Display for Repository {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.registry, self.path)
    }
}

/// A manifest as it was sent.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its digest.
    pub digest: String,
    /// Its kind, as the registry says.
    pub media_type: String,
    /// Its text.
    pub bytes: Vec<u8>,
}

impl Manifest {
    /// Its content.
    ///
    /// # Errors
    /// It is no JSON.
    pub fn read(&self) -> Result<Value, Failure> {
        let text = String::from_utf8_lossy(&self.bytes);
        Ok(decode_json(&text)?)
    }

    /// Whether it lists images of several platforms.
    pub fn is_index(&self) -> bool {
        matches!(
            &*self.media_type,
            "application/vnd.oci.image.index.v1+json"
                | "application/vnd.docker.distribution.manifest.list.v2+json"
        )
    }
}

/// Why a registry gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// In the words of Kyverno 1.19.1.
    pub text: String,
    /// Of which kind.
    pub cause: Cause,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The registry was not reached.
    Network,
    /// The registry does not have it.
    Missing,
    /// Anything else.
    Other,
}

impl Failure {
    /// A failure of no special kind.
    pub fn other(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), cause: Cause::Other }
    }

    /// A registry that was not reached.
    pub fn network(text: impl Into<String>) -> Failure {
        Failure { text: text.into(), cause: Cause::Network }
    }
}

impl From<decode::DecodeError> for Failure {
    fn from(error: decode::DecodeError) -> Failure {
        Failure::other(error.to_string())
    }
}

impl From<NoReference> for Failure {
    fn from(error: NoReference) -> Failure {
        Failure::other(error.to_string())
    }
}

/// A text that is no name of an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not parse reference: {0}")]
pub struct NoReference(pub Box<str>);

/// The registries of images.
pub trait Registry: Send + Sync {
    /// The manifest of a tag or digest.
    ///
    /// # Errors
    /// See [`Failure`].
    fn manifest(&self, at: &Repository, by: &str) -> Result<Manifest, Failure>;

    /// The blob of a digest.
    ///
    /// # Errors
    /// See [`Failure`]; also when it is larger than `most` bytes.
    fn blob(&self, at: &Repository, digest: &str, most: u64) -> Result<Vec<u8>, Failure>;

    /// Descriptors of what refers to a digest.
    ///
    /// # Errors
    /// See [`Failure`].
    fn referrers(&self, at: &Repository, digest: &str) -> Result<Vec<Value>, Failure>;

    /// The same with the credentials that a policy names (`imageRegistryCredentials`); `None` =
    /// without any.
    fn with(&self, _credentials: &Value) -> Option<Arc<dyn Registry>> {
        None
    }
}

/// Splits the name of an image: its repository, and its tag or digest. A digest takes precedence.
///
/// # Errors
/// The text is no reference.
pub fn place(text: &str) -> Result<(Repository, String), NoReference> {
    let Some(r) = reference::parse(text) else {
        return Err(NoReference(text.into()));
    };
    let Reference { registry, repository, tag, digest } = r;
    let by = if digest.is_empty() { tag } else { digest };
    Ok((Repository { registry: registry.into(), path: repository }, by.into()))
}

/// A registry with the credentials that a policy names (`imageRegistryCredentials`), which may be
/// none.
pub fn for_policy(registry: &Arc<dyn Registry>, credentials: &Value) -> Arc<dyn Registry> {
    registry.with(credentials).unwrap_or_else(|| registry.clone())
}
