//! Signed tokens (RFC 7519).
//!
//! In: a token and who may have signed it. Out: its claims, and whether it is in force now; or the reference's text where
//! the signature is not right.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::key_set::{KEY_SET, Key};
use super::proxy::message_of;
use super::{Call, CallResult, fault, success};
use crate::document::decode_json;
use crate::value::quote::quote;
use crate::value::{Map, Value};

const NO_TOKEN: &str = "unknown payload type (payload is not JWT?)";

/// `jwt.Decode`
pub(crate) fn decode_token(call: &Call<'_>) -> CallResult {
    let keys = match super::outside::fields(call.arg(1), KEY_SET) {
        Some(set) => Keys::Set(Key::all_of(set)),
        None => Keys::Secret(call.text(1)?),
    };
    match decode(call.text(0)?, keys, super::data::clock(call)) {
        Ok((valid, claims)) => {
            success(message_of("jwt.Token", [("Valid", Value::Bool(valid)), ("Claims", Value::Map(claims))]))
        }
        Err(text) => fault(text),
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
pub fn decode(token: &str, keys: Keys<'_>, now: i128) -> Result<(bool, Map), String> {
    let is_set = matches!(keys, Keys::Set(_));
    let (valid, claims) =
        parsed(token, keys, now).map_err(|e| format!("jwt.Parse: failed to parse token: {e}"))?;
    if claims.values().any(|v| matches!(v, Value::Null)) {
        return Err(
            "failed to assign value to dst: source value is invalid (<nil>): invalid value (probably an untyped nil)"
                .into(),
        );
    }
    if claims.contains_key("aud") && !is_set {
        // The reference cannot hand a list of texts to an expression.
        return Err("proto: invalid type: []string".into());
    }
    Ok((valid, claims))
}

fn parsed(token: &str, keys: Keys<'_>, now: i128) -> Result<(bool, Map), String> {
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, signature] = parts[..] else { return Err(NO_TOKEN.into()) };
    let parse = "jws.Verify: failed to parse jws: jws.Parse: failed to parse compact format";
    let head = decoded(head, &format!("{parse}: failed to decode protected headers"))?;
    let signature_bytes = decoded(signature, &format!("{parse}: failed to decode signature"))?;
    let head = json(&head).ok_or_else(|| format!("{parse}: failed to decode protected headers"))?;
    if head.get("kid").is_some_and(|name| name.as_str().is_none()) {
        return Err(format!(
            "{parse}: failed to parse JOSE headers: failed to decode value for key kid: error reading next value: json: cannot unmarshal number into Go value of type string"
        ));
    }
    let signed = token.get(..token.len() - signature.len() - 1).unwrap_or_default();
    verified(&head, keys, signed.as_bytes(), &signature_bytes).map_err(|e| {
        format!("jws.Verify: could not verify message using any of the signatures or keys: jws.Verify: {e}")
    })?;
    let body = decoded(body, "failed to parse token")?;
    let Some(Value::Map(claims)) = json(&body) else {
        return Err("failed to parse token: the claims are no object".into());
    };
    let seconds = |key: &str| match claims.get(key) {
        None => Ok(None),
        Some(Value::Int(n)) => Ok(Some(i128::from(*n) * 1_000_000_000)),
        Some(Value::Float(f)) => Ok(Some((f * 1e9) as i128)),
        Some(other) => Err(format!(
            "failed to parse token: failed to decode value for key {key}: invalid value for NumericDate: failed to accept {} {}",
            if other.as_str().is_some() { "string" } else { "value" },
            other.as_str().map(quote).unwrap_or_default(),
        )),
    };
    let (ends, begins, made) = (seconds("exp")?, seconds("nbf")?, seconds("iat")?);
    let valid =
        ends.is_none_or(|t| now < t) && begins.is_none_or(|t| now >= t) && made.is_none_or(|t| now >= t);
    let claims = claims.iter().map(|(k, v)| Ok((k.clone(), claim(k, v)?)));
    Ok((valid, claims.collect::<Result<Map, String>>()?))
}

/// A claim as expressions see it.
fn claim(name: &str, v: &Value) -> Result<Value, String> {
    let broken = |e: &str| format!("failed to parse token: failed to decode value for key {name}: {e}");
    Ok(match (name, v) {
        ("exp" | "nbf" | "iat", Value::Float(f)) => Value::Float(f.trunc()),
        ("aud", Value::Str(_)) => Value::list(vec![v.clone()]),
        ("aud", Value::Int(_) | Value::Float(_)) => return Err(broken("invalid type: float64")),
        ("iss" | "sub" | "jti", Value::Int(_) | Value::Float(_)) => {
            return Err(broken(
                "error reading next value: json: cannot unmarshal number into Go value of type string",
            ));
        }
        _ => v.with_float_numbers(),
    })
}

/// Whether one of the keys signed a text, as the token's head says.
fn verified(head: &Value, keys: Keys<'_>, signed: &[u8], signature: &[u8]) -> Result<(), String> {
    let unprovided = |e: &str| {
        format!(
            "signature #1: key provider 0 failed: {e}\njws.Verify: signature #1: no matching keys were provided by any key provider"
        )
    };
    let keys = match keys {
        // A set of one key without a name.
        Keys::Secret(secret) => vec![Key::secret(secret.as_bytes())],
        Keys::Set(keys) => keys,
    };
    let key = Key::chosen(keys, head.text_at(&["kid"])).map_err(|e| unprovided(&e))?;
    let algorithm = key.algorithm(head.text_at(&["alg"])).map_err(|e| unprovided(&e))?;
    key.verify(&algorithm, signed, signature).map_err(|e| {
        let key = key.type_name();
        format!(
            "failed to verify signature #1 with key {key}: {e}\njws.Verify: signature #1: tried 1 key(s) but none verified successfully"
        )
    })
}

fn decoded(part: &str, what: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD
        .decode(part.trim_end_matches('='))
        .map_err(|_| format!("{what}: failed to decode source: illegal base64 data at input byte 0"))
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
        let valid = |now: i128| decode(ADMIN, Keys::Secret("secret"), now * SECOND).map(|(valid, _)| valid);
        assert_eq!(valid(1_514_851_138), Ok(false));
        assert_eq!(valid(1_514_851_139), Ok(true));
        assert_eq!(valid(2_241_081_539), Ok(false));
        let (_, claims) = decode(ADMIN, Keys::Secret("secret"), 0).unwrap_or_default();
        assert_eq!(claims.get("role").and_then(Value::as_str), Some("admin"));
    }

    #[test]
    fn tokens_with_other_signatures_are_refused() {
        let error = |token: &str, key: &str| decode(token, Keys::Secret(key), 0).unwrap_err();
        assert!(error(ADMIN, "other").contains("invalid HMAC signature"));
        assert!(error(&ADMIN.replace("eyJleHA", "eyJleHB"), "secret").contains("invalid HMAC signature"));
        assert!(error("a", "b").ends_with(NO_TOKEN));
        let unsigned = "eyJhbGciOiAibm9uZSJ9.e30.";
        assert!(error(unsigned, "secret").contains("does not match any of the inferred algorithms"));
    }
}
