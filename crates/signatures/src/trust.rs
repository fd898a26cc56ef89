//! Attestors of policies about images: who must have signed, as far as that is known without the
//! network.
//!
//! In: an attestor as written, with its expressions filled in. Out: what signatures must have. What
//! Kyverno would fetch (roots and keys of public services, keys of key services) is not fetched:
//! such an attestor verifies nothing.

use crate::public_key::{self, Hash, PublicKey};
use ephor_external::registry::place;
use ephor_value::{Map, Value};
use ephor_x509::pem_block;

use crate::bundle::{self, Bundle};
use crate::certificates::{self, Certificate};
use crate::cosign::{
    self, CheckOptions, Identity, RequiredSigner, SignedPayload, Subject, VerificationError,
};
use crate::log::LogKey;
use crate::options::certificate;
use crate::timestamp::{TrustError, TsaTrust};
use ephor_external::registry::OFFLINE;

/// Why an attestor cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttestorTrustError {
    /// Signatures of a kind that is not known.
    #[error("attestor uses no signatures that are known")]
    UnknownKind,
    /// What it names would have to be fetched.
    #[error("{}", OFFLINE)]
    Fetched,
    /// Timestamp authorities that cannot be read.
    #[error(transparent)]
    Tsa(#[from] TrustError),
    /// A key that is no PEM.
    #[error("PEM decoding failed")]
    NotPem,
    /// A key that cannot be read.
    #[error(transparent)]
    Key(#[from] public_key::PublicKeyError),
    /// A hash that is not known.
    #[error("invalid signature algorithm provided {0}")]
    Algorithm(Box<str>),
    /// Certificates that cannot be read, or lead to no root.
    #[error(transparent)]
    Certificate(#[from] certificates::CertificateError),
    /// A repository that is no place, in the words of the reader of places.
    #[error("{0}")]
    Place(Box<str>),
}

/// Who must have signed.
pub struct Trust {
    options: CheckOptions,
    /// The certificate must name one of these.
    identities: Vec<Identity>,
    /// The facts that the certificate must have.
    facts: Value,
    /// Annotations that the signature must have.
    annotations: Value,
}

fn text<'v>(v: &'v Value, path: &[&str]) -> &'v str {
    v.text_at(path)
}

/// Reads an attestor.
///
/// # Errors
/// What cannot be read, or would have to be fetched.
pub fn read(attestor: &Value) -> Result<Trust, AttestorTrustError> {
    let Some(cosign) = attestor.get("cosign").filter(|v| !v.is_null()) else {
        return Err(AttestorTrustError::UnknownKind);
    };
    let on = |path: &[&str]| cosign.at(path).and_then(Value::as_bool) == Some(true);
    let is_given = |key: &str| cosign.get(key).is_some_and(|v| !v.is_null());
    // Who has a key and wants no log needs no roots: these are not even read then.
    let is_enough = is_given("key") && on(&["ctlog", "insecureIgnoreTlog"]);
    if !is_enough && (is_given("trustedRoot") || is_given("tuf")) {
        return Err(AttestorTrustError::Fetched);
    }
    let tsa = match text(cosign, &["ctlog", "tsaCertChain"]) {
        "" => None,
        pem => Some(TsaTrust::read(pem)?),
    };
    let logs = match on(&["ctlog", "insecureIgnoreTlog"]) {
        true => None,
        false => Some(vec![log_key(text(cosign, &["ctlog", "rekorPubKey"]))?]),
    };
    let algorithm = text(cosign, &["key", "hashAlgorithm"]);
    let hash = Hash::named(algorithm).ok_or_else(|| AttestorTrustError::Algorithm(algorithm.into()))?;
    let mut identities = Vec::new();
    let mut ct_logs = None;
    let by = if is_given("key") {
        key(cosign)?
    } else if is_given("certificate") {
        by_certificate(cosign)?
    } else {
        if !on(&["ctlog", "insecureIgnoreSCT"]) {
            ct_logs = Some(vec![log_key(text(cosign, &["ctlog", "ctLogPubKey"]))?]);
        }
        let all = cosign.at(&["keyless", "identities"]).and_then(Value::as_list).unwrap_or_default();
        identities.extend(all.iter().map(identity));
        let roots = text(cosign, &["keyless", "roots"]);
        match Certificate::all(roots)? {
            roots if !roots.is_empty() => RequiredSigner::Roots(roots),
            _ => return Err(AttestorTrustError::Fetched),
        }
    };
    let repository = match text(cosign, &["source", "repository"]) {
        "" => None,
        name => Some(place(name).map_err(|error| AttestorTrustError::Place(error.to_string().into()))?.0),
    };
    let tag_prefix = text(cosign, &["source", "tagPrefix"]).to_owned();
    Ok(Trust {
        options: CheckOptions { by, hash, logs, tsa, ct_logs, repository, tag_prefix },
        identities,
        facts: cosign.at(&["keyless", "additionalExtensions"]).cloned().unwrap_or_default(),
        annotations: cosign.get("annotations").cloned().unwrap_or_default(),
    })
}

fn log_key(pem: &str) -> Result<LogKey, AttestorTrustError> {
    if pem.is_empty() {
        return Err(AttestorTrustError::Fetched);
    }
    let der = pem_block(pem, "PUBLIC KEY").ok_or(AttestorTrustError::NotPem)?;
    LogKey::of_der(&der).ok_or(AttestorTrustError::Key(public_key::PublicKeyError::UnknownAlgorithm))
}

