//! Signature envelopes of the Notary Project in CBOR (COSE).
//!
//! In: an envelope. Out: what it holds, once its own signature is right, or what is wrong with it,
//! in the words and the order of Kyverno. Whether the signer is trusted is not decided here.
//!
//! - `headers`: headers of COSE: maps whose labels occur once and whose known parameters have the
//!   type that they must have

mod headers;

use ciborium::Value as Cbor;

use ephor_value::quote::quote;
use ephor_value::time::Time;

use self::headers::{ALGORITHM, CONTENT_TYPE, CRITICAL, Fields, labelled, named};
use crate::chain::{self, Link};
use crate::envelope::{Claims, Envelope, algorithm_named};
use crate::jws::{EXPIRY, PLUGIN, SCHEME, SIGNING_AUTHORITY, TIME, TIMESTAMP, TRUE_TIME, UNDERSTOOD};

const TAG: u64 = 18;
const CHAIN: i64 = 33;
/// Algorithms by number, in the order of [`Link::algorithm`].
const KNOWN: [(i64, &str); 10] = [
    (-37, "PS256"),
    (-38, "PS384"),
    (-39, "PS512"),
    (-7, "ES256"),
    (-35, "ES384"),
    (-36, "ES512"),
    (-257, "RS256"),
    (-258, "RS384"),
    (-259, "RS512"),
    (-8, "EdDSA"),
];

