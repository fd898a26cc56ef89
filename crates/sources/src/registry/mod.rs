//! Registries of images: manifests, blobs and what refers to an image.
//!
//! In: where something is stored, by tag or digest. Out: its bytes, checked against the digest, or
//! Kyverno's text of why there are none. What the engine does with them is not known here.
//! Semantics: `docs/semantics/images.md`, "Registries".
//!
//! - [`client`]: registries over HTTP: the pulling half of the OCI distribution protocol
//! - [`credentials`]: credentials for registries
//! - [`fuzzing`]: entry points of fuzz targets into what registries answer, with the feature
//!   `fuzzing` only
//! - `session`: how to reach a registry: the scheme, and credentials
//! - `tests`: credentials for registries
//! - [`upload`]: writing to a registry: the pushing half of the OCI distribution protocol

#[cfg(feature = "network")]
pub mod client;
#[cfg(feature = "network")]
pub mod credentials;
#[cfg(all(feature = "fuzzing", feature = "network"))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "network")]
mod session;
#[cfg(all(test, feature = "network"))]
mod tests;
#[cfg(feature = "network")]
pub mod upload;

pub use ephor_external::registry::{Cause, Failure, Manifest, Registry, Repository, place};
