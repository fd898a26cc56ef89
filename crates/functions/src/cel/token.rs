//! Signed tokens (RFC 7519).
//!
//! In: a token and who may have signed it. Out: its claims, and whether it is in force now; or the
//! reference's text where the signature is not right.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::call::{Call, CallResult, fault, fields, success};
use super::key_set::{ChoiceError, KEY_SET, Key, VerifyError};
use super::proxy::message_of;
use ephor_document::decode_json;
use ephor_value::quote::quote;
use ephor_value::{Map, Value};

/// Why a token has no claims, in the words of the library that Kyverno 1.19.1 reads tokens with.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It is none, or its signature is not right.
    #[error("jwt.Parse: failed to parse token: {0}")]
    Parse(#[from] ParseError),
    /// A claim is null.
    #[error(
        "failed to assign value to dst: source value is invalid (<nil>): invalid value (probably an untyped nil)"
    )]
    NullClaim,
    /// Kyverno cannot hand a list of texts to an expression.
    #[error("proto: invalid type: []string")]
    TextList,
}

/// The prefix of what is wrong with the form of a token.
const COMPACT: &str = "jws.Verify: failed to parse jws: jws.Parse: failed to parse compact format";

/// Why a text is no token, or not one of the keys.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It does not have three parts.
    #[error("unknown payload type (payload is not JWT?)")]
    Parts,
    /// Its head is no base64.
    #[error("{compact}: failed to decode protected headers: failed to decode source: illegal base64 data at input byte 0", compact = COMPACT)]
    HeadBase64,
    /// Its head is no JSON.
    #[error("{compact}: failed to decode protected headers", compact = COMPACT)]
    Head,
    /// The name of the key is no text.
    #[error("{compact}: failed to parse JOSE headers: failed to decode value for key kid: error reading next value: json: cannot unmarshal number into Go value of type string", compact = COMPACT)]
    KeyName,
    /// Its signature is no base64.
    #[error("{compact}: failed to decode signature: failed to decode source: illegal base64 data at input byte 0", compact = COMPACT)]
    SignatureBase64,
    /// Its signature is not right.
    #[error("jws.Verify: could not verify message using any of the signatures or keys: jws.Verify: {0}")]
    Signature(#[from] SignatureError),
    /// Its claims are no base64.
    #[error("failed to parse token: failed to decode source: illegal base64 data at input byte 0")]
    ClaimsBase64,
    /// Its claims are no object.
    #[error("failed to parse token: the claims are no object")]
    Claims,
    /// A claim is not what it must be.
    #[error("failed to parse token: failed to decode value for key {name}: {cause}")]
    Claim {
        /// Its name.
        name: Box<str>,
        /// What is wrong with it.
        #[source]
        cause: ClaimError,
    },
}

/// What is wrong with a claim.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It is no moment but this kind of value, with the text of one.
    #[error("invalid value for NumericDate: failed to accept {kind} {text}")]
    Date {
        /// `string` or `value`.
        kind: &'static str,
        /// The text, quoted.
        text: Box<str>,
    },
    /// It is a number where texts must be.
    #[error("invalid type: float64")]
    Number,
    /// It is a number where a text must be.
    #[error("error reading next value: json: cannot unmarshal number into Go value of type string")]
    NoText,
}

/// Why no key signed a token.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// There is no key for it.
    #[error(
        "signature #1: key provider 0 failed: {0}\njws.Verify: signature #1: no matching keys were provided by any key provider"
    )]
    NoKey(#[from] ChoiceError),
    /// The key has not signed it.
    #[error(
        "failed to verify signature #1 with key {key}: {cause}\njws.Verify: signature #1: tried 1 key(s) but none verified successfully"
    )]
    Key {
        /// Go's type of the key.
        key: Box<str>,
        /// Why not.
        #[source]
        cause: VerifyError,
    },
}

/// `jwt.Decode`
pub(crate) fn decode_token(call: &Call<'_>) -> CallResult {
    let keys = match fields(call.arg(1), KEY_SET) {
        Some(set) => Keys::Set(Key::all_of(set)),
        None => Keys::Secret(call.text(1)?),
    };
    match decode(call.text(0)?, keys, super::data::clock(call)) {
        Ok((valid, claims)) => {
            success(message_of("jwt.Token", [("Valid", Value::Bool(valid)), ("Claims", Value::Map(claims))]))
        }
        Err(error) => fault(error.to_string()),
    }
}

/// Who may have signed a token.
pub enum Keys<'a> {
    /// Who knows the secret.
    Secret(&'a str),
    /// The owner of that key of a set which the token names.
    Set(Vec<Key>),
}

/// See the module page; `now` counts nanoseconds since 1970.
///
/// # Errors
/// It is not a token, or no given key verifies its signature.
pub fn decode(token: &str, keys: Keys<'_>, now: i128) -> Result<(bool, Map), TokenError> {
    let is_set = matches!(keys, Keys::Set(_));
    let (valid, claims) = parsed(token, keys, now)?;
    if claims.values().any(|v| matches!(v, Value::Null)) {
        return Err(TokenError::NullClaim);
    }
    if claims.contains_key("aud") && !is_set {
        return Err(TokenError::TextList);
    }
    Ok((valid, claims))
}

