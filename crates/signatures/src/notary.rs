//! Signatures of the Notary Project (`notation`), stored in a registry as artifacts that refer to
//! the image.
//!
//! In: an image's digest and certificates that are trusted. Out: that one of its signatures is
//! good, or why none is, in Kyverno's words. A signature is an envelope ([`super::jws`],
//! [`super::cose`]) around the image's descriptor; the chain of its signer (`super::chain`) must
//! hold a certificate that is trusted. Lists of revoked certificates are not fetched: a chain that
//! names some has an unknown status, as in Kyverno without network. Semantics: the Notary Project's
//! specifications; `docs/semantics/images.md`, "Notary".

use ephor_external::registry::{Cause, Failure, Manifest, Registry, Repository};
use ephor_value::Value;
use ephor_value::clock;
use ephor_value::quote::quote;
use ephor_value::time::Time;
use ephor_x509::pem_all;

use crate::certificates;
use crate::chain::{self, Leaf, Link, NotCovered};
use crate::content;
use crate::cose;
use crate::cosign::VerificationError;
use crate::envelope::Envelope;
use crate::jws;
use crate::print::mail_date;
use crate::timestamp::{self, TrustError, TsaRoots};

/// The type of artifacts that are signatures.
const SIGNATURE: &str = "application/vnd.cncf.notary.signature";
const PAYLOAD: &str = "application/vnd.cncf.notary.payload.v1+json";
/// How many artifacts may refer to an image.
const MAX_REFERRERS: usize = 50;
/// How many signatures of an image are read.
const MAX_SIGNATURES: usize = 10;
/// The largest envelope and statement.
const MAX_ENVELOPE: u64 = 10_000_000;

