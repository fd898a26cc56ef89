//! Signature envelopes of the Notary Project in JSON (JWS).
//!
//! In: an envelope. Out: what it holds, once its own signature is right, or what is wrong with it, in the words and the
//! order of Kyverno. Whether the signer is trusted is not decided here.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::document::decode_json;
use crate::value::bytes::decode_base64;
use crate::value::quote::quote;
use crate::value::time::Time;
use crate::value::{Map, Value};

use crate::chain::Link;
use crate::notary::{Claims, Envelope, algorithm_named};

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

/// Reads an envelope and checks its signature.
///
/// # Errors
/// Kyverno's text.
pub fn read(bytes: &[u8]) -> Result<Envelope, String> {
    let cannot = |e: String| format!("unable to parse the digital signature, error : {e}");
    let envelope = decode_json(&String::from_utf8_lossy(bytes)).map_err(cannot)?;
    if envelope.as_map().is_none() && !envelope.is_null() {
        let found = envelope.json_type();
        return Err(cannot(format!("json: cannot unmarshal {found} into Go value of type jws.jwsEnvelope")));
    }
    let mut ders = Vec::new();
    for one in envelope.at(&["header", "x5c"]).and_then(Value::as_list).unwrap_or_default() {
        let text = one.as_str().unwrap_or_default();
        let der = decode_base64(text.as_bytes());
        ders.push(der.map_err(|at| cannot(format!("illegal base64 data at input byte {at}")))?);
    }
    let timestamp = match envelope.text_at(&["header", TIMESTAMP]) {
        "" => None,
        text => Some(
            decode_base64(text.as_bytes())
                .map_err(|at| cannot(format!("illegal base64 data at input byte {at}")))?,
        ),
    };
    let Some(leaf) = ders.first() else { return Err("certificate chain is not present".into()) };
    let leaf = Link::of_der(leaf).map_err(|_| "malformed leaf certificate")?;
    let text = |key: &str| envelope.text_at(&[key]);
    let invalid = |e: String| format!("signature is invalid. Error: {e}");
    let header = decoded(text("protected")).and_then(|b| decode_json(&String::from_utf8_lossy(&b)));
    let header = header.map_err(invalid)?;
    if header.as_map().is_none() {
        let found = header.json_type();
        let go = "map[string]interface {}";
        return Err(invalid(format!("json: cannot unmarshal {found} into Go value of type {go}")));
    }
    let payload = decoded(text("payload")).map_err(invalid)?;
    object(&payload).map_err(invalid)?;
    let algorithm = algorithm(&header, &leaf).map_err(invalid)?;
    let signature = decoded(text("signature")).map_err(invalid)?;
    let signed = format!("{}.{}", text("protected"), text("payload"));
    let fits = match (&leaf.key, algorithm) {
        (Ok(key), (_, hash)) => key.verify_jose(hash, signed.as_bytes(), &signature),
        (Err(_), _) => Err("crypto/ecdsa: verification error"),
    };
    // Keys that are too short are reported as such: signatures with them are not verified.
    leaf.long_enough().map_err(|e| format!("certificate-chain is invalid, {e}"))?;
    fits.map_err(|e| invalid(e.into()))?;
    let claims = claims(&header)?;
    Ok(Envelope { ders, claims, algorithm: algorithm.0, payload, signature, timestamp })
}

/// The bytes of a text in the URL alphabet.
fn decoded(text: &str) -> Result<Vec<u8>, String> {
    BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|e| {
        let at = match e {
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol { offset: at, .. } => at,
            _ => text.len(),
        };
        format!("illegal base64 data at input byte {at}")
    })
}

/// Whether a payload is an object, as those of tokens are.
fn object(payload: &[u8]) -> Result<(), String> {
    if payload.iter().all(u8::is_ascii_whitespace) {
        return Err("EOF".into());
    }
    let value = decode_json(&String::from_utf8_lossy(payload))?;
    match value {
        Value::Map(_) | Value::Null => Ok(()),
        other => {
            let found = other.json_type();
            Err(format!("json: cannot unmarshal {found} into Go value of type jwt.MapClaims"))
        }
    }
}

