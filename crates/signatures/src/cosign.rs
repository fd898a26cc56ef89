//! Signatures and statements in the form of `cosign`, stored in a registry next to the image.
//!
//! In: an image's digest and the required signer. Out: the payloads with valid signatures, or why
//! there is none. Signatures are layers of the image under the tag `sha256-….sig`, statements of
//! the one under `sha256-….att`: DSSE envelopes with in-toto statements. Order and texts are
//! Kyverno's (`docs/semantics/images.md`, "Registries").
//!
//! - `error`: why a signature or a statement does not count, in Kyverno's words

mod error;

use crate::public_key::{Hash, PublicKey};
use ephor_external::registry::{Cause, Failure, Registry, Repository};
use ephor_value::Value;
use ephor_value::bytes::decode_base64;
use ephor_value::clock;
use ephor_value::time::Time;

use crate::certificates::Certificate;
use crate::content;
use crate::log::{self, LogKey, SignedContent};
use crate::sct;
use crate::timestamp::TsaTrust;

pub use error::{CosignError, Mismatch};

/// The largest payload.
const MAX_PAYLOAD: u64 = 10 * 1024 * 1024;
/// How many signatures of one image are read.
const MAX_SIGNATURES: usize = 100;

/// Why no log is searched.
const NO_LOGS: &str = "transparency logs are not queried";
/// Kyverno's advice.
pub const NO_ROOT: &str =
    "Check your TUF root (see cosign initialize) or set a custom root with env var SIGSTORE_ROOT_FILE";

const SIGNATURE: &str = "dev.cosignproject.cosign/signature";
const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";
const CHAIN: &str = "dev.sigstore.cosign/chain";
const TIMESTAMP: &str = "dev.sigstore.cosign/rfc3161timestamp";
const BUNDLE: &str = "dev.sigstore.cosign/bundle";

/// Who must have signed.
#[derive(Clone, Debug)]
pub enum RequiredSigner {
    /// The owner of a key.
    Key(Box<PublicKey>),
    /// The owner of a certificate that comes with the signature and chains to one of these.
    Roots(Vec<Certificate>),
}

/// How signatures are verified: the `CheckOpts` of cosign.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Who.
    pub by: RequiredSigner,
    /// What was signed of the payload.
    pub hash: Hash,
    /// The logs of which one must have recorded it; `None` = none needs to.
    pub logs: Option<Vec<LogKey>>,
    /// The timestamp authorities (TSA) that are trusted; `None` = timestamps are not read.
    pub tsa: Option<TsaTrust>,
    /// The certificate transparency logs of which certificates must hold signed certificate
    /// timestamps (SCT); `None` = they need to hold none.
    pub ct_logs: Option<Vec<LogKey>>,
    /// Where signatures are stored, when not next to the image.
    pub repository: Option<Repository>,
    /// What the tags of signatures begin with.
    pub tag_prefix: String,
}

/// A payload with a valid signature.
#[derive(Debug)]
pub struct SignedPayload {
    /// What was signed.
    pub payload: Value,
    /// The certificate that came with it.
    pub certificate: Option<Certificate>,
    /// The annotations of its layer.
    pub annotations: Value,
    /// Whether a log has recorded it.
    pub logged: bool,
}

/// Why there is nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationError {
    /// In Kyverno's words.
    pub text: String,
    /// Whether the network that it needs is missing.
    pub network: bool,
}

impl VerificationError {
    /// A refusal because of what was found.
    pub fn found(why: impl ToString) -> VerificationError {
        VerificationError { text: why.to_string(), network: false }
    }
}

impl From<Failure> for VerificationError {
    fn from(failure: Failure) -> VerificationError {
        VerificationError { network: failure.cause == Cause::Network, text: failure.text }
    }
}

/// An image, by its repository and digest.
pub struct Subject<'a> {
    /// Who answers.
    pub registry: &'a dyn Registry,
    /// Where it is stored.
    pub at: &'a Repository,
    /// Its digest.
    pub digest: &'a str,
}

/// What is attached to an image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attached {
    Signatures,
    Statements,
}

