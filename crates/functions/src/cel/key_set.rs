//! Sets of keys (RFC 7517) that sign tokens.
//!
//! In: the text of a set, or of one key. Out: keys, and whether one of them signed a text; or what
//! is wrong, in Kyverno's words. Keys are those of RSA, of the NIST curves, of Ed25519, and
//! secrets.
//!
//! - `error`: what is wrong with keys and signatures, in the words of the library that Kyverno
//!   1.19.1 reads them with

mod error;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use p521::ecdsa::signature::Verifier;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519,
    RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_2048_8192_SHA384, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use sha2::{Sha256, Sha384, Sha512};

use super::call::{Call, CallResult, fault, success};
use ephor_document::decode_first_json;
use ephor_external::{Answer, ServiceCall};
use ephor_value::{Map, Object, Str, Value};

pub use error::{
    ChoiceError, ConversionError, FieldError, InvalidKey, KeyError, ProbeError, SetError, VerifyError,
};

/// The name of the type.
pub const KEY_SET: &str = "jwk.Set";

/// The algorithms that sign.
#[rustfmt::skip]
const SIGNING: &[&str] = &[
    "ES256", "ES256K", "ES384", "ES512", "EdDSA", "Ed25519", "HS256", "HS384", "HS512", "PS256", "PS384", "PS512", "RS256",
    "RS384", "RS512", "none",
];
/// Those that do something else with a key.
#[rustfmt::skip]
const OTHER: &[&str] = &[
    "A128GCMKW", "A128KW", "A192GCMKW", "A192KW", "A256GCMKW", "A256KW", "ECDH-ES", "ECDH-ES+A128KW",
    "ECDH-ES+A192KW", "ECDH-ES+A256KW", "PBES2-HS256+A128KW", "PBES2-HS384+A192KW", "PBES2-HS512+A256KW", "RSA-OAEP", "RSA-OAEP-256",
    "RSA-OAEP-384", "RSA-OAEP-512", "RSA1_5", "dir",
];

/// `jwks.Fetch`
pub fn fetch(call: &Call<'_>) -> CallResult {
    let url = call.text(0)?;
    let (answer, headers) = (Answer::KeySet, Vec::new());
    let wanted = ServiceCall { answer, url, body: None, headers, ca_bundle: "" };
    let text = match super::external_data::external(call).service(&wanted) {
        Some(Ok(text)) => text,
        Some(Err(e)) => return fault(format!("jwk.Fetch: {e}")),
        None => return fault("jwk.Fetch: no network"),
    };
    match read(text.as_str().unwrap_or_default()) {
        Ok(keys) => {
            let fields = [(Str::from("keys"), Value::list(keys))].into_iter().collect();
            success(Value::object(Object::Struct(KEY_SET.into(), fields)))
        }
        Err(e) => fault(format!("jwk.Parse: {e}")),
    }
}

/// The keys of a text as objects, all of them checked.
fn read(text: &str) -> Result<Vec<Value>, SetError> {
    let sole = |error: ProbeError| SetError::Sole(error.into());
    let v = match decode_first_json(text) {
        Ok(Some(v)) => v,
        Ok(None) if text.trim().is_empty() => return Err(sole(ProbeError::Empty)),
        Ok(None) => return Err(sole(ProbeError::Truncated)),
        Err(error) => return Err(sole(ProbeError::Json(error.to_string().into()))),
    };
    let Some(keys) = v.get("keys") else {
        Key::of(&v)?;
        return Ok(vec![v]);
    };
    let Some(keys) = keys.as_list() else {
        let shown = match keys {
            Value::Null => "<nil>".into(),
            Value::Map(_) => "{".into(),
            Value::Str(text) => text.to_string(),
            other => ephor_value::print::json(other),
        };
        return Err(SetError::NoList(shown.into()));
    };
    for (at, key) in keys.iter().enumerate() {
        Key::of(key).map_err(|cause| SetError::Key { at, cause })?;
    }
    Ok(keys.to_vec())
}

/// A key of a set.
#[derive(Debug)]
pub struct Key {
    name: Option<Str>,
    usage: Option<Str>,
    algorithm: Option<Str>,
    material: Material,
    is_private: bool,
}

