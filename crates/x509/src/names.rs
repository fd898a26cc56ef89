//! Distinguished names, strings and times of certificates.

use super::der::{self, Element, Reader};
use super::{CertificateError, Parsed, list_or_null, oid_value};
use ephor_value::time::Time;
use ephor_value::{Map, Str, Value};

/// Types and values of a distinguished name.
pub(super) type SeveralNames = Vec<(Vec<u64>, Value)>;

/// A distinguished name with its parts by their usual names.
pub(super) fn name(raw: Element<'_>) -> Parsed<Value> {
    let invalid = CertificateError::Invalid("RDNSequence");
    let mut all = SeveralNames::new();
    let mut sets = raw.inside();
    while !sets.is_empty() {
        let mut set = sets.tagged(der::SET).ok_or(invalid.clone())?.inside();
        while !set.is_empty() {
            let attribute = set.tagged(der::SEQUENCE);
            let mut attribute =
                attribute.ok_or(CertificateError::Invalid("RDNSequence: invalid attribute"))?.inside();
            let kind = attribute.tagged(der::OID).and_then(|e| der::oid(e.body).ok());
            let kind = kind.ok_or(CertificateError::Invalid("RDNSequence: invalid attribute type"))?;
            let value =
                attribute.any().ok_or(CertificateError::Invalid("RDNSequence: invalid attribute value"))?;
            let text = string(value).map_err(|cause| CertificateError::NameText(Box::new(cause)))?;
            all.push((kind, text.into()));
        }
    }
    Ok(by_usual_names(all))
}

/// A distinguished name as an object; what is no text has no usual name.
pub(super) fn by_usual_names(all: SeveralNames) -> Value {
    const LISTS: [(&str, u64); 7] = [
        ("Country", 6),
        ("Organization", 10),
        ("OrganizationalUnit", 11),
        ("Locality", 7),
        ("Province", 8),
        ("StreetAddress", 9),
        ("PostalCode", 17),
    ];
    let of = |arc: u64| {
        let kind = [2, 5, 4, arc];
        let found = all.iter().filter(move |(k, v)| *k == kind && v.as_str().is_some());
        found.map(|(_, v)| v.clone())
    };
    let mut fields: Vec<(Str, Value)> =
        LISTS.iter().map(|(field, arc)| ((*field).into(), list_or_null(of(*arc).collect()))).collect();
    for (field, arc) in [("SerialNumber", 5), ("CommonName", 3)] {
        fields.push((field.into(), of(arc).next_back().unwrap_or_else(|| "".into())));
    }
    let names = all.iter().map(|(k, v)| Value::map([("Type", oid_value(k)), ("Value", v.clone())])).collect();
    fields.push(("Names".into(), list_or_null(names)));
    fields.push(("ExtraNames".into(), Value::Null));
    Value::Map(Map::from_unique(fields))
}

/// A string of one of the many kinds.
pub(super) fn string(e: Element<'_>) -> Parsed<String> {
    let utf8 = |kind: &'static str| {
        std::str::from_utf8(e.body).map(String::from).map_err(|_| CertificateError::Text(kind))
    };
    match e.tag {
        // UTF8String
        0x0c => utf8("UTF-8 string"),
        // NumericString
        0x12 if e.body.iter().all(|b| b.is_ascii_digit() || *b == b' ') => utf8("NumericString"),
        0x12 => Err(CertificateError::Text("NumericString")),
        // PrintableString, with the signs that are tolerated
        0x13 if e.body.iter().all(|b| b.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(b)) => {
            utf8("PrintableString")
        }
        0x13 => Err(CertificateError::Text("PrintableString")),
        // T61String, taken as it is
        0x14 => Ok(ephor_value::bytes::lossy(e.body)),
        // IA5String
        0x16 if e.body.is_ascii() => utf8("IA5String"),
        0x16 => Err(CertificateError::Text("IA5String")),
        // BMPString
        0x1e if e.body.len().is_multiple_of(2) => {
            let units = e.body.chunks_exact(2).map(|c| u16::from_be_bytes([c[0], c[1]]));
            let mut units: Vec<u16> = units.collect();
            if units.last() == Some(&0) {
                units.pop();
            }
            Ok(String::from_utf16_lossy(&units))
        }
        0x1e => Err(CertificateError::Text("BMPString")),
        tag => Err(CertificateError::TextType(tag)),
    }
}

/// The start and end of validity as RFC 3339.
pub(super) fn validity(mut r: Reader<'_>) -> Parsed<(Value, Value)> {
    let mut next = || {
        let malformed = match r.peek() {
            Some(0x17) => CertificateError::Malformed("UTCTime"),
            Some(0x18) => CertificateError::Malformed("GeneralizedTime"),
            _ => CertificateError::TimeType,
        };
        time(r.any().ok_or(malformed)?)
    };
    Ok((next()?, next()?))
}

fn time(e: Element<'_>) -> Parsed<Value> {
    let what = if e.tag == 0x17 { "UTCTime" } else { "GeneralizedTime" };
    let malformed = || CertificateError::Malformed(what);
    let text = std::str::from_utf8(e.body).map_err(|_| malformed())?;
    let parsed = match (e.tag, text.len()) {
        (0x17, 13) => {
            // Two-digit years below 50 are of this century.
            let century = if text < "50" { "20" } else { "19" };
            Time::parse("20060102150405Z", &format!("{century}{text}"))
        }
        (0x17, 11) => {
            let century = if text < "50" { "20" } else { "19" };
            Time::parse("200601021504Z", &format!("{century}{text}"))
        }
        (0x18, _) => Time::parse("20060102150405Z", text),
        (0x17, _) => return Err(malformed()),
        _ => return Err(CertificateError::TimeType),
    };
    parsed.map(|t| t.to_string().into()).map_err(|_| malformed())
}
