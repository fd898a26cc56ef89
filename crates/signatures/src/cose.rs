//! Signature envelopes of the Notary Project in CBOR (COSE).
//!
//! In: an envelope. Out: what it holds, once its own signature is right, or what is wrong with it, in the words and the
//! order of Kyverno. Whether the signer is trusted is not decided here.

mod headers;

use ciborium::Value as Cbor;

use crate::value::quote::quote;
use crate::value::time::Time;

use self::headers::{ALGORITHM, CONTENT_TYPE, CRITICAL, Fields, labelled, named};
use crate::chain::Link;
use crate::jws::{
    EXPIRY, PLUGIN, SCHEME, SIGNING_AUTHORITY, TIME, TIMESTAMP, TRUE_TIME, UNDERSTOOD, not_understood,
};
use crate::notary::{Claims, Envelope, algorithm_named};

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

fn parts(bytes: &[u8]) -> Result<Parts, String> {
    const INVALID: &str = "cbor: invalid COSE_Sign1_Tagged object";
    // The tag 18 and an array of four.
    if !bytes.starts_with(&[0xd2, 0x84]) {
        return Err(INVALID.into());
    }
    let Cbor::Tag(TAG, inside) = headers::whole(bytes)? else { return Err(INVALID.into()) };
    let Cbor::Array(parts) = *inside else { return Err(INVALID.into()) };
    let Ok([protected, other, payload, signature]) = <[Cbor; 4]>::try_from(parts) else {
        return Err(INVALID.into());
    };
    let content = |part| match part {
        Cbor::Bytes(bytes) => Ok(bytes),
        Cbor::Null => Ok(Vec::new()),
        _ => Err("cbor: require bstr type"),
    };
    let (payload, signature) = (content(payload)?, content(signature)?);
    if signature.is_empty() {
        return Err("empty signature".into());
    }
    let (fields, other) = (headers::protected(&protected)?, headers::unprotected(other)?);
    Ok(Parts { protected, fields, other, payload, signature })
}

/// Reads an envelope and checks its signature.
///
/// # Errors
/// Kyverno's text.
pub fn read(bytes: &[u8]) -> Result<Envelope, String> {
    let cannot = |e: String| format!("unable to parse the digital signature, error : {e}");
    let Parts { protected, fields, other, payload, signature } = parts(bytes).map_err(cannot)?;
    let ders: Option<Vec<Vec<u8>>> = match labelled(&other, CHAIN) {
        Some(Cbor::Array(all)) => all.iter().map(|c| c.as_bytes().cloned()).collect(),
        _ => Some(Vec::new()),
    };
    let ders = ders.ok_or("certificate chain has a member that is no certificate")?;
    let Some(leaf) = ders.first() else { return Err("certificate chain is not present".into()) };
    let leaf = Link::of_der(leaf).map_err(|_| "malformed leaf certificate")?;
    leaf.long_enough().map_err(|e| format!("certificate-chain is invalid, {e}"))?;
    let invalid = |e: &str| format!("signature is invalid. Error: {e}");
    let number = labelled(&fields, ALGORITHM).and_then(Cbor::as_integer).map(i128::from);
    let Some(number) = number else { return Err(invalid("algorithm not found")) };
    let own = usize::from(leaf.algorithm()).checked_sub(1).and_then(|at| KNOWN.get(at));
    let Some((own, name)) = own else { return Err(invalid("algorithm not supported")) };
    if i128::from(*own) != number {
        let named = KNOWN.iter().find(|(known, _)| i128::from(*known) == number);
        let named = named.map_or_else(|| format!("Algorithm({number})"), |(_, name)| (*name).to_owned());
        return Err(invalid(&format!("algorithm mismatch: verifier {name}: header {named}")));
    }
    let (Some((algorithm, hash)), Ok(key)) = (algorithm_named(name), &leaf.key) else {
        return Err(invalid("algorithm not supported"));
    };
    let message = Cbor::Array(vec![
        Cbor::Text("Signature1".into()),
        protected,
        Cbor::Bytes(Vec::new()),
        Cbor::Bytes(payload.clone()),
    ]);
    let mut signed = Vec::new();
    ciborium::into_writer(&message, &mut signed).map_err(|_| invalid("verification error"))?;
    key.verify_jose(hash, &signed, &signature).map_err(|_| invalid("verification error"))?;
    if payload.is_empty() {
        return Err("content not present".into());
    }
    let claims = claims(&fields)?;
    let timestamp = named(&other, TIMESTAMP).and_then(Cbor::as_bytes).cloned();
    Ok(Envelope { ders, claims, algorithm, payload, signature, timestamp })
}

/// A moment: seconds under the tag of times.
fn moment(fields: &Fields, key: &str) -> Result<Time, String> {
    let name = key.rsplit('.').next().unwrap_or_default();
    let wrong = |e: String| format!("invalid {name}: {e}");
    let value = match named(fields, key) {
        None => return Err(wrong(format!("protected header {} is missing", quote(key)))),
        Some(Cbor::Tag(1, value)) => value,
        Some(Cbor::Tag(..)) => {
            return Err(wrong("only Tag `1` Datetime CBOR object is supported".into()));
        }
        Some(_) => return Err(wrong("invalid timeValue type".into())),
    };
    match &**value {
        Cbor::Integer(seconds) => i64::try_from(i128::from(*seconds))
            .map(Time::from_unix)
            .map_err(|_| wrong("invalid timeValue type".into())),
        Cbor::Float(seconds) if seconds.abs() < 9e15 => Ok(Time::from_unix_nanos((*seconds * 1e9) as i128)),
        _ => Err(wrong("invalid timeValue type".into())),
    }
}

/// What the signer has signed in addition to the payload.
fn claims(fields: &Fields) -> Result<Claims, String> {
    let critical = labelled(fields, CRITICAL).and_then(Cbor::as_array).map_or(&[][..], Vec::as_slice);
    let content_type = match labelled(fields, CONTENT_TYPE) {
        None => return Err("missing content type".into()),
        Some(Cbor::Text(text)) => text.clone(),
        Some(_) => return Err("content type should be of 'tstr' type".into()),
    };
    let scheme = match named(fields, SCHEME) {
        Some(Cbor::Text(text)) => &**text,
        _ => return Err("invalid signingScheme".into()),
    };
    let authority = scheme == SIGNING_AUTHORITY;
    if !authority && scheme != "notary.x509" {
        return Err(format!("unsupported signingScheme: {scheme}"));
    }
    let is_critical = |key: &str| critical.iter().any(|c| c.as_text() == Some(key));
    let mut must = vec![SCHEME];
    must.extend(named(fields, EXPIRY).map(|_| EXPIRY));
    must.extend(authority.then_some(TRUE_TIME));
    must.retain(|key| !is_critical(key));
    if !must.is_empty() {
        return Err(format!("these required headers are not marked as critical: [{}]", must.join(" ")));
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
        return Err(not_understood(&name));
    }
    let signed = moment(fields, if authority { TRUE_TIME } else { TIME })?;
    let expiry = match named(fields, EXPIRY) {
        None => None,
        Some(_) => Some(moment(fields, EXPIRY)?),
    };
    Ok(Claims { content_type, authority, signed: Some(signed), expiry, plugin: is_critical(PLUGIN) })
}