#[derive(Debug)]
enum Material {
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
    /// An uncompressed point, and the length of its coordinates.
    Curve(Vec<u8>, usize),
    Ed25519(Vec<u8>),
    Secret(Vec<u8>),
}

impl Key {
    /// A secret that both sides know.
    pub fn secret(bytes: &[u8]) -> Key {
        let material = Material::Secret(bytes.to_vec());
        Key { name: None, usage: None, algorithm: None, material, is_private: false }
    }

    /// The keys of a set.
    pub fn all_of(set: &Map) -> Vec<Key> {
        let keys = set.get("keys").and_then(Value::as_list).unwrap_or_default();
        keys.iter().filter_map(|v| Key::of(v).ok()).collect()
    }

    fn of(v: &Value) -> Result<Key, KeyError> {
        let nothing = Value::Map(Map::new());
        let v = if matches!(v, Value::Null) { &nothing } else { v };
        if v.as_map().is_none() {
            return Err(ProbeError::NoObject(v.json_type()).into());
        }
        if let Some(other) = v.get("kty").filter(|kind| kind.as_str().is_none()) {
            return Err(ProbeError::NoText(other.json_type()).into());
        }
        let kind = v.text_at(&["kty"]);
        let is_private = v.get("d").is_some();
        let (name, needed): (&str, &[&'static str]) = match kind {
            "RSA" => ("rsa", &["n", "e"]),
            "EC" => ("ecdsa", &["crv", "x", "y"]),
            "OKP" => ("okp", &["crv", "x"]),
            "oct" => ("symmetric", &["k"]),
            other => return Err(KeyError::Kind(other.into())),
        };
        let shown = || type_name(name, is_private).into();
        let fields = v.as_map().into_iter().flat_map(Map::iter);
        for (field, value) in fields {
            let checked = check_field(field, value);
            checked.map_err(|cause| KeyError::Field { key: shown(), field: (&**field).into(), cause })?;
        }
        if let Some(missing) = needed.iter().find(|f| v.get(f).is_none()) {
            return Err(KeyError::Missing { key: shown(), field: missing });
        }
        let bytes = |field: &str| decoded(v.text_at(&[field])).unwrap_or_default();
        let material = match kind {
            "RSA" => Material::Rsa { n: without_zeros(bytes("n")), e: without_zeros(bytes("e")) },
            "EC" => point(v.text_at(&["crv"]), &bytes("x"), &bytes("y"))?,
            "OKP" if v.text_at(&["crv"]) == "Ed25519" && bytes("x").len() != 32 => {
                return Err(InvalidKey::EdwardsSize.into());
            }
            "OKP" => Material::Ed25519(bytes("x")),
            _ if bytes("k").is_empty() => return Err(InvalidKey::Secret.into()),
            _ => Material::Secret(bytes("k")),
        };
        let text = |field: &str| v.get(field).and_then(Value::as_str).map(Str::from);
        Ok(Key { name: text("kid"), usage: text("use"), algorithm: text("alg"), material, is_private })
    }

    /// The key that a token names, out of a set.
    ///
    /// # Errors
    /// There is none, or it is for something else.
    pub fn chosen(keys: Vec<Key>, name: &str) -> Result<Key, ChoiceError> {
        if name.is_empty() && keys.len() > 1 {
            return Err(ChoiceError::Unnamed);
        }
        let mut fitting = keys.into_iter().filter(|key| name.is_empty() || key.name.as_deref() == Some(name));
        let Some(key) = fitting.next() else {
            return Err(match name {
                "" => ChoiceError::Empty,
                name => ChoiceError::Absent(name.into()),
            });
        };
        match key.usage.as_deref() {
            None | Some("sig" | "") => Ok(key),
            Some(other) => Err(ChoiceError::Usage {
                name: key.name.as_deref().unwrap_or_default().into(),
                usage: other.into(),
            }),
        }
    }

    /// The algorithm that the key is for, else the one that the token names, if it fits the key.
    ///
    /// # Errors
    /// There is none.
    pub fn algorithm(&self, named: &str) -> Result<String, ChoiceError> {
        if let Some(own) = self.algorithm.as_deref() {
            return match SIGNING.contains(&own) {
                true => Ok(own.into()),
                false => Err(ChoiceError::Algorithm(own.into())),
            };
        }
        let fitting: &[&str] = match &self.material {
            Material::Rsa { .. } => &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
            Material::Curve(_, size) => &[ecdsa_of(*size)],
            Material::Ed25519(_) => &["EdDSA", "Ed25519"],
            Material::Secret(_) => &["HS256", "HS384", "HS512"],
        };
        match fitting.contains(&named) {
            true => Ok(named.into()),
            false => Err(ChoiceError::NoMatch),
        }
    }

    /// Whether an algorithm is one of the key's kind.
    fn fits(&self, algorithm: &str) -> Result<(), VerifyError> {
        let is_fitting = match (&self.material, algorithm.get(..2).unwrap_or_default()) {
            (_, _) if matches!(algorithm, "none" | "ES256K") => {
                return Err(VerifyError::Algorithm(algorithm.into()));
            }
            (Material::Rsa { .. }, family) => matches!(family, "RS" | "PS"),
            (Material::Curve(..), family) => family == "ES",
            (Material::Ed25519(_), family) => family == "Ed",
            (Material::Secret(_), family) => family == "HS",
        };
        if is_fitting {
            return Ok(());
        }
        let shown = self.type_name();
        let inside = match &self.material {
            Material::Rsa { .. } => "*rsa.PublicKey",
            Material::Curve(..) => "*ecdsa.PublicKey",
            Material::Ed25519(_) => "ed25519.PublicKey",
            Material::Secret(_) => "[]uint8",
        };
        let (needed, cause) = match algorithm.get(..2).unwrap_or_default() {
            "HS" => ("[]byte", ConversionError::Secret(shown.as_str().into())),
            "Ed" => ("ed25519.PublicKey", ConversionError::Edwards),
            "ES" => ("*ecdsa.PublicKey", ConversionError::Package { package: "ecdsa", found: inside }),
            _ => ("*rsa.PublicKey", ConversionError::Package { package: "rsa", found: inside }),
        };
        Err(VerifyError::KeyType { key: shown.into(), needed, cause })
    }

    /// The reference's name for what the key is.
    pub fn type_name(&self) -> String {
        let name = match &self.material {
            Material::Rsa { .. } => "rsa",
            Material::Curve(..) => "ecdsa",
            Material::Ed25519(_) => "okp",
            Material::Secret(_) => "symmetric",
        };
        type_name(name, self.is_private)
    }

    /// Whether the key signed a text.
    ///
    /// # Errors
    /// It did not.
    pub fn verify(&self, algorithm: &str, text: &[u8], signature: &[u8]) -> Result<(), VerifyError> {
        self.fits(algorithm)?;
        match &self.material {
            Material::Rsa { n, e } => {
                let by: &RsaParameters = match algorithm {
                    "RS384" => &RSA_PKCS1_2048_8192_SHA384,
                    "RS512" => &RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
                    "PS256" => &RSA_PSS_2048_8192_SHA256,
                    "PS384" => &RSA_PSS_2048_8192_SHA384,
                    "PS512" => &RSA_PSS_2048_8192_SHA512,
                    _ => &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
                };
                let key = RsaPublicKeyComponents { n, e };
                key.verify(by, text, signature).map_err(|_| VerifyError::Rsa)
            }
            // Of a hash that does not belong to the curve.
            Material::Curve(_, size) if algorithm != ecdsa_of(*size) => Err(VerifyError::Ecdsa),
            Material::Curve(point, size) => {
                if signature.len() != 2 * size {
                    return Err(VerifyError::Length(curve_of(*size)));
                }
                signed_on_curve(point, *size, text, signature).ok_or(VerifyError::Ecdsa)
            }
            Material::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point)
                .verify(text, signature)
                .map_err(|_| VerifyError::Edwards),
            Material::Secret(secret) => {
                let is_right = match algorithm {
                    "HS384" => signs::<Hmac<Sha384>>(secret, text, signature),
                    "HS512" => signs::<Hmac<Sha512>>(secret, text, signature),
                    _ => signs::<Hmac<Sha256>>(secret, text, signature),
                };
                is_right.then_some(()).ok_or(VerifyError::Hmac)
            }
        }
    }
}