/// Why the certificates that are trusted cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A text that is no PEM.
    #[error("failed to parse certificates: error during PEM decoding")]
    NotPem,
    /// A certificate that cannot be read.
    #[error("failed to parse certificates: {0}")]
    Certificate(#[from] certificates::CertificateError),
    /// Those of timestamp authorities.
    #[error(transparent)]
    Tsa(#[from] TrustError),
}

/// Why a signature is not good.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotaryError {
    /// An envelope of another type.
    #[error(
        "unable to parse the digital signature, error : signature envelope format with media type {} is not supported",
        quote(.0)
    )]
    MediaType(Box<str>),
    /// An envelope in JSON that does not count.
    #[error(transparent)]
    Jws(#[from] jws::JwsError),
    /// An envelope in CBOR that does not count.
    #[error(transparent)]
    Cose(#[from] cose::CoseError),
    /// When it was signed is not stated.
    #[error("signing-time not present")]
    NoSigningTime,
    /// It has expired when it was signed.
    #[error("expiry cannot be equal or before the signing time")]
    Expiry,
    /// A certificate of the signer's chain cannot be read.
    #[error(transparent)]
    Certificate(#[from] certificates::CertificateError),
    /// The signer's chain is not as it must be.
    #[error("certificate-chain is invalid, {0}")]
    Chain(#[source] chain::CertificateChainError),
    /// The algorithm is not the one of the signer's key; both by number.
    #[error(
        "mismatch between signature algorithm derived from signing certificate ({own}) and signing algorithm specified ({named}s)"
    )]
    Algorithm {
        /// The key's.
        own: u8,
        /// The one that is named.
        named: u8,
    },
    /// What was signed is of another type.
    #[error("payload content type {} not supported", quote(.0))]
    ContentType(Box<str>),
    /// A plugin is to verify it.
    #[error("plugin unsupported due to nil verifier.pluginManager")]
    Plugin,
    /// No certificate is trusted for it.
    #[error("no trusted certificates are found to verify authenticity")]
    NoTrust,
    /// The signer is not trusted.
    #[error("the signature's certificate chain does not contain any trusted certificate")]
    Untrusted,
    /// It has expired, at a moment that is quoted.
    #[error("digital signature has expired on {0}")]
    Expired(Box<str>),
    /// A timestamp is needed.
    #[error("no timestamp countersignature was found")]
    NoTimestamp,
    /// Its timestamp does not count.
    #[error(transparent)]
    Timestamp(#[from] timestamp::TimestampError),
    /// A certificate was not valid when it was signed.
    #[error(transparent)]
    NotCovered(#[from] NotCovered),
    /// The signer's chain is no path.
    #[error(transparent)]
    Path(chain::CertificateChainError),
    /// Whether a certificate was revoked is not known; its subject is quoted.
    #[error("signing certificate with subject {0} revocation status is unknown")]
    Revocation(Box<str>),
    /// What was signed is no JSON.
    #[error(transparent)]
    Payload(#[from] content::ContentError),
    /// A field of what was signed has another type.
    #[error(
        "json: cannot unmarshal {found} into Go struct field Descriptor.targetArtifact.{field} of type {wanted}"
    )]
    Field {
        /// The field.
        field: &'static str,
        /// The type of the JSON value.
        found: &'static str,
        /// Go's type.
        wanted: &'static str,
    },
    /// Another artifact was signed.
    #[error("content descriptor mismatch")]
    Descriptor,
}

/// Who is trusted.
pub struct Store {
    trusted: Vec<Link>,
    /// The timestamp authorities that are trusted: without a timestamp of one of them no signature
    /// counts then.
    tsa: Option<TsaRoots>,
}

/// An image or something that refers to one, by its repository and manifest.
pub struct Artifact<'a> {
    /// Who answers.
    pub registry: &'a dyn Registry,
    /// Where it is stored.
    pub at: &'a Repository,
    /// Its manifest.
    pub manifest: &'a Manifest,
}

impl Artifact<'_> {
    fn name(&self) -> String {
        format!("{}@{}", self.at, self.manifest.digest)
    }

    fn referrers(&self) -> Result<Vec<Value>, VerificationError> {
        let all = self.registry.referrers(self.at, &self.manifest.digest);
        let all = all.map_err(|f| refused(f, "failed to fetch referrers: "))?;
        match all.len() > MAX_REFERRERS {
            true => Err(VerificationError::found(format!(
                "failed to fetch referrers: too many referrers found, max limit is {MAX_REFERRERS}"
            ))),
            false => Ok(all),
        }
    }

    /// The artifacts of a type that refer to it.
    fn of_type(&self, kind: &str) -> Result<Vec<String>, VerificationError> {
        let own =
            |r: &Value| (r.text_at(&["artifactType"]) == kind).then(|| r.text_at(&["digest"]).to_owned());
        Ok(self.referrers()?.iter().filter_map(own).collect())
    }
}

/// A failure in the words of Kyverno, which requests heads first.
fn refused(failure: Failure, before: &str) -> VerificationError {
    let network = failure.cause == Cause::Network;
    VerificationError { text: format!("{before}{}", head_error(failure)), network }
}

/// What Kyverno says where it requests the head of something that is not there.
pub fn head_error(failure: Failure) -> String {
    match failure.text.strip_prefix("GET ").and_then(|t| t.split_once(": ")) {
        Some((url, _)) if failure.cause == Cause::Missing => format!(
            "HEAD {url}: unexpected status code 404 Not Found (HEAD responses have no body, use GET for details)"
        ),
        _ => failure.text,
    }
}