/// The valid signatures of an image.
///
/// # Errors
/// Why there is none.
pub fn signatures(
    subject: &Subject<'_>,
    options: &CheckOptions,
) -> Result<Vec<SignedPayload>, VerificationError> {
    let layers = match layers(subject, options, Attached::Signatures)? {
        Some(layers) if !layers.is_empty() => layers,
        _ => return Err(VerificationError::found("no signatures found")),
    };
    gathered(&layers, "signatures", |layer| {
        let payload =
            subject.registry.blob(&place(subject, options), layer.text_at(&["digest"]), MAX_PAYLOAD)?;
        let mark = layer.text_at(&["annotations", SIGNATURE]);
        let read = |signer: &PublicKey| {
            signer.verify_hash(options.hash, &payload, &content::base64(mark)?)?;
            let claim = content::json(&payload)?;
            let digest = claim.text_at(&["critical", "image", "docker-manifest-digest"]);
            if digest != subject.digest {
                return Err(CosignError::Digest(digest.into()));
            }
            Ok(claim)
        };
        one(layer, options, &SignedContent { payload: &payload, signature: mark }, read)
    })
}

/// The statements about an image that have a valid signature.
///
/// # Errors
/// Why there is none.
pub fn statements(
    subject: &Subject<'_>,
    options: &CheckOptions,
) -> Result<Vec<SignedPayload>, VerificationError> {
    let layers = layers(subject, options, Attached::Statements)?.unwrap_or_default();
    gathered(&layers, "attestations", |layer| {
        let envelope =
            subject.registry.blob(&place(subject, options), layer.text_at(&["digest"]), MAX_PAYLOAD)?;
        let read =
            |signer: &PublicKey| statement(&content::json(&envelope)?, signer, Hash::Sha256, subject.digest);
        one(layer, options, &SignedContent { payload: &envelope, signature: "" }, read)
    })
}

fn place(subject: &Subject<'_>, options: &CheckOptions) -> Repository {
    options.repository.clone().unwrap_or_else(|| subject.at.clone())
}

/// The layers under the tag next to an image; `None` when there is no such tag.
fn layers(
    subject: &Subject<'_>,
    options: &CheckOptions,
    what: Attached,
) -> Result<Option<Vec<Value>>, VerificationError> {
    let suffix = if what == Attached::Signatures { "sig" } else { "att" };
    let tag = format!("{}{}.{suffix}", options.tag_prefix, subject.digest.replacen(':', "-", 1));
    let manifest = match subject.registry.manifest(&place(subject, options), &tag) {
        Ok(manifest) => manifest.read()?,
        Err(Failure { cause: Cause::Missing, .. }) => return Ok(None),
        Err(failure) => return Err(failure.into()),
    };
    let layers = manifest.get("layers").and_then(Value::as_list).unwrap_or_default();
    if layers.len() > MAX_SIGNATURES {
        return Err(VerificationError::found(format!(
            "too many {suffix} layers: {}, at most {MAX_SIGNATURES} are read",
            layers.len()
        )));
    }
    Ok(Some(layers.to_vec()))
}

/// All that are good, or what is wrong with each.
fn gathered(
    layers: &[Value],
    what: &str,
    check: impl Fn(&Value) -> Result<SignedPayload, VerificationError>,
) -> Result<Vec<SignedPayload>, VerificationError> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for layer in layers {
        match check(layer) {
            Ok(signed) => good.push(signed),
            Err(refused) => wrong.push(refused),
        }
    }
    if !good.is_empty() {
        return Ok(good);
    }
    let network = wrong.iter().any(|r| r.network);
    let all: Vec<String> = wrong.into_iter().map(|r| r.text).collect();
    Err(VerificationError { text: format!("no matching {what}: {}", all.join("\n ")), network })
}

