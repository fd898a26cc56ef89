//! Signatures: who signed an image, an artifact or a manifest, and whether a policy trusts them.
//!
//! In: keys, certificates, envelopes and log entries as policies and registries give them. Out: the
//! digest that was signed and what was stated about it, or why an attestor does not verify it, in
//! the words of Kyverno 1.19.1, cosign and notation. Nothing here opens a connection: registries
//! come as [`ephor_external::registry::Registry`]. Semantics: `docs/semantics/images.md`.
#![forbid(unsafe_code)]

pub mod bundle;
mod certificates;
mod chain;
mod cms;
mod content;
pub mod cose;
pub mod cosign;
#[cfg(test)]
mod fixtures;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod jws;
mod log;
pub mod message;
pub mod notary;
pub mod options;
mod path;
mod print;
pub mod public_key;
mod sct;
mod timestamp;
pub mod trust;