impl Store {
    /// Reads the certificates that are trusted.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn read(pem: &str) -> Result<Store, StoreError> {
        let ders = pem_all(pem).ok_or(StoreError::NotPem)?;
        let trusted = ders.iter().map(|der| Link::of_der(der)).collect::<Result<_, _>>()?;
        Ok(Store { trusted, tsa: None })
    }

    /// Reads the roots of timestamp authorities that are trusted; empty = no timestamp is needed.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn with_tsa(mut self, pem: &str) -> Result<Store, StoreError> {
        if !pem.is_empty() {
            self.tsa = Some(TsaRoots::read(pem)?);
        }
        Ok(self)
    }

    /// Whether a trusted signer has signed an artifact.
    ///
    /// # Errors
    /// Why none has.
    pub fn verify(&self, artifact: &Artifact<'_>) -> Result<(), VerificationError> {
        let all = artifact.of_type(SIGNATURE)?;
        let name = artifact.name();
        if all.is_empty() {
            return Err(VerificationError::found(format!(
                "no signature is associated with {}, make sure the artifact was signed successfully",
                quote(&name)
            )));
        }
        let mut text = String::from("signature verification failed");
        for digest in all.iter().take(MAX_SIGNATURES) {
            let (bytes, kind) = envelope(artifact, digest).map_err(|f| {
                let before = format!(
                    "unable to retrieve digital signature with digest {} associated with {} from the Repository, error : ",
                    quote(digest),
                    quote(&name)
                );
                refused(f, &before)
            })?;
            match self.fits(&bytes, &kind, artifact.manifest) {
                Ok(()) => return Ok(()),
                Err(e) => text.push_str(&format!("\nfailed to verify signature with digest {digest}, {e}")),
            }
        }
        if all.len() >= MAX_SIGNATURES {
            return Err(VerificationError::found(format!(
                "signature evaluation stopped. The configured limit of {MAX_SIGNATURES} signatures to verify per artifact exceeded"
            )));
        }
        Err(VerificationError::found(text))
    }

    /// The contents of the artifacts of a type that refer to an artifact; a trusted signer must
    /// have signed each.
    ///
    /// # Errors
    /// Why there is none, or one is not signed.
    pub fn statements(&self, artifact: &Artifact<'_>, kind: &str) -> Result<Vec<Value>, VerificationError> {
        let mut found = Vec::new();
        for digest in artifact.of_type(kind)? {
            let Artifact { registry, at, .. } = *artifact;
            let manifest = registry.manifest(at, &digest)?;
            self.verify(&Artifact { registry, at, manifest: &manifest })?;
            let manifest = manifest.read()?;
            let layer = match manifest.get("layers").and_then(Value::as_list).unwrap_or_default() {
                [] => return Err(VerificationError::found("no predicate found")),
                [layer] => layer,
                _ => return Err(VerificationError::found("multiple layers in predicate not supported")),
            };
            let bytes = payload(artifact, layer)?;
            let value = content::json(&bytes).map_err(VerificationError::found)?;
            if value.as_map().is_none() {
                return Err(VerificationError::found(format!(
                    "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    value.json_type()
                )));
            }
            found.push(value);
        }
        Ok(found)
    }

    /// Whether a trusted signer has signed an artifact of a type that refers to an artifact.
    ///
    /// # Errors
    /// A registry fails.
    pub fn has_signed(&self, artifact: &Artifact<'_>, kind: &str) -> Result<bool, VerificationError> {
        let Artifact { registry, at, .. } = *artifact;
        for digest in artifact.of_type(kind)? {
            let manifest = registry.manifest(at, &digest)?;
            if self.verify(&Artifact { registry, at, manifest: &manifest }).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a signature is good, about this manifest, and by a trusted signer.
    fn fits(&self, bytes: &[u8], kind: &str, about: &Manifest) -> Result<(), NotaryError> {
        let envelope = match kind {
            "application/jose+json" => jws::read(bytes)?,
            "application/cose" => cose::read(bytes)?,
            _ => return Err(NotaryError::MediaType(kind.into())),
        };
        let chain = whole(&envelope)?;
        let Envelope { claims, payload, .. } = &envelope;
        if claims.content_type != PAYLOAD {
            return Err(NotaryError::ContentType(claims.content_type.as_str().into()));
        }
        if claims.plugin {
            return Err(NotaryError::Plugin);
        }
        // Policies cannot name a trusted signing authority.
        if claims.authority || self.trusted.is_empty() {
            return Err(NotaryError::NoTrust);
        }
        if !chain.iter().any(|link| self.trusted.iter().any(|t| t.der == link.der)) {
            return Err(NotaryError::Untrusted);
        }
        let now = now();
        if let Some(expiry) = claims.expiry.as_ref().filter(|e| e.unix_nanos() < now.unix_nanos()) {
            return Err(NotaryError::Expired(quote(&mail_date(expiry)).into()));
        }
        let (moments, what) = match (&self.tsa, &envelope.timestamp) {
            (None, _) => (vec![now], "verification time"),
            (Some(_), None) => return Err(NotaryError::NoTimestamp),
            (Some(tsa), Some(token)) => (tsa.moments(token, &envelope.signature)?.to_vec(), "timestamp"),
        };
        for moment in &moments {
            chain.iter().try_for_each(|link| link.covers(moment, what))?;
            chain::verify(&chain, moment).map_err(NotaryError::Path)?;
        }
        let links = chain.split_last().map_or(&[][..], |(_, links)| links);
        if let Some(link) = links.iter().find(|l| l.revocable) {
            return Err(NotaryError::Revocation(link.subject().into()));
        }
        described(payload, about)
    }
}

/// The chain of an envelope's signer, when it and the claims are as they must be.
fn whole(envelope: &Envelope) -> Result<Vec<Link>, NotaryError> {
    let Envelope { ders, claims, algorithm, .. } = envelope;
    let Some(signed) = &claims.signed else { return Err(NotaryError::NoSigningTime) };
    if claims.expiry.as_ref().is_some_and(|e| e.unix_nanos() <= signed.unix_nanos()) {
        return Err(NotaryError::Expiry);
    }
    let chain: Vec<Link> = ders.iter().map(|der| Link::of_der(der)).collect::<Result<_, _>>()?;
    chain::fits(&chain, Leaf::Signer).map_err(NotaryError::Chain)?;
    let own = chain.first().map_or(0, Link::algorithm);
    match own == *algorithm {
        true => Ok(chain),
        false => Err(NotaryError::Algorithm { own, named: *algorithm }),
    }
}

/// Whether a payload describes a manifest.
fn described(payload: &[u8], about: &Manifest) -> Result<(), NotaryError> {
    let value = content::json(payload)?;
    let field = |key: &str| value.at(&["targetArtifact", key]).filter(|v| !v.is_null());
    let wrong = |field, found: &Value, wanted| NotaryError::Field { field, found: found.json_type(), wanted };
    let text = |key: &'static str, wanted: &'static str| match field(key) {
        None => Ok(String::new()),
        Some(Value::Str(text)) => Ok(text.to_string()),
        Some(other) => Err(wrong(key, other, wanted)),
    };
    let (kind, digest) = (text("mediaType", "string")?, text("digest", "digest.Digest")?);
    let size = match field("size") {
        None => 0.0,
        Some(Value::Int(n)) => *n as f64,
        Some(Value::Float(f)) => *f,
        Some(other) => return Err(wrong("size", other, "int64")),
    };
    let fits = kind == about.media_type && digest == about.digest && size == about.bytes.len() as f64;
    if fits { Ok(()) } else { Err(NotaryError::Descriptor) }
}

/// The envelope of a signature, and of which kind it is.
fn envelope(artifact: &Artifact<'_>, digest: &str) -> Result<(Vec<u8>, String), Failure> {
    let manifest = artifact.registry.manifest(artifact.at, digest)?.read()?;
    let layers = manifest.get("layers").and_then(Value::as_list).unwrap_or_default();
    let Some(layer) = layers.first() else { return Err(Failure::other("no signature found")) };
    Ok((payload(artifact, layer)?, layer.text_at(&["mediaType"]).to_owned()))
}

fn payload(artifact: &Artifact<'_>, layer: &Value) -> Result<Vec<u8>, Failure> {
    let digest = layer.text_at(&["digest"]);
    let size = match layer.get("size") {
        Some(Value::Int(n)) => u64::try_from(*n).unwrap_or_default(),
        Some(Value::Float(f)) if *f > 0.0 => *f as u64,
        _ => 0,
    };
    if size > MAX_ENVELOPE {
        return Err(Failure::other(format!(
            "payload size {size} exceeds {MAX_ENVELOPE} for digest {digest}"
        )));
    }
    artifact.registry.blob(artifact.at, digest, MAX_ENVELOPE)
}

fn now() -> Time {
    Time::from_unix_nanos(clock::unix_nanos())
}

#[cfg(test)]
mod tests;
