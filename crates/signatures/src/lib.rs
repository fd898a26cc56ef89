//! Signatures: who signed an image, an artifact or a manifest, and whether a policy trusts them.
//!
//! In: keys, certificates, envelopes and log entries as policies and registries give them. Out: the
//! digest that was signed and what was stated about it, or why an attestor does not verify it, in
//! the words of Kyverno 1.19.1, cosign and notation. Nothing here opens a connection: registries
//! come as [`ephor_external::registry::Registry`]. Semantics: `docs/semantics/images.md`.
//!
//! - [`bundle`]: sigstore bundles: signatures with all that is needed to verify them, stored as
//!   artifacts that refer to the image
//! - `certificates`: certificates of signers, and the paths that lead from them to roots that are
//!   trusted
//! - `chain`: chains of certificates as the Notary Project wants them: what keys, extensions and
//!   order must be
//! - `cms`: signed data of the Cryptographic Message Syntax (CMS, RFC 5652) around timestamps
//! - `content`: base64 and JSON in what signers send, with Go's words for what is wrong
//! - [`cose`]: signature envelopes of the Notary Project in CBOR (COSE)
//! - [`cosign`]: signatures and statements in the form of `cosign`, stored in a registry next to
//!   the image
//! - [`fuzzing`]: entry points of fuzz targets into the readers of signatures, with the feature
//!   `fuzzing` only: what others sign and send
//! - [`envelope`]: what envelopes of signatures hold, whatever their format
//! - [`jws`]: signature envelopes of the Notary Project in JSON (JWS)
//! - `log`: entries of transparency logs that come with signatures
//! - [`message`]: the annotation with the signed manifest: base64 of a gzip stream of what was
//!   signed, which is YAML or a `tar.gz` of YAML files
//! - [`notary`]: signatures of the Notary Project (`notation`), stored in a registry as artifacts
//!   that refer to the image
//! - [`options`]: what an attestor requires: keys, certificates, logs and repositories are read in
//!   the order in which Kyverno reads them; the first that cannot be read is the error
//! - `path`: certificate paths: from a signer's certificate over intermediates to a trust anchor
//! - `print`: names and dates of certificates as Kyverno prints them
//! - [`public_key`]: public keys and what they signed: ECDSA on the NIST curves and RSA, both of a
//!   hash of the SHA-2 family, and Ed25519
//! - `sct`: signed certificate timestamps (SCT, RFC 6962) that are embedded in certificates
//! - `timestamp`: timestamps of signatures: tokens of RFC 3161 in signed data of CMS (`super::cms`)
//! - [`trust`]: attestors of policies about images: who must have signed, as far as that is known
//!   without the network
#![forbid(unsafe_code)]

pub mod bundle;
mod certificates;
mod chain;
mod cms;
mod content;
pub mod cose;
pub mod cosign;
pub mod envelope;
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