fn type_name(name: &str, is_private: bool) -> String {
    match (name, is_private) {
        ("symmetric", _) => "*jwk.symmetricKey".into(),
        (_, true) => format!("*jwk.{name}PrivateKey"),
        (_, false) => format!("*jwk.{name}PublicKey"),
    }
}

fn signs<M: Mac + KeyInit>(key: &[u8], text: &[u8], signature: &[u8]) -> bool {
    let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else { return false };
    mac.update(text);
    mac.verify_slice(signature).is_ok()
}

fn signed_on_curve(point: &[u8], size: usize, text: &[u8], signature: &[u8]) -> Option<()> {
    match size {
        32 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(text, signature).ok(),
        48 => UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(text, signature).ok(),
        _ => {
            let key = p521::ecdsa::VerifyingKey::from_sec1_bytes(point).ok()?;
            key.verify(text, &p521::ecdsa::Signature::from_slice(signature).ok()?).ok()
        }
    }
}

fn ecdsa_of(size: usize) -> &'static str {
    match size {
        32 => "ES256",
        48 => "ES384",
        _ => "ES512",
    }
}

fn curve_of(size: usize) -> &'static str {
    match size {
        32 => "P-256",
        48 => "P-384",
        _ => "P-521",
    }
}

/// Whether a member of a key has the form that it must have.
fn check_field(field: &str, value: &Value) -> Result<(), FieldError> {
    let text = || value.as_str().ok_or(FieldError::NoText(value.json_type()));
    match field {
        "alg" if !SIGNING.contains(&text()?) && !OTHER.contains(&text()?) => {
            Err(FieldError::Algorithm(text()?.into()))
        }
        "alg" | "kid" | "use" | "kty" => text().map(drop),
        "crv" if !matches!(text()?, "P-256" | "P-384" | "P-521" | "Ed25519" | "X25519") => {
            Err(FieldError::Curve(text()?.into()))
        }
        "n" | "e" | "x" | "y" | "k" | "d" | "p" | "q" | "dp" | "dq" | "qi" => {
            decoded(text()?).is_some().then_some(()).ok_or(FieldError::Base64)
        }
        _ => Ok(()),
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    URL_SAFE_NO_PAD.decode(text).or_else(|_| STANDARD_NO_PAD.decode(text)).ok()
}

fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    bytes.drain(..zeros);
    bytes
}

