//! Signature envelopes of the Notary Project in JSON (JWS).
//!
//! In: an envelope. Out: what it holds, once its own signature is right, or what is wrong with it,
//! in the words and the order of Kyverno. Whether the signer is trusted is not decided here.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use ephor_value::quote::quote;
use ephor_value::time::Time;
use ephor_value::{Map, Value};

use crate::chain::{self, Link};
use crate::content;
use crate::envelope::{Claims, Envelope, algorithm_named};
use crate::public_key::{self, Hash, PublicKey};

/// The header with the scheme.
pub const SCHEME: &str = "io.cncf.notary.signingScheme";
/// The header with the time of signing.
pub const TIME: &str = "io.cncf.notary.signingTime";
/// The same, from a trusted authority.
pub const TRUE_TIME: &str = "io.cncf.notary.authenticSigningTime";
/// The header with the end of its time.
pub const EXPIRY: &str = "io.cncf.notary.expiry";
/// The header that names a plugin.
pub const PLUGIN: &str = "io.cncf.notary.verificationPlugin";
/// The header with the least version of that plugin.
const PLUGIN_VERSION: &str = "io.cncf.notary.verificationPluginMinVersion";
/// The critical headers that are understood; plugins are refused later.
pub const UNDERSTOOD: [&str; 6] = [SCHEME, TIME, TRUE_TIME, EXPIRY, PLUGIN, PLUGIN_VERSION];
/// Where a signature holds a timestamp of itself.
pub const TIMESTAMP: &str = "io.cncf.notary.timestampSignature";

