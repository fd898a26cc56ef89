//! Signed tokens (RFC 7519) with keys that both sides know.
//!
//! In: a token and the key. Out: its claims, and whether it is in force now; or the reference's text where
//! the signature is not right.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Sha256, Sha384, Sha512};

use crate::functions::json::decode_json;
use crate::value::quote::quote;
use crate::value::{Map, Value};

const NO_TOKEN: &str = "unknown payload type (payload is not JWT?)";

/// See the module page; `now` counts nanoseconds since 1970.
///
/// # Errors
/// It is no token, or nobody who has the key signed it.
pub fn decode(token: &str, key: &str, now: i128) -> Result<(bool, Map), String> {
    let (valid, claims) =
        parsed(token, key, now).map_err(|e| format!("jwt.Parse: failed to parse token: {e}"))?;
    if claims.contains_key("aud") {
        // The reference cannot hand a list of texts to an expression.
        return Err("proto: invalid type: []string".into());
    }
    Ok((valid, claims))
}

fn parsed(token: &str, key: &str, now: i128) -> Result<(bool, Map), String> {
    let parts: Vec<&str> = token.split('.').collect();
    let [head, body, signature] = parts[..] else { return Err(NO_TOKEN.into()) };
    let parse = "jws.Verify: failed to parse jws: jws.Parse: failed to parse compact format";
    let head = decoded(head, &format!("{parse}: failed to decode protected headers"))?;
    let signature_bytes = decoded(signature, &format!("{parse}: failed to decode signature"))?;
    let head = json(&head).ok_or_else(|| format!("{parse}: failed to decode protected headers"))?;
    let signed = token.get(..token.len() - signature.len() - 1).unwrap_or_default();
    let right = match head.text_at(&["alg"]) {
        "HS256" => signs::<Hmac<Sha256>>(key, signed, &signature_bytes),
        "HS384" => signs::<Hmac<Sha384>>(key, signed, &signature_bytes),
        "HS512" => signs::<Hmac<Sha512>>(key, signed, &signature_bytes),
        _ => {
            return Err("jws.Verify: could not verify message using any of the signatures or keys: jws.Verify: signature #1: key provider 0 failed: algorithm in the message does not match any of the inferred algorithms\njws.Verify: signature #1: no matching keys were provided by any key provider".into());
        }
    };
    if !right {
        return Err("jws.Verify: could not verify message using any of the signatures or keys: jws.Verify: failed to verify signature #1 with key *jwk.symmetricKey: invalid HMAC signature\njws.Verify: signature #1: tried 1 key(s) but none verified successfully".into());
    }
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
    Ok((valid, claims.iter().map(|(k, v)| (k.clone(), v.with_float_numbers())).collect()))
}

fn signs<M: Mac + KeyInit>(key: &str, text: &str, signature: &[u8]) -> bool {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key.as_bytes()) else { return false };
    mac.update(text.as_bytes());
    mac.verify_slice(signature).is_ok()
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
        let valid = |now: i128| decode(ADMIN, "secret", now * SECOND).map(|(valid, _)| valid);
        assert_eq!(valid(1_514_851_138), Ok(false));
        assert_eq!(valid(1_514_851_139), Ok(true));
        assert_eq!(valid(2_241_081_539), Ok(false));
        let (_, claims) = decode(ADMIN, "secret", 0).unwrap_or_default();
        assert_eq!(claims.get("role").and_then(Value::as_str), Some("admin"));
    }

    #[test]
    fn nobody_else_signs_a_token() {
        let told = |token: &str, key: &str| decode(token, key, 0).unwrap_err();
        assert!(told(ADMIN, "other").contains("invalid HMAC signature"));
        assert!(told(&ADMIN.replace("eyJleHA", "eyJleHB"), "secret").contains("invalid HMAC signature"));
        assert!(told("a", "b").ends_with(NO_TOKEN));
        let unsigned = "eyJhbGciOiAibm9uZSJ9.e30.";
        assert!(told(unsigned, "secret").contains("does not match any of the inferred algorithms"));
    }
}