/// Checks one layer: the log, who signed, what was signed, and when.
fn one(
    layer: &Value,
    options: &CheckOptions,
    about: &SignedContent<'_>,
    read: impl Fn(&PublicKey) -> Result<Value, CosignError>,
) -> Result<SignedPayload, VerificationError> {
    let annotations = layer.get("annotations").cloned().unwrap_or_default();
    let found = VerificationError::found;
    let timestamp = timestamp(&annotations, options, about).map_err(VerificationError::found)?;
    let bundle = match annotations.text_at(&[BUNDLE]) {
        "" => None,
        text => Some(content::text(text).map_err(|e| found(format!("unmarshaling bundle: {e}")))?),
    };
    let logged = match (&options.logs, &bundle) {
        (None, _) => None,
        (Some(keys), Some(bundle)) => {
            let moment = log::moment(bundle, about, keys);
            Some(moment.map_err(|e| found(format!("error verifying bundle: {e}")))?)
        }
        (Some(_), None)
            if matches!(options.by, RequiredSigner::Roots(_))
                && annotations.text_at(&[CERTIFICATE]).is_empty() =>
        {
            return Err(found("empty key".into()));
        }
        (Some(_), None) => {
            return Err(VerificationError { text: format!("searching log query: {NO_LOGS}"), network: true });
        }
    };
    let given = |key: &str| Certificate::all(annotations.text_at(&[key])).map_err(VerificationError::found);
    let certificate = given(CERTIFICATE)?.into_iter().next();
    let signer = match (&options.by, &certificate) {
        (RequiredSigner::Key(key), _) => key,
        (RequiredSigner::Roots(_), None) => return Err(found("no certificate found on signature".into())),
        (RequiredSigner::Roots(roots), Some(certificate)) => {
            let links = given(CHAIN)?;
            let path = certificate
                .chains_to(roots, &links)
                .map_err(|e| found(format!("cert verification failed: {e}. {NO_ROOT}")))?;
            if let Some(logs) = &options.ct_logs {
                // The issuer is the next of the path; a root that signs issued itself.
                let issuer = path.get(1).or(path.first()).map(|issuer| &*issuer.key_info);
                sct::verify(certificate.der(), issuer.unwrap_or_default(), logs)
                    .map_err(VerificationError::found)?;
            }
            &Box::new(certificate.key.clone())
        }
    };
    let payload = read(signer).map_err(VerificationError::found)?;
    if let Some(certificate) = &certificate {
        in_time(certificate, timestamp, logged).map_err(VerificationError::found)?;
    }
    Ok(SignedPayload { payload, certificate, annotations, logged: logged.is_some() })
}

/// The moment of the timestamp that came with a signature, where a timestamp authority is trusted.
fn timestamp(
    annotations: &Value,
    options: &CheckOptions,
    about: &SignedContent<'_>,
) -> Result<Option<i64>, CosignError> {
    let (Some(tsa), text) = (&options.tsa, annotations.text_at(&[TIMESTAMP])) else { return Ok(None) };
    if text.is_empty() {
        return Ok(None);
    }
    let timestamp = content::text(text).map_err(CosignError::TimestampBundle)?;
    let response = content::base64(timestamp.text_at(&["SignedRFC3161Timestamp"]))?;
    // Envelopes hold their signature; a timestamp is about the whole envelope then.
    let message = match about.signature {
        "" => about.payload.to_vec(),
        signature => content::base64(signature)?,
    };
    Ok(Some(tsa.moment(&response, &message)?))
}

/// Whether a certificate was in its time when it signed: at the moments of a timestamp and of the
/// log's entry, else now.
fn in_time(
    certificate: &Certificate,
    timestamp: Option<i64>,
    logged: Option<i64>,
) -> Result<(), CosignError> {
    let text = |seconds: i64| Time::from_unix(seconds).rfc3339_nano().into();
    for (moment, what) in [(timestamp, "timestamp"), (logged, "bundle")] {
        let Some(moment) = moment else { continue };
        if moment < certificate.from {
            return Err(CosignError::IssuedLater { what, from: text(certificate.from), at: text(moment) });
        }
        if moment > certificate.until {
            return Err(CosignError::ExpiredBefore {
                what,
                until: text(certificate.until),
                at: text(moment),
            });
        }
    }
    match timestamp.or(logged) {
        Some(_) => Ok(()),
        None => {
            let now = i64::try_from(clock::since_epoch().as_secs()).unwrap_or(i64::MAX);
            if (certificate.from..=certificate.until).contains(&now) {
                return Ok(());
            }
            Err(CosignError::NoMoment)
        }
    }
}

/// The statement in a DSSE envelope, when the signer signed it and it is about the digest.
///
/// # Errors
/// It holds none, or the signer did not sign it, or it is about something else.
pub fn statement(
    envelope: &Value,
    signer: &PublicKey,
    hash: Hash,
    digest: &str,
) -> Result<Value, CosignError> {
    const IN_TOTO: &str = "application/vnd.in-toto+json";
    let kind = envelope.text_at(&["payloadType"]);
    if kind != IN_TOTO {
        return Err(CosignError::PayloadType(kind.into()));
    }
    let payload =
        decode_base64(envelope.text_at(&["payload"]).as_bytes()).map_err(|_| CosignError::Payload)?;
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).into_bytes();
    message.extend(&payload);
    let signatures = envelope.get("signatures").and_then(Value::as_list).unwrap_or_default();
    if signatures.is_empty() {
        return Err(CosignError::NoSignatures);
    }
    let is_good = |s: &Value| {
        let bytes = decode_base64(s.text_at(&["sig"]).as_bytes());
        bytes.is_ok_and(|bytes| signer.verify_hash(hash, &message, &bytes).is_ok())
    };
    if !signatures.iter().take(MAX_SIGNATURES).any(is_good) {
        return Err(CosignError::Threshold);
    }
    let statement = content::json(&payload)?;
    let subjects = statement.get("subject").and_then(Value::as_list).unwrap_or_default();
    let hex = digest.strip_prefix("sha256:").unwrap_or(digest);
    if !subjects.iter().any(|s| s.text_at(&["digest", "sha256"]) == hex) {
        return Err(CosignError::Subject);
    }
    Ok(statement)
}

