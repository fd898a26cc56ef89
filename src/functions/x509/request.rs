//! Certificate requests.

use super::der::{self, Element, Reader};
use super::extensions::{self, Extension};
use super::{Parsed, bytes, keys, list_or_null, names, number, object, oid_value};
use crate::value::{Map, Value};

/// The reference has many texts for damaged requests; this is the one of cut ones.
const TRUNCATED: &str = "asn1: syntax error: sequence truncated";
/// The attribute that holds the requested extensions.
const EXTENSION_REQUEST: [u64; 7] = [1, 2, 840, 113549, 1, 9, 14];
/// The tag of the attributes.
const ATTRIBUTES: u8 = 0xa0;

/// Decodes one certificate request.
pub(super) fn decode(der_bytes: &[u8]) -> Parsed<Map> {
    let mut outer = Reader(der_bytes);
    let whole = wanted(&mut outer, der::SEQUENCE, "certificateRequest")?;
    if !outer.is_empty() {
        return Err("asn1: syntax error: trailing data".into());
    }
    let mut parts = whole.inside();
    let signed = wanted(&mut parts, der::SEQUENCE, "tbsCertificateRequest")?;
    let mut r = signed.inside();
    let version = der::small(wanted(&mut r, der::INTEGER, "int")?.body).ok_or(TRUNCATED)?;
    let subject = r.tagged(der::SEQUENCE).ok_or(TRUNCATED)?;
    let info = r.tagged(der::SEQUENCE).ok_or(TRUNCATED)?;
    let attributes = r.optional(ATTRIBUTES).ok_or(TRUNCATED)?;
    let (algorithm, parameters) = parts.tagged(der::SEQUENCE).and_then(keys::algorithm).ok_or(TRUNCATED)?;
    let (signature, _) = parts.tagged(der::BIT_STRING).and_then(|e| der::bits(e.body)).ok_or(TRUNCATED)?;

    let key = keys::rsa_key(info);
    let subject_name = names::name(subject)?;
    let attributes: Vec<Element<'_>> = attributes.into_iter().flat_map(|e| e.inside()).collect();
    let mut found: Vec<Extension<'_>> = Vec::new();
    for attribute in &attributes {
        if let Some((kind, values)) = attribute_parts(*attribute)
            && kind == EXTENSION_REQUEST
        {
            let all = values.into_iter().next().ok_or(TRUNCATED)?;
            found.extend(extensions::read(all.inside())?);
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
    out.insert("SignatureAlgorithm", number(keys::signature_algorithm(&algorithm, parameters)));
    out.insert("PublicKeyAlgorithm", number(1));
    out.insert("PublicKey", key?);
    out.insert("Subject", subject_name);
    out.insert("Attributes", list_or_null(attributes.iter().filter_map(|a| shown(*a)).collect()));
    out.insert("Extensions", extensions::list(&found));
    out.insert("ExtraExtensions", Value::Null);
    for (key, value) in names.iter() {
        out.insert(key.clone(), value.clone());
    }
    Ok(out)
}

/// The next element, which must have this tag.
fn wanted<'a>(r: &mut Reader<'a>, tag: u8, name: &str) -> Parsed<Element<'a>> {
    let found = r.any().ok_or(TRUNCATED)?;
    if found.tag == tag {
        return Ok(found);
    }
    let (class, own, length) = (found.tag >> 6, found.tag & 0x1f, found.body.len());
    let (compound, at) = (found.tag & 0x20 != 0, found.raw.len() - length);
    Err(format!(
        "asn1: structure error: tags don't match ({} vs {{class:{class} tag:{own} length:{length} isCompound:{compound}}}) {{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}} {name} @{at}",
        tag & 0x1f
    ))
}

fn attribute_parts(attribute: Element<'_>) -> Option<(Vec<u64>, Reader<'_>)> {
    let mut r = attribute.inside();
    let kind = der::oid(r.tagged(der::OID)?.body)?;
    Some((kind, r.tagged(der::SET)?.inside()))
}

/// An attribute whose values are lists of typed values; others, such as a challenge password, are not
/// shown.
fn shown(attribute: Element<'_>) -> Option<Value> {
    let (kind, values) = attribute_parts(attribute)?;
    let mut lists = Vec::new();
    for list in values {
        let mut typed = Vec::new();
        for entry in (list.tag == der::SEQUENCE).then(|| list.inside())? {
            let mut r = entry.inside();
            let kind = der::oid(r.tagged(der::OID)?.body)?;
            let value = match r.any()? {
                e if e.tag == der::OCTET_STRING => bytes(e.body),
                e if e.tag == der::BOOLEAN => Value::Bool(e.body != [0]),
                e if e.tag == der::INTEGER => keys::as_double(&keys::integer(e)?),
                e => names::string(e).map(Value::from).unwrap_or_default(),
            };
            typed.push(object([("Type", oid_value(&kind)), ("Value", value)]));
        }
        lists.push(Value::list(typed));
    }
    Some(object([("Type", oid_value(&kind)), ("Value", list_or_null(lists))]))
}