fn parsed(token: &str, keys: Keys<'_>, now: i128) -> Result<(bool, Map), ParseError> {
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, signature] = parts[..] else { return Err(ParseError::Parts) };
    let head = decoded(head).ok_or(ParseError::HeadBase64)?;
    let signature_bytes = decoded(signature).ok_or(ParseError::SignatureBase64)?;
    let head = json(&head).ok_or(ParseError::Head)?;
    if head.get("kid").is_some_and(|name| name.as_str().is_none()) {
        return Err(ParseError::KeyName);
    }
    let signed = token.get(..token.len() - signature.len() - 1).unwrap_or_default();
    verified(&head, keys, signed.as_bytes(), &signature_bytes)?;
    let body = decoded(body).ok_or(ParseError::ClaimsBase64)?;
    let Some(Value::Map(claims)) = json(&body) else { return Err(ParseError::Claims) };
    let seconds = |key: &str| match claims.get(key) {
        None => Ok(None),
        Some(Value::Int(n)) => Ok(Some(i128::from(*n) * 1_000_000_000)),
        Some(Value::Float(f)) => Ok(Some((f * 1e9) as i128)),
        Some(other) => {
            let kind = if other.as_str().is_some() { "string" } else { "value" };
            let text = other.as_str().map(quote).unwrap_or_default().into();
            Err(ParseError::Claim { name: key.into(), cause: ClaimError::Date { kind, text } })
        }
    };
    let (ends, begins, made) = (seconds("exp")?, seconds("nbf")?, seconds("iat")?);
    let valid =
        ends.is_none_or(|t| now < t) && begins.is_none_or(|t| now >= t) && made.is_none_or(|t| now >= t);
    let claims = claims.iter().map(|(k, v)| Ok((k.clone(), claim(k, v)?)));
    Ok((valid, claims.collect::<Result<Map, ParseError>>()?))
}

/// A claim as expressions see it.
fn claim(name: &str, v: &Value) -> Result<Value, ParseError> {
    let broken = |cause| ParseError::Claim { name: name.into(), cause };
    Ok(match (name, v) {
        ("exp" | "nbf" | "iat", Value::Float(f)) => Value::Float(f.trunc()),
        ("aud", Value::Str(_)) => Value::list(vec![v.clone()]),
        ("aud", Value::Int(_) | Value::Float(_)) => return Err(broken(ClaimError::Number)),
        ("iss" | "sub" | "jti", Value::Int(_) | Value::Float(_)) => {
            return Err(broken(ClaimError::NoText));
        }
        _ => v.with_float_numbers(),
    })
}

/// Whether one of the keys signed a text, as the token's head says.
fn verified(head: &Value, keys: Keys<'_>, signed: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
    let keys = match keys {
        // A set of one key without a name.
        Keys::Secret(secret) => vec![Key::secret(secret.as_bytes())],
        Keys::Set(keys) => keys,
    };
    let key = Key::chosen(keys, head.text_at(&["kid"]))?;
    let algorithm = key.algorithm(head.text_at(&["alg"]))?;
    key.verify(&algorithm, signed, signature)
        .map_err(|cause| SignatureError::Key { key: key.type_name().into(), cause })
}

fn decoded(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok()
}

fn json(bytes: &[u8]) -> Option<Value> {
    decode_json(std::str::from_utf8(bytes).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADMIN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjIyNDEwODE1MzksIm5iZiI6MTUxNDg1MTEzOSwicm9sZSI6ImFkbWluIiwic3ViIjoiWVd4cFkyVT0ifQ.veMeVDYlulTdieeX-jxFZ_tCmqQ_K8rwx2OktUHv5Z0";
    const SECOND: i128 = 1_000_000_000;

    #[test]
    fn a_token_is_in_force_between_its_ends_only() {
        let valid = |now: i128| {
            decode(ADMIN, Keys::Secret("secret"), now * SECOND)
                .map(|(valid, _)| valid)
                .map_err(|e| e.to_string())
        };
        assert_eq!(valid(1_514_851_138), Ok(false));
        assert_eq!(valid(1_514_851_139), Ok(true));
        assert_eq!(valid(2_241_081_539), Ok(false));
        let (_, claims) = decode(ADMIN, Keys::Secret("secret"), 0).unwrap_or_default();
        assert_eq!(claims.get("role").and_then(Value::as_str), Some("admin"));
    }

    #[test]
    fn tokens_with_other_signatures_are_refused() {
        let error = |token: &str, key: &str| decode(token, Keys::Secret(key), 0).unwrap_err().to_string();
        assert!(error(ADMIN, "other").contains("invalid HMAC signature"));
        assert!(error(&ADMIN.replace("eyJleHA", "eyJleHB"), "secret").contains("invalid HMAC signature"));
        assert!(error("a", "b").ends_with("unknown payload type (payload is not JWT?)"));
        let unsigned = "eyJhbGciOiAibm9uZSJ9.e30.";
        assert!(error(unsigned, "secret").contains("does not match any of the inferred algorithms"));
    }
}