/// The parts of an envelope.
struct Parts {
    /// The headers that are signed, in bytes.
    protected: Cbor,
    /// These headers.
    fields: Fields,
    /// Other headers.
    other: Fields,
    /// Empty = it is not there.
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// Why an envelope does not count.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CoseError {
    /// It is none.
    #[error("unable to parse the digital signature, error : {0}")]
    Unreadable(#[from] CoseSyntaxError),
    /// Its chain holds something else than bytes.
    #[error("certificate chain has a member that is no certificate")]
    ChainMember,
    /// It holds no certificate.
    #[error("certificate chain is not present")]
    NoChain,
    /// The certificate of its signer cannot be read.
    #[error("malformed leaf certificate")]
    Leaf,
    /// The key of its signer is too short.
    #[error("certificate-chain is invalid, {0}")]
    Chain(#[from] chain::CertificateChainError),
    /// Its signature is not right.
    #[error("signature is invalid. Error: {0}")]
    Signature(#[from] CoseSignatureError),
    /// Nothing was signed.
    #[error("content not present")]
    NoPayload,
    /// The type of what was signed is not stated.
    #[error("missing content type")]
    NoContentType,
    /// The type of what was signed is no text.
    #[error("content type should be of 'tstr' type")]
    ContentType,
    /// The scheme is not stated, or no text.
    #[error("invalid signingScheme")]
    NoScheme,
    /// A scheme that is not known.
    #[error("unsupported signingScheme: {0}")]
    Scheme(Box<str>),
    /// Headers that must be critical and are not.
    #[error("these required headers are not marked as critical: [{}]", .0.join(" "))]
    NotCritical(Vec<&'static str>),
    /// A critical header that is not understood here.
    #[error("{} header is marked critical but not understood", quote(.0))]
    NotUnderstood(Box<str>),
    /// A header that is no moment.
    #[error("invalid {name}: {cause}")]
    Moment {
        /// The last part of its name.
        name: &'static str,
        /// What it is instead.
        #[source]
        cause: MomentError,
    },
}

/// Why bytes are no envelope, in the words of `go-cose`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CoseSyntaxError {
    /// They are something else.
    #[error("cbor: invalid COSE_Sign1_Tagged object")]
    Other,
    /// The payload or the signature is no bytes.
    #[error("cbor: require bstr type")]
    NotBytes,
    /// The signature has no bytes.
    #[error("empty signature")]
    EmptySignature,
    /// They are no CBOR.
    #[error(transparent)]
    Cbor(#[from] headers::Malformed),
    /// A header is not as it must be.
    #[error(transparent)]
    Headers(#[from] headers::HeadersError),
}

/// Why a signature is not the one of the envelope's signer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CoseSignatureError {
    /// No algorithm is named.
    #[error("algorithm not found")]
    NoAlgorithm,
    /// The key of the signer has no algorithm.
    #[error("algorithm not supported")]
    Unsupported,
    /// The algorithm is another one than the key's.
    #[error("algorithm mismatch: verifier {own}: header {named}")]
    Algorithm {
        /// The key's.
        own: &'static str,
        /// The one that is named.
        named: Box<str>,
    },
    /// The key has not computed it.
    #[error("verification error")]
    Verification,
}

/// Why a header is no moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MomentError {
    /// It is not there.
    #[error("protected header {} is missing", quote(.0))]
    Missing(&'static str),
    /// It has another tag.
    #[error("only Tag `1` Datetime CBOR object is supported")]
    Tag,
    /// It has another type.
    #[error("invalid timeValue type")]
    Type,
}

fn parts(bytes: &[u8]) -> Result<Parts, CoseSyntaxError> {
    const INVALID: CoseSyntaxError = CoseSyntaxError::Other;
    // The tag 18 and an array of four.
    if !bytes.starts_with(&[0xd2, 0x84]) {
        return Err(INVALID);
    }
    let Cbor::Tag(TAG, inside) = headers::whole(bytes)? else { return Err(INVALID) };
    let Cbor::Array(parts) = *inside else { return Err(INVALID) };
    let Ok([protected, other, payload, signature]) = <[Cbor; 4]>::try_from(parts) else {
        return Err(INVALID);
    };
    let content = |part| match part {
        Cbor::Bytes(bytes) => Ok(bytes),
        Cbor::Null => Ok(Vec::new()),
        _ => Err(CoseSyntaxError::NotBytes),
    };
    let (payload, signature) = (content(payload)?, content(signature)?);
    if signature.is_empty() {
        return Err(CoseSyntaxError::EmptySignature);
    }
    let (fields, other) = (headers::protected(&protected)?, headers::unprotected(other)?);
    Ok(Parts { protected, fields, other, payload, signature })
}

/// Reads an envelope and checks its signature.
///
/// # Errors
/// It is none, or its signature or a header of it is not right.
pub fn read(bytes: &[u8]) -> Result<Envelope, CoseError> {
    let Parts { protected, fields, other, payload, signature } = parts(bytes)?;
    let ders: Option<Vec<Vec<u8>>> = match labelled(&other, CHAIN) {
        Some(Cbor::Array(all)) => all.iter().map(|c| c.as_bytes().cloned()).collect(),
        _ => Some(Vec::new()),
    };
    let ders = ders.ok_or(CoseError::ChainMember)?;
    let Some(leaf) = ders.first() else { return Err(CoseError::NoChain) };
    let leaf = Link::of_der(leaf).map_err(|_| CoseError::Leaf)?;
    leaf.long_enough()?;
    let number = labelled(&fields, ALGORITHM).and_then(Cbor::as_integer).map(i128::from);
    let Some(number) = number else { return Err(CoseSignatureError::NoAlgorithm.into()) };
    let own = usize::from(leaf.algorithm()).checked_sub(1).and_then(|at| KNOWN.get(at));
    let Some((own, name)) = own else { return Err(CoseSignatureError::Unsupported.into()) };
    if i128::from(*own) != number {
        let named = KNOWN.iter().find(|(known, _)| i128::from(*known) == number);
        let named = named.map_or_else(|| format!("Algorithm({number})"), |(_, name)| (*name).to_owned());
        return Err(CoseSignatureError::Algorithm { own: name, named: named.into() }.into());
    }
    let (Some((algorithm, hash)), Ok(key)) = (algorithm_named(name), &leaf.key) else {
        return Err(CoseSignatureError::Unsupported.into());
    };
    let message = Cbor::Array(vec![
        Cbor::Text("Signature1".into()),
        protected,
        Cbor::Bytes(Vec::new()),
        Cbor::Bytes(payload.clone()),
    ]);
    let mut signed = Vec::new();
    ciborium::into_writer(&message, &mut signed).map_err(|_| CoseSignatureError::Verification)?;
    key.verify_jose(hash, &signed, &signature).map_err(|_| CoseSignatureError::Verification)?;
    if payload.is_empty() {
        return Err(CoseError::NoPayload);
    }
    let claims = claims(&fields)?;
    let timestamp = named(&other, TIMESTAMP).and_then(Cbor::as_bytes).cloned();
    Ok(Envelope { ders, claims, algorithm, payload, signature, timestamp })
}

/// A moment: seconds under the tag of times.
fn moment(fields: &Fields, key: &'static str) -> Result<Time, CoseError> {
    let name = key.rsplit('.').next().unwrap_or_default();
    let wrong = |cause: MomentError| CoseError::Moment { name, cause };
    let value = match named(fields, key) {
        None => return Err(wrong(MomentError::Missing(key))),
        Some(Cbor::Tag(1, value)) => value,
        Some(Cbor::Tag(..)) => {
            return Err(wrong(MomentError::Tag));
        }
        Some(_) => return Err(wrong(MomentError::Type)),
    };
    match &**value {
        Cbor::Integer(seconds) => {
            i64::try_from(i128::from(*seconds)).map(Time::from_unix).map_err(|_| wrong(MomentError::Type))
        }
        Cbor::Float(seconds) if seconds.abs() < 9e15 => Ok(Time::from_unix_nanos((*seconds * 1e9) as i128)),
        _ => Err(wrong(MomentError::Type)),
    }
}

/// What the signer has signed in addition to the payload.
fn claims(fields: &Fields) -> Result<Claims, CoseError> {
    let critical = labelled(fields, CRITICAL).and_then(Cbor::as_array).map_or(&[][..], Vec::as_slice);
    let content_type = match labelled(fields, CONTENT_TYPE) {
        None => return Err(CoseError::NoContentType),
        Some(Cbor::Text(text)) => text.clone(),
        Some(_) => return Err(CoseError::ContentType),
    };
    let scheme = match named(fields, SCHEME) {
        Some(Cbor::Text(text)) => &**text,
        _ => return Err(CoseError::NoScheme),
    };
    let authority = scheme == SIGNING_AUTHORITY;
    if !authority && scheme != "notary.x509" {
        return Err(CoseError::Scheme(scheme.into()));
    }
    let is_critical = |key: &str| critical.iter().any(|c| c.as_text() == Some(key));
    let mut must = vec![SCHEME];
    must.extend(named(fields, EXPIRY).map(|_| EXPIRY));
    must.extend(authority.then_some(TRUE_TIME));
    must.retain(|key| !is_critical(key));
    if !must.is_empty() {
        return Err(CoseError::NotCritical(must));
    }
    let is_known = |c: &Cbor| match c {
        Cbor::Text(name) => UNDERSTOOD.contains(&&**name),
        Cbor::Integer(label) => {
            [ALGORITHM, CRITICAL, CONTENT_TYPE].contains(&i64::try_from(*label).unwrap_or_default())
        }
        _ => false,
    };
    if let Some(other) = critical.iter().find(|c| !is_known(c)) {
        let name = other.as_text().map_or_else(|| format!("{other:?}"), str::to_owned);
        return Err(CoseError::NotUnderstood(name.into()));
    }
    let signed = moment(fields, if authority { TRUE_TIME } else { TIME })?;
    let expiry = match named(fields, EXPIRY) {
        None => None,
        Some(_) => Some(moment(fields, EXPIRY)?),
    };
    Ok(Claims { content_type, authority, signed: Some(signed), expiry, plugin: is_critical(PLUGIN) })
}
