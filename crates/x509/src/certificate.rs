//! Certificates.

use super::der::{self, Reader};
use super::extensions::{self, Extension};
use super::{CertificateError, Parsed, bytes, keys, names, number};
use ephor_value::{Map, Value};

/// The tag of the version.
const VERSION: u8 = 0xa0;
/// The tag of the extensions.
const EXTENSIONS: u8 = 0xa3;

/// Decodes one certificate.
pub(super) fn decode(der_bytes: &[u8]) -> Parsed<Map> {
    let mut outer = Reader(der_bytes);
    let whole = outer.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("certificate"))?;
    let mut parts = whole.inside();
    let signed = parts.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("tbs certificate"))?;
    let mut r = signed.inside();

    let version = match r.optional(VERSION).ok_or(CertificateError::Malformed("version"))? {
        None => 0,
        Some(e) => {
            let mut inside = e.inside();
            let version = inside.tagged(der::INTEGER).and_then(|e| der::small(e.body));
            version.filter(|_| inside.is_empty()).ok_or(CertificateError::Malformed("version"))?
        }
    };
    if version > 2 {
        return Err(CertificateError::Invalid("version"));
    }
    let serial =
        r.tagged(der::INTEGER).and_then(keys::integer).ok_or(CertificateError::Malformed("serial number"))?;
    if serial.sign() == num_bigint::Sign::Minus {
        return Err(CertificateError::NegativeSerial);
    }
    let bad_algorithm = CertificateError::Malformed("signature algorithm identifier");
    let inner = r.tagged(der::SEQUENCE).ok_or(bad_algorithm)?;
    let outer_algorithm =
        parts.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("algorithm identifier"))?;
    if inner.raw != outer_algorithm.raw {
        return Err(CertificateError::TwoAlgorithms);
    }
    let (algorithm, parameters) = keys::identified(inner)?;
    let issuer = r.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("issuer"))?;
    let issuer_name = names::name(issuer)?;
    let validity = r.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("validity"))?;
    let (not_before, not_after) = names::validity(validity.inside())?;
    let subject = r.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("issuer"))?;
    let subject_name = names::name(subject)?;
    let info = r.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("spki"))?;
    // Keys of other algorithms are refused when everything else is read.
    let mut key = keys::rsa_key(info);
    if key.as_ref().is_err_and(|why| *why != CertificateError::NotRsa) {
        key = Ok(key?);
    }
    let signature = parts.tagged(der::BIT_STRING).and_then(|e| der::bits(e.body).ok());

    let found = read_extensions(&mut r, version)?;
    let fields = extensions::fields(&found)?;
    let (signature, _) = signature.ok_or(CertificateError::Malformed("signature"))?;
    if !outer.is_empty() {
        return Err(CertificateError::Trailing);
    }

    let mut out = Map::new();
    out.insert("Raw", bytes(whole.raw));
    out.insert("RawTBSCertificate", bytes(signed.raw));
    out.insert("RawSubjectPublicKeyInfo", bytes(info.raw));
    out.insert("RawSubject", bytes(subject.raw));
    out.insert("RawIssuer", bytes(issuer.raw));
    out.insert("Signature", bytes(signature));
    out.insert("SignatureAlgorithm", number(keys::signature_algorithm(&algorithm, parameters)));
    out.insert("PublicKeyAlgorithm", number(1));
    out.insert("PublicKey", key?);
    out.insert("Version", number(version + 1));
    out.insert("SerialNumber", keys::as_double(&serial));
    out.insert("Issuer", issuer_name);
    out.insert("Subject", subject_name);
    out.insert("NotBefore", not_before);
    out.insert("NotAfter", not_after);
    out.insert("Extensions", extensions::list(&found));
    out.insert("ExtraExtensions", Value::Null);
    for (key, value) in fields.iter() {
        out.insert(key.clone(), value.clone());
    }
    Ok(out)
}

/// The low 64 bits of the serial number.
pub(super) fn low_serial(der_bytes: &[u8]) -> Option<i64> {
    let whole = Reader(der_bytes).tagged(der::SEQUENCE)?;
    let mut r = whole.inside().tagged(der::SEQUENCE)?.inside();
    r.optional(VERSION)?;
    let number = r.tagged(der::INTEGER)?.body;
    let low = number.get(number.len().saturating_sub(8)..)?;
    Some(low.iter().fold(0, |n, b| n << 8 | i64::from(*b)))
}

fn read_extensions<'a>(r: &mut Reader<'a>, version: i64) -> Parsed<Vec<Extension<'a>>> {
    // Unique identifiers of issuer and subject are skipped.
    for tag in [0x81, 0x82] {
        r.optional(tag).ok_or(CertificateError::Malformed("issuerUniqueID"))?;
    }
    match r.optional(EXTENSIONS).ok_or(CertificateError::Malformed("extensions"))? {
        Some(e) if version == 2 => {
            let all = e.inside().tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("extensions"))?;
            extensions::read(all.inside())
        }
        _ => Ok(Vec::new()),
    }
}
