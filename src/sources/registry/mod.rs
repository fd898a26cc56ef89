//! Registries of images: manifests, blobs and what refers to an image.
//!
//! In: where something is stored, by tag or digest. Out: its bytes, checked against the digest, or Kyverno's
//! text of why there are none. What the engine does with them is not known here. Semantics: `docs/images.md`,
//! "Registries".

#[cfg(feature = "network")]
pub mod client;
#[cfg(feature = "network")]
pub mod credentials;
pub mod facts;
#[cfg(all(fuzzing, feature = "network"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "network")]
mod session;
#[cfg(all(test, feature = "network"))]
mod tests;

use std::sync::Arc;

pub use crate::external::registry::{Cause, Failure, Manifest, Registry, Repository};
use crate::functions::cel::image_reference::{self, Reference};
use crate::value::Value;

/// Splits the name of an image: its repository, and its tag or digest. A digest takes precedence.
///
/// # Errors
/// The text is no reference.
pub fn place(text: &str) -> Result<(Repository, String), String> {
    let Some(r) = image_reference::parse(text) else {
        return Err(format!("could not parse reference: {text}"));
    };
    let Reference { registry, repository, tag, digest } = r;
    let by = if digest.is_empty() { tag } else { digest };
    Ok((Repository { registry: registry.into(), path: repository }, by.into()))
}

/// A registry with the credentials that a policy names (`imageRegistryCredentials`), which may be none.
pub fn for_policy(registry: &Arc<dyn Registry>, credentials: &Value) -> Arc<dyn Registry> {
    registry.with(credentials).unwrap_or_else(|| registry.clone())
}