/// Why an envelope does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwsError {
    /// It is none.
    #[error("unable to parse the digital signature, error : {0}")]
    Unreadable(#[source] content::ContentError),
    /// It holds no certificate.
    #[error("certificate chain is not present")]
    NoChain,
    /// The certificate of its signer cannot be read.
    #[error("malformed leaf certificate")]
    Leaf,
    /// Its signature is not right.
    #[error("signature is invalid. Error: {0}")]
    Signature(#[from] JwsSignatureError),
    /// The key of its signer is too short.
    #[error("certificate-chain is invalid, {0}")]
    Chain(#[from] chain::CertificateChainError),
    /// A header of another type.
    #[error("jws envelope protected header can't be decoded: {0}")]
    Header(#[from] HeaderError),
    /// No header is critical.
    #[error("missing \"crit\" header")]
    NoCritical,
    /// A scheme that is not known.
    #[error("unsupported SigningScheme: `{0}`")]
    Scheme(Box<str>),
    /// A header of another scheme.
    #[error("{} header must not be present for {scheme} signing scheme", quote(.header))]
    OtherScheme {
        /// The header.
        header: &'static str,
        /// The scheme of the envelope.
        scheme: Box<str>,
    },
    /// A critical header that is not there.
    #[error("{} header is marked critical but not present", quote(.0))]
    Absent(Box<str>),
    /// Headers that must be critical and are not.
    #[error("these required headers are not marked as critical: [{}]", .0.join(" "))]
    NotCritical(Vec<&'static str>),
    /// A critical header that is not understood here.
    #[error("{} header is marked critical but not understood", quote(.0))]
    NotUnderstood(Box<str>),
}

/// Why a signature is not the one of the envelope's signer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwsSignatureError {
    /// A part that is no base64 or no JSON.
    #[error(transparent)]
    Content(#[from] content::ContentError),
    /// No algorithm is named.
    #[error("signing method (alg) is unspecified.")]
    NoAlgorithm,
    /// An algorithm that does not sign envelopes.
    #[error("signing method {0} is invalid")]
    OtherAlgorithm(Box<str>),
    /// An algorithm that is not known.
    #[error("signing method (alg) is unavailable.")]
    UnknownAlgorithm,
    /// The key has not computed it.
    #[error(transparent)]
    Key(#[from] public_key::PublicKeyError),
}

/// Why a header is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A text that is no moment, in the words of Go's `time`.
    #[error("{0}")]
    Time(Box<str>),
    /// A moment that is no text.
    #[error("Time.UnmarshalJSON: input is not a JSON string")]
    TimeType,
    /// Critical headers that are not named by texts.
    #[error("\"crit\" header holds something else than texts")]
    Critical,
}

/// Reads an envelope and checks its signature.
///
/// # Errors
/// It is none, or its signature or a header of it is not right.
pub fn read(bytes: &[u8]) -> Result<Envelope, JwsError> {
    let cannot = JwsError::Unreadable;
    let envelope = content::json(bytes).map_err(cannot)?;
    if envelope.as_map().is_none() && !envelope.is_null() {
        let found = envelope.json_type();
        return Err(cannot(content::ContentError::Type { found, wanted: "jws.jwsEnvelope" }));
    }
    let mut ders = Vec::new();
    for one in envelope.at(&["header", "x5c"]).and_then(Value::as_list).unwrap_or_default() {
        ders.push(content::base64(one.as_str().unwrap_or_default()).map_err(cannot)?);
    }
    let timestamp = match envelope.text_at(&["header", TIMESTAMP]) {
        "" => None,
        text => Some(content::base64(text).map_err(cannot)?),
    };
    let Some(leaf) = ders.first() else { return Err(JwsError::NoChain) };
    let leaf = Link::of_der(leaf).map_err(|_| JwsError::Leaf)?;
    let text = |key: &str| envelope.text_at(&[key]);
    let header = decoded(text("protected")).and_then(|bytes| content::json(&bytes));
    let header = header.map_err(JwsSignatureError::from)?;
    if header.as_map().is_none() {
        let found = header.json_type();
        let wrong = content::ContentError::Type { found, wanted: "map[string]interface {}" };
        return Err(JwsSignatureError::Content(wrong).into());
    }
    let payload = decoded(text("payload")).map_err(JwsSignatureError::from)?;
    object(&payload).map_err(JwsSignatureError::from)?;
    let algorithm = algorithm(&header, &leaf)?;
    let signature = decoded(text("signature")).map_err(JwsSignatureError::from)?;
    let signed = format!("{}.{}", text("protected"), text("payload"));
    let fits = match (&leaf.key, algorithm) {
        (Ok(key), (_, hash)) => key.verify_jose(hash, signed.as_bytes(), &signature),
        (Err(_), _) => Err(public_key::PublicKeyError::Jose),
    };
    // Keys that are too short are reported as such: signatures with them are not verified.
    leaf.long_enough()?;
    fits.map_err(JwsSignatureError::from)?;
    let claims = claims(&header)?;
    Ok(Envelope { ders, claims, algorithm: algorithm.0, payload, signature, timestamp })
}

/// The bytes of a text in the URL alphabet.
fn decoded(text: &str) -> Result<Vec<u8>, content::ContentError> {
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|e| {
        let at = match e {
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
            _ => text.len(),
        };
        content::ContentError::Base64(at)
    })
}

/// Whether a payload is an object, as those of tokens are.
fn object(payload: &[u8]) -> Result<(), content::ContentError> {
    if payload.iter().all(u8::is_ascii_whitespace) {
        return Err(content::ContentError::Empty);
    }
    let value = content::json(payload)?;
    match value {
        Value::Map(_) | Value::Null => Ok(()),
        other => Err(content::ContentError::Type { found: other.json_type(), wanted: "jwt.MapClaims" }),
    }
}

/// The algorithm of a signature, which must fit the key.
fn algorithm(header: &Value, leaf: &Link) -> Result<(u8, Hash), JwsSignatureError> {
    let Some(name) = header.get("alg").and_then(Value::as_str) else {
        return Err(JwsSignatureError::NoAlgorithm);
    };
    const OTHERS: [&str; 8] = ["none", "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "EdDSA"];
    let Some(found) = algorithm_named(name) else {
        return Err(match OTHERS.contains(&name) {
            true => JwsSignatureError::OtherAlgorithm(name.into()),
            false => JwsSignatureError::UnknownAlgorithm,
        });
    };
    let rsa = matches!(leaf.key, Ok(PublicKey::Rsa(_)));
    let edwards = matches!(leaf.key, Ok(PublicKey::Ed25519(_)));
    match edwards || rsa != name.starts_with('P') {
        true => Err(public_key::PublicKeyError::KeyType.into()),
        false => Ok(found),
    }
}

/// What the signer has signed in addition to the payload.
fn claims(header: &Value) -> Result<Claims, JwsError> {
    let time = |key: &str| -> Result<Option<Time>, HeaderError> {
        match header.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Str(text)) => Time::parse_rfc3339(text)
                .map(Some)
                .map_err(|error| HeaderError::Time(error.to_string().into())),
            Some(_) => Err(HeaderError::TimeType),
        }
    };
    let (expiry, signed, truly_signed) = (time(EXPIRY)?, time(TIME)?, time(TRUE_TIME)?);
    let critical = header.get("crit").and_then(Value::as_list).unwrap_or_default();
    let critical: Option<Vec<&str>> = critical.iter().map(Value::as_str).collect();
    let critical = critical.ok_or(HeaderError::Critical)?;
    let scheme = header.text_at(&[SCHEME]);
    if critical.is_empty() {
        return Err(JwsError::NoCritical);
    }
    let mut must = vec![SCHEME];
    must.extend(expiry.as_ref().map(|_| EXPIRY));
    must.extend((scheme == SIGNING_AUTHORITY).then_some(TRUE_TIME));
    must.retain(|key| !critical.contains(key));
    let present = |key: &str| header.as_map().is_some_and(|m: &Map| m.get(key).is_some());
    let authority = scheme == SIGNING_AUTHORITY;
    if !authority && scheme != "notary.x509" {
        return Err(JwsError::Scheme(scheme.into()));
    }
    let other = if authority { TIME } else { TRUE_TIME };
    if present(other) {
        return Err(JwsError::OtherScheme { header: other, scheme: scheme.into() });
    }
    // Only what may be critical counts as present, and only once.
    let is_twice = |key: &str| critical.iter().filter(|known| **known == key).count() > 1;
    let never = ["alg", "cty", "crit", TIME];
    if let Some(lost) = critical.iter().find(|key| !present(key) || never.contains(key) || is_twice(key)) {
        return Err(JwsError::Absent((*lost).into()));
    }
    if !must.is_empty() {
        return Err(JwsError::NotCritical(must));
    }
    if let Some(other) = critical.iter().find(|key| !UNDERSTOOD.contains(key)) {
        return Err(JwsError::NotUnderstood((*other).into()));
    }
    Ok(Claims {
        content_type: header.text_at(&["cty"]).to_owned(),
        authority,
        signed: if authority { truly_signed } else { signed },
        expiry,
        plugin: critical.contains(&PLUGIN),
    })
}

/// The scheme in which a trusted authority states the time of signing.
pub const SIGNING_AUTHORITY: &str = "notary.x509.signingAuthority";