fn key(cosign: &Value) -> Result<RequiredSigner, AttestorTrustError> {
    match text(cosign, &["key", "data"]) {
        "" => Err(AttestorTrustError::Fetched),
        data => {
            let der = pem_block(data.trim_start(), "PUBLIC KEY").ok_or(AttestorTrustError::NotPem)?;
            Ok(RequiredSigner::Key(Box::new(PublicKey::of_der(&der)?)))
        }
    }
}

fn by_certificate(cosign: &Value) -> Result<RequiredSigner, AttestorTrustError> {
    let value = |key: &str| text(cosign, &["certificate", key, "value"]);
    let chain = certificates::chain(value("certChain"))?;
    match value("cert") {
        "" if !chain.is_empty() => Ok(RequiredSigner::Roots(chain)),
        cert => {
            let signer = certificate(cert)?;
            if !chain.is_empty() {
                signer.chains_to(&chain, &[])?;
            }
            Ok(RequiredSigner::Key(Box::new(signer.key)))
        }
    }
}

fn identity(v: &Value) -> Identity {
    let text = |key: &str| v.text_at(&[key]).to_owned();
    Identity {
        issuer: text("issuer"),
        issuer_pattern: text("issuerRegExp"),
        subject: text("subject"),
        subject_pattern: text("subjectRegExp"),
    }
}

/// The statements of a type.
fn of_kind(all: Vec<Value>, kind: &str) -> Result<Vec<Value>, VerificationError> {
    let own: Vec<Value> = all.into_iter().filter(|p| p.text_at(&["predicateType"]) == kind).collect();
    match own.is_empty() {
        true => Err(VerificationError::found(format!("no attestation of type {kind} found"))),
        false => Ok(own),
    }
}

impl Trust {
    /// The statements in the bundles of an image, with valid signatures; `None` where it has no
    /// bundles. Where it has some, signatures in other forms do not count.
    fn bundled(&self, subject: &Subject<'_>) -> Result<Option<Vec<Value>>, VerificationError> {
        let bundles = bundle::fetch(subject)?;
        if bundles.is_empty() {
            return Ok(None);
        }
        // Whose certificates and entries of logs count would be fetched.
        let (RequiredSigner::Key(key), None) = (&self.options.by, &self.options.logs) else {
            return Err(VerificationError { text: OFFLINE.into(), network: true });
        };
        let stated = |b: &Bundle| b.statement(key, self.options.hash, subject.digest);
        let all: Vec<Value> = bundles.iter().filter_map(stated).collect();
        match all.is_empty() {
            true => Err(VerificationError::found("no matching attestations")),
            false => Ok(Some(all)),
        }
    }

    /// Whether the image has a valid signature.
    ///
    /// # Errors
    /// Why not.
    pub fn signatures(&self, subject: &Subject<'_>) -> Result<(), VerificationError> {
        if self.bundled(subject)?.is_some() {
            return Ok(());
        }
        let all = cosign::signatures(subject, &self.options)?;
        let good = self.identified(all)?;
        self.annotated(&good)
    }

    /// The statements about the image that have a valid signature, and are recorded in a log:
    /// without one Kyverno accepts none.
    ///
    /// # Errors
    /// Why there is none.
    pub fn statements(&self, subject: &Subject<'_>, kind: &str) -> Result<Vec<Value>, VerificationError> {
        if let Some(all) = self.bundled(subject)? {
            return of_kind(all, kind);
        }
        let all = cosign::statements(subject, &self.options)?;
        let good = self.identified(all)?;
        if !good.iter().all(|s| s.logged) {
            return Err(VerificationError::found("cosign bundle verification failed"));
        }
        of_kind(good.into_iter().map(|s| s.payload).collect(), kind)
    }

    /// Those whose certificates name a required identity.
    fn identified(&self, all: Vec<SignedPayload>) -> Result<Vec<SignedPayload>, VerificationError> {
        if self.identities.is_empty() {
            return Ok(all);
        }
        let mut wrong = None;
        let mut good = Vec::new();
        for signed in all {
            let Some(certificate) = &signed.certificate else { continue };
            let fits = |identity: &Identity| {
                identity.fits(certificate).and_then(|()| cosign::facts_fit(&self.facts, certificate))
            };
            let mut last = None;
            match self.identities.iter().any(|identity| fits(identity).map_err(|e| last = Some(e)).is_ok()) {
                true => good.push(signed),
                false => wrong = last,
            }
        }
        match (good.is_empty(), wrong) {
            (false, _) => Ok(good),
            (true, Some(mismatch)) => Err(VerificationError::found(mismatch)),
            (true, None) => Err(VerificationError::found("certificate not found")),
        }
    }

    /// Whether a signature has the annotations: those of its layer, not of its payload, as in
    /// Kyverno.
    fn annotated(&self, all: &[SignedPayload]) -> Result<(), VerificationError> {
        let Some(required) = self.annotations.as_map().filter(|m| !m.is_empty()) else { return Ok(()) };
        let has = |signed: &SignedPayload, required: &Map| {
            required.iter().all(|(k, v)| v.as_str().is_some_and(|v| signed.annotations.text_at(&[k]) == v))
        };
        match all.iter().any(|signed| has(signed, required)) {
            true => Ok(()),
            false => Err(VerificationError::found("no signature matched the required annotations")),
        }
    }
}