/// The algorithm of a signature, which must fit the key.
fn algorithm(header: &Value, leaf: &Link) -> Result<(u8, crate::public_key::Hash), String> {
    let Some(name) = header.get("alg").and_then(Value::as_str) else {
        return Err("signing method (alg) is unspecified.".into());
    };
    const OTHERS: [&str; 8] = ["none", "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "EdDSA"];
    let Some(found) = algorithm_named(name) else {
        return Err(match OTHERS.contains(&name) {
            true => format!("signing method {name} is invalid"),
            false => "signing method (alg) is unavailable.".into(),
        });
    };
    let rsa = matches!(leaf.key, Ok(crate::public_key::PublicKey::Rsa(_)));
    let edwards = matches!(leaf.key, Ok(crate::public_key::PublicKey::Ed25519(_)));
    match edwards || rsa != name.starts_with('P') {
        true => Err("key is of invalid type".into()),
        false => Ok(found),
    }
}

/// What the signer has signed in addition to the payload.
fn claims(header: &Value) -> Result<Claims, String> {
    let cannot = |e: String| format!("jws envelope protected header can't be decoded: {e}");
    let time = |key: &str| -> Result<Option<Time>, String> {
        match header.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Str(text)) => Time::parse_rfc3339(text).map(Some).map_err(cannot),
            Some(_) => Err(cannot("Time.UnmarshalJSON: input is not a JSON string".into())),
        }
    };
    let (expiry, signed, truly_signed) = (time(EXPIRY)?, time(TIME)?, time(TRUE_TIME)?);
    let critical = header.get("crit").and_then(Value::as_list).unwrap_or_default();
    let critical: Option<Vec<&str>> = critical.iter().map(Value::as_str).collect();
    let critical =
        critical.ok_or_else(|| cannot("\"crit\" header holds something else than texts".into()))?;
    let scheme = header.text_at(&[SCHEME]);
    if critical.is_empty() {
        return Err("missing \"crit\" header".into());
    }
    let mut must = vec![SCHEME];
    must.extend(expiry.as_ref().map(|_| EXPIRY));
    must.extend((scheme == SIGNING_AUTHORITY).then_some(TRUE_TIME));
    must.retain(|key| !critical.contains(key));
    let present = |key: &str| header.as_map().is_some_and(|m: &Map| m.get(key).is_some());
    let authority = scheme == SIGNING_AUTHORITY;
    if !authority && scheme != "notary.x509" {
        return Err(format!("unsupported SigningScheme: `{scheme}`"));
    }
    let other = if authority { TIME } else { TRUE_TIME };
    if present(other) {
        return Err(format!("{} header must not be present for {scheme} signing scheme", quote(other)));
    }
    // Only what may be critical counts as present, and only once.
    let is_twice = |key: &str| critical.iter().filter(|known| **known == key).count() > 1;
    let never = ["alg", "cty", "crit", TIME];
    if let Some(lost) = critical.iter().find(|key| !present(key) || never.contains(key) || is_twice(key)) {
        return Err(format!("{} header is marked critical but not present", quote(lost)));
    }
    if !must.is_empty() {
        return Err(format!("these required headers are not marked as critical: [{}]", must.join(" ")));
    }
    if let Some(other) = critical.iter().find(|key| !UNDERSTOOD.contains(key)) {
        return Err(not_understood(other));
    }
    Ok(Claims {
        content_type: header.text_at(&["cty"]).to_owned(),
        authority,
        signed: if authority { truly_signed } else { signed },
        expiry,
        plugin: critical.contains(&PLUGIN),
    })
}

/// The text for a critical header that is not understood here.
pub fn not_understood(header: &str) -> String {
    format!("{} header is marked critical but not understood", quote(header))
}

/// The scheme in which a trusted authority states the time of signing.
pub const SIGNING_AUTHORITY: &str = "notary.x509.signingAuthority";