/// A point on a curve, written out.
fn point(curve: &str, x: &[u8], y: &[u8]) -> Result<Material, InvalidKey> {
    let (size, shown) = match curve {
        "P-256" => (32, "P256"),
        "P-384" => (48, "P384"),
        _ => (66, "P521"),
    };
    let mut point = vec![4];
    for number in [x, y] {
        let number = without_zeros(number.to_vec());
        point.resize(point.len() + size - number.len().min(size), 0);
        point.extend(number);
    }
    let is_there = match size {
        32 => p256::ecdsa::VerifyingKey::from_sec1_bytes(&point).is_ok(),
        48 => p384::ecdsa::VerifyingKey::from_sec1_bytes(&point).is_ok(),
        _ => p521::ecdsa::VerifyingKey::from_sec1_bytes(&point).is_ok(),
    };
    match is_there {
        true => Ok(Material::Curve(point, size)),
        false => Err(InvalidKey::Point(shown)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::token::{Keys, decode};

    /// A key of each kind.
    const SET: &str = r#"{"keys":[{"kty":"RSA","kid":"r","alg":"RS256","n":"t_bWRkGhSIbghDDQnEMpSYK1kEn-XSGu-6ajW_kFthbxFvSGyeipiMO7Z40jsFG8UUwULzGCidEjMW9O-iRW1Z2Jg2H-emJHiDJWh2iMaM4_6_s83jPM7MGyeJzBuxuXQGl7WZ9MDAKr_tjB8JMHYvNdMfUYEQYOr1ieOyrH33VvGAqG7V2azou1jeu8fyHKzxAnp1QZz6gITzMBEMR0KE9BydqCQjJ7Sa6gtZ60E4knzKbUz--EuuwvmwPSRF6S4R2EKNwx17JwbB86MJPqzHsJCBoC8MjM7FnPx5kqN74m2ML-1vlHVEGXvfU7nNykPKUjUGWc7fRNglTxt0C3vQ","e":"AQAB"},{"kty":"EC","kid":"e","alg":"ES256","crv":"P-256","x":"SFMMTcruqSsCqJ2nvHrrtGyqF5oLZWEE7rfZCcKHX5I","y":"QbW-xVeG3jpdh6cj_gtCPZWHoBrwNSxN1VFDUxHA4O0"},{"kty":"EC","kid":"e3","alg":"ES384","crv":"P-384","x":"Ke8llYpeSQ8pogB3995EhBkKIkdidbC3mlcNBEM5Vbvq7jdsqQXv7jIGIaw69Phl","y":"vvAGW-lUR0gvPgKYNNUQ61KdkaS4zbKZJYvqO7s7xCHhUgb37QPLWNoKmD9F8lye"},{"kty":"OKP","kid":"d","alg":"EdDSA","crv":"Ed25519","x":"xoGL0wfrhtGhpwtIux5tDMSaISLUccddfW3Hr9lekt4"},{"kty":"oct","kid":"o","alg":"HS256","k":"c2VjcmV0"}]}"#;
    /// A token for each of them.
    const TOKENS: [&str; 5] = [
        "eyJhbGciOiAiUlMyNTYiLCAidHlwIjogIkpXVCIsICJraWQiOiAiciJ9.eyJyb2xlIjogImFkbWluIiwgImF1ZCI6ICJhIn0.Bu5dLwLVrnBuugrWwfuzPukZsUva3N1DaBWntsCfGymN_YE99gEaDU71wRBfbw7rKH0-rRGt3w8CgDK7E2ac-9W9EqyXX_RQjc8S60WVznnxvWJX4yh3OtOSH1JaAOg9Sr3l7KSoiREVQbd5n7H9PGweDfGBgbIrAjJZwjrB0XpbIHRk12Bh_YoffhLTSfvHhBhKkzjn0-qofMUw1oWhMbzNfZgEzH8i5_FICxHv6t2TWmjT8TB5GarbCPLGQV22knivK-SMV0n0--0FwSkr-bgCnaU5aiWOreud5F9xn7oPiqZUKrTf3PTTIY3uFCPc-2qjFzi3PSrVp2PSNAG4mg",
        "eyJhbGciOiAiRVMyNTYiLCAidHlwIjogIkpXVCIsICJraWQiOiAiZSJ9.eyJyb2xlIjogImFkbWluIiwgImF1ZCI6ICJhIn0.DE6qV0M0LAETytRpqhKRl3Ekl3iIY2x3bxAbWEyAURFBfsErPOQIcmJOFIlNmrIvWnMdBwu3XqgwRrjInzM_gA",
        "eyJhbGciOiAiRVMzODQiLCAidHlwIjogIkpXVCIsICJraWQiOiAiZTMifQ.eyJyb2xlIjogImFkbWluIiwgImF1ZCI6ICJhIn0.N5KN10c7zcHzZCwtYPt-14ofTa3O6MFceSZg96ksahaflLnQxagaZXxvNiPLWPJtvyRdYUaH-b4vllaRijnjhKNYadWRT16RlNAVimit7r4QB7A6Bu4w9mxs1zrx5aHN",
        "eyJhbGciOiAiRWREU0EiLCAidHlwIjogIkpXVCIsICJraWQiOiAiZCJ9.eyJyb2xlIjogImFkbWluIiwgImF1ZCI6ICJhIn0.rY99VfV5cO1LdcULufCDEj-NKlzIjLDm1s-Tw5W6V7NwpeZmiFsBL-4oQ8L8QqaFoModQ2M4nditrZz-NN_wBQ",
        "eyJhbGciOiAiSFMyNTYiLCAidHlwIjogIkpXVCIsICJraWQiOiAibyJ9.eyJyb2xlIjogImFkbWluIiwgImF1ZCI6ICJhIn0.6mHc5GlFXZ4h3DNUvs6Rbh-3ymQwZ6litsJUxFpLWg0",
    ];

    fn claims(token: &str, set: &str) -> Result<Map, String> {
        let keys = read(set).map_err(|error| error.to_string())?;
        let keys = Key::all_of(&[(Str::from("keys"), Value::list(keys))].into_iter().collect());
        decode(token, Keys::Set(keys), 0).map(|(_, claims)| claims).map_err(|error| error.to_string())
    }

    #[test]
    fn a_token_is_read_with_the_key_that_it_names() {
        for token in TOKENS {
            let claims = claims(token, SET).unwrap_or_default();
            assert_eq!(claims.get("role").and_then(Value::as_str), Some("admin"), "{token}");
            assert!(claims.get("aud").and_then(Value::as_list).is_some(), "{token}");
        }
    }

    #[test]
    fn a_token_that_was_changed_is_refused() {
        for token in TOKENS {
            let (text, signature) = token.rsplit_once('.').unwrap_or_default();
            let changed = format!("{text}.{}AAAA{}", &signature[..8], &signature[12..]);
            let error = claims(&changed, SET).map(drop).unwrap_err();
            assert!(error.contains("failed to verify signature #1 with key *jwk."), "{error}");
        }
    }

    #[test]
    fn a_key_without_algorithm_takes_the_one_of_the_token_if_it_fits() {
        let sole = r#"{"kty":"RSA","n":"t_bWRkGhSIbghDDQnEMpSYK1kEn-XSGu-6ajW_kFthbxFvSGyeipiMO7Z40jsFG8UUwULzGCidEjMW9O-iRW1Z2Jg2H-emJHiDJWh2iMaM4_6_s83jPM7MGyeJzBuxuXQGl7WZ9MDAKr_tjB8JMHYvNdMfUYEQYOr1ieOyrH33VvGAqG7V2azou1jeu8fyHKzxAnp1QZz6gITzMBEMR0KE9BydqCQjJ7Sa6gtZ60E4knzKbUz--EuuwvmwPSRF6S4R2EKNwx17JwbB86MJPqzHsJCBoC8MjM7FnPx5kqN74m2ML-1vlHVEGXvfU7nNykPKUjUGWc7fRNglTxt0C3vQ","e":"AQAB"}"#;
        let by_pss = "eyJhbGciOiAiUFM1MTIiLCAidHlwIjogIkpXVCJ9.eyJuIjogMX0.GqdWt_xSEufBNempxqIJ_7QkZR7fF78IdyHQR2kxT6keV4k6nS8GRk1mYJVuT7qMSnW4LhEaVkHgWKVZKmvq3oQE-xCPlHhn-74Nf8NaKExNWJ5_MAtcETLmE2X2_pQzf6Zr7u7bmlDPjcEeWHKcBblgJEeRCL6T09DJwjW7oMcsC93ds_Ucsve65ZPCyw7Svwen51HC9s10PCtQqdM-6c6f6kGr_D_65a5SXMZWOsXCtkhcvxR_SLBUrEvE-tLCVaT2lZseaCeHYSV4Sxa9bt8X0O4oi618YCtELvicA3gVZi-HFBjduK-Z4pHVLoMBEoJcEIZY5vT7Jl19v3woqA";
        assert!(claims(by_pss, sole).is_ok());
        let error = claims(TOKENS[1], sole).map(drop).unwrap_err();
        assert!(error.contains("failed to find key with key ID \"e\" in key set"), "{error}");
        let error = claims(by_pss, SET).map(drop).unwrap_err();
        assert!(
            error.contains("no key ID (\"kid\") specified in token but multiple keys available"),
            "{error}"
        );
    }

    #[test]
    fn errors_of_invalid_sets_are_those_of_the_reference() {
        let error = |text: &str| read(text).map(drop).unwrap_err().to_string();
        let sole = "failed to parse sole key: jwk.ParseKey: ";
        assert_eq!(error("{}"), format!("{sole}invalid key type from JSON ()"));
        let probe = format!("{sole}jwk.Parse: failed to probe data: probe: failed to unmarshal data: ");
        assert_eq!(error(""), format!("{probe}EOF"));
        assert_eq!(error("{\"keys\":["), format!("{probe}unexpected EOF"));
        let set = "failed to unmarshal JWK set: failed to decode ";
        assert_eq!(error(r#"{"keys":null}"#), format!("{set}\"keys\": expected '[' but got <nil>"));
        assert_eq!(
            error(r#"{"keys":[{"kty":"oct"}]}"#),
            format!(
                "{set}key #0 in \"keys\": jwk.ParseKey: failed to unmarshal JSON into key (*jwk.symmetricKey): failed to unmarshal JSON into key (*jwk.symmetricKey): required field k is missing"
            )
        );
        assert!(
            error(r#"{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}"#).ends_with("P256 point not on curve")
        );
    }
}