/// Whom the signer's certificate must name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The identity provider, with wildcards.
    pub issuer: String,
    /// The same as a regular expression.
    pub issuer_pattern: String,
    /// The identity, with wildcards.
    pub subject: String,
    /// The same as a regular expression.
    pub subject_pattern: String,
}

impl Identity {
    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        *self == Identity::default()
    }

    /// Whether a certificate names the identity.
    ///
    /// # Errors
    /// It names another, or a pattern is none.
    pub fn fits(&self, certificate: &Certificate) -> Result<(), Mismatch> {
        let wild = |pattern: &str, text: &str| ephor_value::wildcard::Wildcard::new(pattern).matches(text);
        let regex = |pattern: &str, what: &'static str| {
            ephor_functions::go_regex(pattern).map_err(|cause| Mismatch::Pattern {
                what,
                pattern: pattern.into(),
                cause,
            })
        };
        if !self.subject.is_empty() || !self.subject_pattern.is_empty() {
            let pattern = match &*self.subject_pattern {
                "" => None,
                pattern => Some(regex(pattern, "subject")?),
            };
            let names = &certificate.names;
            let fits = |name: &String| {
                (!self.subject.is_empty() && wild(&self.subject, name))
                    || pattern.as_ref().is_some_and(|p| p.is_match(name))
            };
            // A certificate without names has the empty name; in Kyverno it fits whatever is
            // wanted.
            let is_one = if names.is_empty() { fits(&String::new()) } else { names.iter().any(fits) };
            if !is_one {
                let expected = if self.subject.is_empty() { &self.subject_pattern } else { &self.subject };
                let (expected, found) = (expected.as_str().into(), names.join(", ").into());
                return Err(Mismatch::Subject { expected, found });
            }
        }
        let issuer = certificate.fact(OIDC_ISSUER);
        let mismatch =
            |expected: &str| Err(Mismatch::Issuer { expected: expected.into(), found: issuer.into() });
        if !self.issuer.is_empty() && !wild(&self.issuer, issuer) {
            return mismatch(&self.issuer);
        }
        if !self.issuer_pattern.is_empty() && !regex(&self.issuer_pattern, "issuer")?.is_match(issuer) {
            return mismatch(&self.issuer_pattern);
        }
        Ok(())
    }
}

const OIDC_ISSUER: &str = "1.3.6.1.4.1.57264.1.1";

/// Facts of certificates by name.
const FACTS: [(&str, &str); 6] = [
    ("oidcIssuer", OIDC_ISSUER),
    ("githubWorkflowTrigger", "1.3.6.1.4.1.57264.1.2"),
    ("githubWorkflowSha", "1.3.6.1.4.1.57264.1.3"),
    ("githubWorkflowName", "1.3.6.1.4.1.57264.1.4"),
    ("githubWorkflowRepository", "1.3.6.1.4.1.57264.1.5"),
    ("githubWorkflowRef", "1.3.6.1.4.1.57264.1.6"),
];

/// Whether a certificate has the required facts, by name or object identifier.
///
/// # Errors
/// The first that differs.
pub fn facts_fit(required: &Value, certificate: &Certificate) -> Result<(), Mismatch> {
    for (key, wanted) in required.as_map().into_iter().flat_map(ephor_value::Map::iter) {
        let known = FACTS.iter().find(|(name, oid)| *name == &**key || *oid == &**key);
        let Some((_, oid)) = known else { return Err(Mismatch::UnknownFact(key.to_string().into())) };
        let (wanted, found) = (wanted.as_str().unwrap_or_default(), certificate.fact(oid));
        if !ephor_value::wildcard::Wildcard::new(wanted).matches(found) {
            let key = key.to_string().into();
            return Err(Mismatch::Fact { key, expected: wanted.into(), found: found.into() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
