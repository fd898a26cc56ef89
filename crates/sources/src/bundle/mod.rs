//! Bundles: policy files as an artifact in a registry of images.
//!
//! In: files, or a reference `oci://REGISTRY/REPOSITORY[:TAG][@sha256:…]`. Out: an [`Artifact`] to
//! push, which is the same for the same files, or a [`Bundle`], of which all digests, sizes and
//! names were checked. Nothing of an artifact is used before it was fetched as a whole and, where a
//! key is required, before a signature by that key was found. Layers have the types of `kyverno oci
//! push`; those of other tools are read too. Semantics: `docs/guides/bundles.md`.
//!
//! - [`access`]: fetching bundles with what a run requires of them: pins, a key
//! - `archive`: files of layers that are archives
//! - [`artifact`]: files as a manifest and blobs
//! - [`error`]: why a bundle cannot be used
//! - `fetched`: a fetched artifact as files
//! - [`folder`]: a bundle as files of a folder
//! - [`key`]: the key that must have signed bundles
//! - [`lock`]: digests of tags, in `ephor.lock`
//! - [`names`]: names of files in bundles
//! - [`mod@reference`]: references of bundles

pub mod access;
mod archive;
pub mod artifact;
pub mod error;
mod fetched;
pub mod folder;
pub mod key;
pub mod lock;
pub mod names;
pub mod reference;

pub use artifact::Artifact;
pub use error::BundleError;
pub use fetched::{Bundle, BundleFile};
pub use lock::BundleLock;
pub use reference::BundleReference;
