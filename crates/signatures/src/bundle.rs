//! Sigstore bundles: signatures with all that is needed to verify them, stored as artifacts that
//! refer to the image.
//!
//! In: an image's manifest and a key. Out: what the owner of the key has signed about it:
//! statements in DSSE envelopes, or the manifest itself. Bundles that come with certificates need
//! the roots and logs of a public service, which are not fetched: they verify nothing here.
//! Semantics: the protocol buffers of Sigstore (`sigstore_bundle.proto`, versions 0.1 to 0.3);
//! texts are Kyverno's (`docs/semantics/images.md`, "Bundles").

use crate::public_key::{Hash, PublicKey};
use ephor_value::bytes::decode_base64;
use ephor_value::{Map, Value};

use crate::content;
use crate::cosign::{self, Subject, VerificationError};

/// What the types of bundles begin with.
const KIND: &str = "application/vnd.dev.sigstore.bundle";
/// The type of a configuration that holds nothing.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
/// How many artifacts may refer to an image.
const MAX_REFERRERS: usize = 50;
/// The largest bundle.
const MAX_BUNDLE: u64 = 10 * 1024 * 1024;

/// Why bytes are no bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum BundleError {
    #[error("proto: syntax error: {0}")]
    Json(#[from] content::ContentError),
    #[error("proto: syntax error")]
    NoObject,
    #[error("proto: unknown field \"{0}\"")]
    UnknownField(Box<str>),
    #[error("proto: invalid value for bytes field {0}")]
    NotBytes(&'static str),
    #[error("validation error: unsupported media type: bundle version v0.{0} is not yet supported")]
    Version(u32),
    #[error("error getting bundle version: validation error: unsupported media type: {0}")]
    MediaType(Box<str>),
    #[error("invalid bundle: validation error: missing {0}")]
    Missing(&'static str),
    #[error("verification material cannot be X.509 certificate chain (for bundle v0.3)")]
    CertificateChain,
}

/// A bundle.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Whether its signer is known by a key, not by a certificate.
    keyed: bool,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// A DSSE envelope.
    Envelope(Value),
    /// A signature of something that is not in the bundle.
    Signature(Vec<u8>),
}

/// The bundles that refer to an image.
///
/// # Errors
/// A registry fails, or one of them cannot be read.
pub fn fetch(subject: &Subject<'_>) -> Result<Vec<Bundle>, VerificationError> {
    fetch_listed(subject, |kind| kind.starts_with(KIND))
}

/// As [`fetch`], where the list of referrers may lack the types: in registries that keep no such
/// lists, cosign 2.6.5 writes one with the type of the empty configuration. There the manifest says
/// what an artifact is.
///
/// # Errors
/// As [`fetch`].
pub fn fetch_untyped(subject: &Subject<'_>) -> Result<Vec<Bundle>, VerificationError> {
    fetch_listed(subject, |kind| kind.starts_with(KIND) || kind == EMPTY)
}

fn fetch_listed(
    subject: &Subject<'_>,
    is_candidate: fn(&str) -> bool,
) -> Result<Vec<Bundle>, VerificationError> {
    let Subject { registry, at, digest } = *subject;
    let all = registry.referrers(at, digest)?;
    if all.len() > MAX_REFERRERS {
        return Err(VerificationError::found(format!(
            "too many referrers: {}, at most {MAX_REFERRERS} are read",
            all.len()
        )));
    }
    let mut found = Vec::new();
    for one in all.iter().filter(|r| is_candidate(r.text_at(&["artifactType"]))) {
        let manifest = registry.manifest(at, one.text_at(&["digest"]))?.read()?;
        let kinds = [one, &manifest].map(|known| known.text_at(&["artifactType"]));
        if !kinds.iter().any(|kind| kind.starts_with(KIND)) {
            continue;
        }
        let layers = manifest.get("layers").and_then(Value::as_list).unwrap_or_default();
        let Some(layer) = layers.first() else { return Err(VerificationError::found("no layers found")) };
        let bytes = registry.blob(at, layer.text_at(&["digest"]), MAX_BUNDLE)?;
        let read = Bundle::read(&bytes);
        found.push(read.map_err(|e| VerificationError::found(format!("failed to unmarshal bundle: {e}")))?);
    }
    Ok(found)
}

impl Bundle {
    fn read(bytes: &[u8]) -> Result<Bundle, BundleError> {
        const KNOWN: [&str; 8] = [
            "mediaType",
            "verificationMaterial",
            "messageSignature",
            "dsseEnvelope",
            "media_type",
            "verification_material",
            "message_signature",
            "dsse_envelope",
        ];
        let value = content::json(bytes)?;
        let Some(fields) = value.as_map() else { return Err(BundleError::NoObject) };
        if let Some((key, _)) = fields.iter().find(|(k, _)| !KNOWN.contains(&&***k)) {
            return Err(BundleError::UnknownField(key.to_string().into()));
        }
        let either = |a: &str, b: &str| fields.get(a).or(fields.get(b)).filter(|v| !v.is_null());
        let version = version(either("mediaType", "media_type").and_then(Value::as_str).unwrap_or_default())?;
        let Some(material) = either("verificationMaterial", "verification_material").and_then(Value::as_map)
        else {
            return Err(BundleError::Missing("verification material"));
        };
        let has = |m: &Map, a: &str, b: &str| m.get(a).or(m.get(b)).is_some_and(|v| !v.is_null());
        if version >= 3 && has(material, "x509CertificateChain", "x509_certificate_chain") {
            return Err(BundleError::CertificateChain);
        }
        let content = match (
            either("dsseEnvelope", "dsse_envelope"),
            either("messageSignature", "message_signature"),
        ) {
            (Some(envelope), _) => {
                let signatures = envelope.get("signatures").and_then(Value::as_list).unwrap_or_default();
                signatures.iter().try_for_each(|s| bytes_of(s, "sig").map(|_| ()))?;
                bytes_of(envelope, "payload")?;
                Content::Envelope(envelope.clone())
            }
            (None, Some(message)) => Content::Signature(bytes_of(message, "signature")?),
            (None, None) => return Err(BundleError::Missing("bundle content")),
        };
        Ok(Bundle { keyed: has(material, "publicKey", "public_key"), content })
    }

    /// The statement about a digest that the owner of a key has signed.
    pub fn statement(&self, key: &PublicKey, hash: Hash, digest: &str) -> Option<Value> {
        let Content::Envelope(envelope) = &self.content else { return None };
        let signatures = envelope.get("signatures").and_then(Value::as_list)?;
        (self.keyed && signatures.len() == 1).then(|| cosign::statement(envelope, key, hash, digest).ok())?
    }

    /// Whether the owner of a key has signed a manifest or a statement about it.
    pub fn verify(&self, key: &PublicKey, hash: Hash, manifest: &[u8], digest: &str) -> bool {
        match &self.content {
            Content::Envelope(_) => self.statement(key, hash, digest).is_some(),
            Content::Signature(bytes) => self.keyed && key.verify_hash(hash, manifest, bytes).is_ok(),
        }
    }
}

/// The minor version that a type names.
fn version(kind: &str) -> Result<u32, BundleError> {
    let former = kind.strip_prefix("application/vnd.dev.sigstore.bundle+json;version=0.");
    let current = kind.strip_prefix("application/vnd.dev.sigstore.bundle.v0.");
    let minor = former.or(current.and_then(|rest| rest.strip_suffix("+json")));
    match minor.and_then(|text| text.parse().ok()) {
        Some(minor @ 1..=3) => Ok(minor),
        Some(minor) => Err(BundleError::Version(minor)),
        None => Err(BundleError::MediaType(kind.into())),
    }
}

fn bytes_of(object: &Value, key: &'static str) -> Result<Vec<u8>, BundleError> {
    let text = object.text_at(&[key]);
    // Both alphabets are read, with padding or without.
    let mut text: String = text
        .chars()
        .map(|c| {
            if c == '-' {
                '+'
            } else if c == '_' {
                '/'
            } else {
                c
            }
        })
        .collect();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    decode_base64(text.as_bytes()).map_err(|_| BundleError::NotBytes(key))
}
