//! Certificate requests.

use super::asn1::{self, Fields, structure};
use super::der::{self, Element, Reader};
use super::extensions::{self, Extension};
use super::names::{self, SeveralNames};
use super::{CertificateError, Parsed, bytes, keys, list_or_null, number, oid_value};
use ephor_value::{Map, Value};

/// The attribute that holds the requested extensions.
const EXTENSION_REQUEST: [u64; 7] = [1, 2, 840, 113549, 1, 9, 14];

/// Decodes one certificate request.
pub(super) fn decode(der_bytes: &[u8]) -> Parsed<Map> {
    let mut outer = Fields::of(der_bytes);
    let whole = outer.field(structure("certificateRequest"))?;
    let mut parts = Fields::of(whole.body);
    let signed = parts.field(structure("tbsCertificateRequest"))?;
    let mut r = Fields::of(signed.body);
    let version = der::int(r.field(asn1::INT)?.body)?;
    let subject = r.any()?;
    let info = r.field(structure("publicKeyInfo"))?;
    let mut of_key = Fields::of(info.body);
    let (key_algorithm, _) = algorithm(&mut of_key)?;
    der::bits(of_key.field(asn1::BIT_STRING)?.body)?;
    let attributes = asn1::items(r.field(asn1::ATTRIBUTES)?.body, None)?;
    let (signing, parameters) = algorithm(&mut parts)?;
    let (signature, _) = der::bits(parts.field(asn1::BIT_STRING)?.body)?;
    if !outer.is_at_end() {
        return Err(CertificateError::RequestTrailing);
    }

    // Keys of other algorithms are refused when everything else is read.
    let info_element = der::Reader(info.raw).any().ok_or(CertificateError::Malformed("spki"))?;
    let mut key = keys::rsa_key(info_element);
    if key_algorithm == keys::RSA {
        key = Ok(key?);
    }
    let subject_name = name(subject)?;
    let mut found: Vec<Extension<'_>> = Vec::new();
    for (kind, values) in attributes.iter().filter_map(attribute_parts) {
        if let Some(first) = values.first().filter(|_| kind == EXTENSION_REQUEST) {
            let mut list = Fields::of(first.raw);
            let requested = asn1::items(list.field(asn1::LIST)?.body, Some(structure("Extension")))?;
            let requested: Vec<Extension<'_>> = requested.iter().map(extension).collect::<Parsed<_>>()?;
            if extensions::repeat(&requested) {
                return Err(CertificateError::RequestDuplicate);
            }
            found.extend(requested);
        }
    }
    let names = extensions::alternative_names(&found)?;

    let mut out = Map::new();
    out.insert("Raw", bytes(whole.raw));
    out.insert("RawTBSCertificateRequest", bytes(signed.raw));
    out.insert("RawSubjectPublicKeyInfo", bytes(info.raw));
    out.insert("RawSubject", bytes(subject.raw));
    out.insert("Version", number(version));
    out.insert("Signature", bytes(signature));
    let parameters = Reader(parameters.map_or(&[], |p| p.raw));
    out.insert("SignatureAlgorithm", number(keys::signature_algorithm(&signing, parameters)));
    out.insert("PublicKeyAlgorithm", number(1));
    out.insert("PublicKey", key?);
    out.insert("Subject", subject_name);
    out.insert("Attributes", list_or_null(attributes.iter().filter_map(attribute_value).collect()));
    out.insert("Extensions", extensions::list(&found));
    out.insert("ExtraExtensions", Value::Null);
    for (key, value) in names.iter() {
        out.insert(key.clone(), value.clone());
    }
    Ok(out)
}

/// An algorithm and its parameters.
fn algorithm<'a>(r: &mut Fields<'a>) -> Parsed<(Vec<u64>, Option<Element<'a>>)> {
    let mut r = Fields::of(r.field(structure("AlgorithmIdentifier"))?.body);
    let oid = der::oid(r.field(asn1::OID)?.body)?;
    Ok((oid, r.optional()?))
}

fn name(subject: Element<'_>) -> Parsed<Value> {
    let mut r = Fields::of(subject.raw);
    let mut all = SeveralNames::new();
    for set in asn1::items(r.field(structure("RDNSequence"))?.body, Some(asn1::RDN))? {
        for one in asn1::items(set.body, Some(structure("AttributeTypeAndValue")))? {
            let mut r = Fields::of(one.body);
            let kind = der::oid(r.field(asn1::OID)?.body)?;
            all.push((kind, value(r.any()?)?));
        }
    }
    Ok(names::by_usual_names(all))
}

/// A value whose type is its own affair; one that is not understood is null.
fn value(e: Element<'_>) -> Parsed<Value> {
    let text = |kind: &'static str| {
        names::string(e).map(Value::from).map_err(|_| CertificateError::Character { kind })
    };
    match e.tag {
        1 => Ok(Value::Bool(der::flag(e.body)?)),
        2 => Ok(number(der::int(e.body)?)),
        3 => {
            let (held, bits) = der::bits(e.body)?;
            let bits = i64::try_from(bits).unwrap_or(i64::MAX);
            Ok(Value::map([("Bytes", bytes(held)), ("BitLength", number(bits))]))
        }
        4 => Ok(bytes(e.body)),
        6 => Ok(oid_value(&der::oid(e.body)?)),
        0x0c => text("").map_err(|_| CertificateError::Utf8),
        0x12 => text("NumericString"),
        0x13 => text("PrintableString"),
        0x14 => text(""),
        0x16 => text("IA5String"),
        0x1e => text("").map_err(|_| CertificateError::Text("BMPString")),
        _ => Ok(Value::Null),
    }
}

fn extension<'a>(e: &Element<'a>) -> Parsed<Extension<'a>> {
    let mut r = Fields::of(e.body);
    let id = der::oid(r.field(asn1::OID)?.body)?;
    let critical = r.optional_flag()?;
    Ok(Extension { id, critical, value: r.field(asn1::BYTES)?.body })
}

/// Kind and values of an attribute; one that is not well-formed or has none does not count.
fn attribute_parts<'a>(attribute: &Element<'a>) -> Option<(Vec<u64>, Vec<Element<'a>>)> {
    let mut outer = Fields::of(attribute.raw);
    let mut r = Fields::of(outer.field(structure("pkcs10Attribute")).ok()?.body);
    let kind = der::oid(r.field(asn1::OID).ok()?.body).ok()?;
    let values = asn1::items(r.field(asn1::VALUES).ok()?.body, None).ok()?;
    (!values.is_empty()).then_some((kind, values))
}

/// An attribute whose values are lists of typed values; others, such as a challenge password, are
/// not shown.
fn attribute_value(attribute: &Element<'_>) -> Option<Value> {
    let mut outer = Fields::of(attribute.raw);
    let mut r = Fields::of(outer.field(structure("")).ok()?.body);
    let kind = der::oid(r.field(asn1::OID).ok()?.body).ok()?;
    let mut lists = Vec::new();
    for list in asn1::items(r.field(asn1::VALUES).ok()?.body, Some(asn1::LIST)).ok()? {
        let mut typed = Vec::new();
        for entry in asn1::items(list.body, Some(structure(""))).ok()? {
            let mut r = Fields::of(entry.body);
            let kind = der::oid(r.field(asn1::OID).ok()?.body).ok()?;
            typed.push(Value::map([("Type", oid_value(&kind)), ("Value", value(r.any().ok()?).ok()?)]));
        }
        lists.push(Value::list(typed));
    }
    Some(Value::map([("Type", oid_value(&kind)), ("Value", list_or_null(lists))]))
}
