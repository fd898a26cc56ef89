//! Public keys and signature algorithms.

use num_bigint::{BigInt, Sign};

use super::der::{self, Element, Reader};
use super::{CertificateError, Parsed};
use ephor_value::Value;

/// The identifier of RSA keys.
pub(super) const RSA: [u64; 7] = [1, 2, 840, 113549, 1, 1, 1];

/// The algorithm identifier: object identifier and what follows it.
pub(super) fn algorithm(e: Element<'_>) -> Option<(Vec<u64>, Reader<'_>)> {
    let mut r = e.inside();
    let oid = der::oid(r.tagged(der::OID)?.body).ok()?;
    Some((oid, r))
}

/// The same with what is wrong with it.
pub(super) fn identified(e: Element<'_>) -> Parsed<(Vec<u64>, Reader<'_>)> {
    let (oid, parameters) = algorithm(e).ok_or(CertificateError::Malformed("OID"))?;
    match parameters.is_empty() || parameters.clone().any().is_some() {
        true => Ok((oid, parameters)),
        false => Err(CertificateError::Malformed("parameters")),
    }
}

/// Go's number of a signature algorithm, 0 for one that it does not know.
pub(super) fn signature_algorithm(oid: &[u64], parameters: Reader<'_>) -> i64 {
    match oid {
        [1, 2, 840, 113549, 1, 1, 4] => 2,
        [1, 2, 840, 113549, 1, 1, 5] | [1, 3, 14, 3, 2, 29] => 3,
        [1, 2, 840, 113549, 1, 1, 11] => 4,
        [1, 2, 840, 113549, 1, 1, 12] => 5,
        [1, 2, 840, 113549, 1, 1, 13] => 6,
        [1, 2, 840, 10040, 4, 3] => 7,
        [2, 16, 840, 1, 101, 3, 4, 3, 2] => 8,
        [1, 2, 840, 10045, 4, 1] => 9,
        [1, 2, 840, 10045, 4, 3, 2] => 10,
        [1, 2, 840, 10045, 4, 3, 3] => 11,
        [1, 2, 840, 10045, 4, 3, 4] => 12,
        [1, 2, 840, 113549, 1, 1, 10] => pss(parameters).unwrap_or(0),
        [1, 3, 101, 112] if parameters.is_empty() => 16,
        _ => 0,
    }
}

/// RSA-PSS is identified by its hash, which must also be that of the mask and set the salt's
/// length.
fn pss(mut parameters: Reader<'_>) -> Option<i64> {
    let mut r = parameters.tagged(der::SEQUENCE)?.inside();
    let hash_of = |e: Element<'_>| algorithm(e.inside().any()?).map(|(oid, _)| oid);
    let hash = hash_of(r.tagged(0xa0)?)?;
    let (mask, mut mask_parameters) = algorithm(r.tagged(0xa1)?.inside().any()?)?;
    let (mask_hash, _) = algorithm(mask_parameters.any()?)?;
    let salt = der::small(r.tagged(0xa2)?.inside().tagged(der::INTEGER)?.body)?;
    if mask != [1, 2, 840, 113549, 1, 1, 8] || mask_hash != hash {
        return None;
    }
    match (hash.as_slice(), salt) {
        ([2, 16, 840, 1, 101, 3, 4, 2, 1], 32) => Some(13),
        ([2, 16, 840, 1, 101, 3, 4, 2, 2], 48) => Some(14),
        ([2, 16, 840, 1, 101, 3, 4, 2, 3], 64) => Some(15),
        _ => None,
    }
}

/// An RSA key of a subject public key info.
pub(super) fn rsa_key(info: Element<'_>) -> Parsed<Value> {
    let mut r = info.inside();
    let algorithm =
        r.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("public key algorithm identifier"))?;
    let (oid, mut parameters) = identified(algorithm)?;
    let bits = r.tagged(der::BIT_STRING).and_then(|e| der::bits(e.body).ok());
    let (key, _) = bits.ok_or(CertificateError::Malformed("subjectPublicKey"))?;
    if oid != RSA {
        return Err(CertificateError::NotRsa);
    }
    if parameters.any().is_none_or(|e| e.raw != [5, 0]) {
        return Err(CertificateError::RsaParameters);
    }
    let mut key =
        Reader(key).tagged(der::SEQUENCE).ok_or(CertificateError::Invalid("RSA public key"))?.inside();
    let modulus =
        key.tagged(der::INTEGER).and_then(integer).ok_or(CertificateError::Invalid("RSA modulus"))?;
    let exponent =
        key.tagged(der::INTEGER).and_then(integer).ok_or(CertificateError::Invalid("RSA public exponent"))?;
    if modulus.sign() != Sign::Plus {
        return Err(CertificateError::RsaSign("modulus"));
    }
    if exponent.sign() != Sign::Plus {
        return Err(CertificateError::RsaSign("public exponent"));
    }
    Ok(Value::map([("N", modulus.to_string().into()), ("E", as_double(&exponent))]))
}

/// A signed integer of any size, as short as it can be.
pub(super) fn integer(e: Element<'_>) -> Option<BigInt> {
    der::is_minimal(e.body).then(|| BigInt::from_signed_bytes_be(e.body))
}

/// The nearest double.
pub(super) fn as_double(n: &BigInt) -> Value {
    Value::Float(n.to_string().parse().unwrap_or(f64::INFINITY))
}
