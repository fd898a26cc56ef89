//! Extensions of certificates.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::der::{self, Element, Reader};
use super::{CertificateError, Parsed, bytes, list_or_null, number, oid_value};
use ephor_value::bytes::lossy;
use ephor_value::url::{self, UrlParts};
use ephor_value::{Map, Str, Value};

/// An extension as written.
pub(super) struct Extension<'a> {
    pub id: Vec<u64>,
    pub critical: bool,
    pub value: &'a [u8],
}

/// Whether one comes twice.
pub(super) fn repeat(all: &[Extension<'_>]) -> bool {
    all.iter().enumerate().any(|(at, e)| all.iter().take(at).any(|other| other.id == e.id))
}

/// Reads a list of extensions.
pub(super) fn read(mut all: Reader<'_>) -> Parsed<Vec<Extension<'_>>> {
    let mut found: Vec<Extension<'_>> = Vec::new();
    while !all.is_empty() {
        let e = all.tagged(der::SEQUENCE).ok_or(CertificateError::Malformed("extension"))?;
        let mut r = e.inside();
        let id = r.tagged(der::OID).and_then(|e| der::oid(e.body).ok());
        let id = id.ok_or(CertificateError::Malformed("extension OID field"))?;
        let critical = r.optional(der::BOOLEAN).and_then(flag);
        let critical = critical.ok_or(CertificateError::Malformed("extension critical field"))?;
        let value =
            r.tagged(der::OCTET_STRING).ok_or(CertificateError::Malformed("extension value field"))?;
        found.push(Extension { id, critical, value: value.body });
    }
    if repeat(&found) {
        return Err(CertificateError::Duplicate);
    }
    Ok(found)
}

/// The extensions as they were written.
pub(super) fn list(found: &[Extension<'_>]) -> Value {
    let one = |e: &Extension<'_>| {
        Value::map([
            ("Id", oid_value(&e.id)),
            ("Critical", Value::Bool(e.critical)),
            ("Value", bytes(e.value)),
        ])
    };
    list_or_null(found.iter().map(one).collect())
}

/// What the known extensions say, with the values of absent ones.
pub(super) fn fields(found: &[Extension<'_>]) -> Parsed<Map> {
    const NULLS: [&str; 23] = [
        "SubjectKeyId",
        "AuthorityKeyId",
        "ExtKeyUsage",
        "UnknownExtKeyUsage",
        "UnhandledCriticalExtensions",
        "DNSNames",
        "EmailAddresses",
        "IPAddresses",
        "URIs",
        "OCSPServer",
        "IssuingCertificateURL",
        "CRLDistributionPoints",
        "PermittedDNSDomains",
        "ExcludedDNSDomains",
        "PermittedIPRanges",
        "ExcludedIPRanges",
        "PermittedEmailAddresses",
        "ExcludedEmailAddresses",
        "PermittedURIDomains",
        "ExcludedURIDomains",
        "PolicyIdentifiers",
        "Policies",
        "PolicyMappings",
    ];
    const ZEROS: [&str; 5] =
        ["KeyUsage", "MaxPathLen", "InhibitAnyPolicy", "InhibitPolicyMapping", "RequireExplicitPolicy"];
    const FALSES: [&str; 7] = [
        "BasicConstraintsValid",
        "IsCA",
        "MaxPathLenZero",
        "PermittedDNSDomainsCritical",
        "InhibitAnyPolicyZero",
        "InhibitPolicyMappingZero",
        "RequireExplicitPolicyZero",
    ];
    let mut out = Map::new();
    for name in NULLS {
        out.insert(name, Value::Null);
    }
    for name in ZEROS {
        out.insert(name, number(0));
    }
    for name in FALSES {
        out.insert(name, Value::Bool(false));
    }
    let mut unhandled = Vec::new();
    for e in found {
        if !field(e, &mut out)? && e.critical {
            unhandled.push(oid_value(&e.id));
        }
    }
    out.insert("UnhandledCriticalExtensions", list_or_null(unhandled));
    Ok(out)
}

/// The names of a request's extensions.
pub(super) fn alternative_names(found: &[Extension<'_>]) -> Parsed<Map> {
    let mut out = Map::new();
    for name in ["DNSNames", "EmailAddresses", "IPAddresses", "URIs"] {
        out.insert(name, Value::Null);
    }
    for e in found.iter().filter(|e| e.id == [2, 5, 29, 17]) {
        subject_names(e.value, &mut out)?;
    }
    Ok(out)
}

/// Reads one extension into the fields; false when it is not understood.
fn field(e: &Extension<'_>, out: &mut Map) -> Parsed<bool> {
    let invalid = CertificateError::Invalid;
    let mut r = Reader(e.value);
    match e.id.as_slice() {
        [2, 5, 29, 14] => {
            if e.critical {
                return Err(CertificateError::Critical("subject key identifier"));
            }
            let id = r.tagged(der::OCTET_STRING).ok_or(invalid("subject key identifier"))?;
            out.insert("SubjectKeyId", bytes(id.body));
        }
        [2, 5, 29, 15] => {
            let (usage, length) =
                r.tagged(der::BIT_STRING).and_then(|e| der::bits(e.body).ok()).ok_or(invalid("key usage"))?;
            let set = |i: usize| usage.get(i / 8).is_some_and(|b| b >> (7 - i % 8) & 1 == 1);
            let bits: i64 = (0..length.min(9)).filter(|i| set(*i)).map(|i| 1 << i).sum();
            out.insert("KeyUsage", number(bits));
        }
        [2, 5, 29, 17] => return subject_names(e.value, out),
        [2, 5, 29, 19] => {
            basic_constraints(r, out).ok_or(invalid("basic constraints"))?;
        }
        [2, 5, 29, 30] => return name_constraints(e, out),
        [2, 5, 29, 31] => {
            out.insert("CRLDistributionPoints", list_or_null(crl_points(r)?));
        }
        [2, 5, 29, 32] => policies(r, out).ok_or(invalid("certificate policies"))?,
        [2, 5, 29, 33] => {
            let mappings = policy_mappings(r).ok_or(invalid("policy mappings extension"))?;
            out.insert("PolicyMappings", list_or_null(mappings));
        }
        [2, 5, 29, 35] => {
            if e.critical {
                return Err(CertificateError::Critical("authority key identifier"));
            }
            let all = r.tagged(der::SEQUENCE).ok_or(invalid("authority key identifier"))?;
            if let Some(id) = all.inside().optional(0x80).ok_or(invalid("authority key identifier"))? {
                out.insert("AuthorityKeyId", bytes(id.body));
            }
        }
        [2, 5, 29, 36] => {
            policy_constraints(r, out).ok_or(invalid("policy constraints extension"))?;
        }
        [2, 5, 29, 37] => {
            extended_usage(r, out).ok_or(invalid("extended key usages"))?;
        }
        [2, 5, 29, 54] => {
            let skip = r.tagged(der::INTEGER).and_then(|e| der::small(e.body));
            let skip = skip.ok_or(invalid("inhibit any policy extension"))?;
            out.insert("InhibitAnyPolicy", number(skip));
            out.insert("InhibitAnyPolicyZero", Value::Bool(skip == 0));
        }
        [1, 3, 6, 1, 5, 5, 7, 1, 1] => {
            if e.critical {
                return Err(CertificateError::Critical("authority info access"));
            }
            information_access(r, out).ok_or(invalid("authority info access"))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// A truth value that is false where it is absent.
fn flag(e: Option<Element<'_>>) -> Option<bool> {
    e.map_or(Some(false), |e| der::flag(e.body).ok())
}

fn basic_constraints(mut r: Reader<'_>, out: &mut Map) -> Option<()> {
    let mut r = r.tagged(der::SEQUENCE)?.inside();
    let is_ca = flag(r.optional(der::BOOLEAN)?)?;
    let length = match r.optional(der::INTEGER)? {
        Some(e) => der::small(e.body)?,
        None => -1,
    };
    out.insert("BasicConstraintsValid", Value::Bool(true));
    out.insert("IsCA", Value::Bool(is_ca));
    out.insert("MaxPathLen", number(length));
    out.insert("MaxPathLenZero", Value::Bool(length == 0));
    Some(())
}

fn crl_points(mut r: Reader<'_>) -> Parsed<Vec<Value>> {
    const POINTS: CertificateError = CertificateError::Invalid("CRL distribution points");
    const POINT: CertificateError = CertificateError::Invalid("CRL distribution point");
    let mut out = Vec::new();
    let mut points = r.tagged(der::SEQUENCE).ok_or(POINTS)?.inside();
    while !points.is_empty() {
        let mut point = points.tagged(der::SEQUENCE).ok_or(POINT)?.inside();
        let Some(name) = point.optional(0xa0).ok_or(POINT)? else { continue };
        let full = name.inside().tagged(0xa0).ok_or(POINT)?;
        let mut names = full.inside();
        while !names.is_empty() {
            // Names of another kind end the list.
            let Some(uri) = names.optional(0x86).ok_or(POINT)? else { break };
            out.push(lossy(uri.body).into());
        }
    }
    Ok(out)
}

fn policies(mut r: Reader<'_>, out: &mut Map) -> Option<()> {
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    let mut all = r.tagged(der::SEQUENCE)?.inside();
    while !all.is_empty() {
        let policy = all.tagged(der::SEQUENCE)?;
        let id = policy_arcs(policy.inside().tagged(der::OID)?.body)?;
        numbers.push(oid_value(&id));
        texts.push(dotted(&id));
    }
    out.insert("PolicyIdentifiers", list_or_null(numbers));
    out.insert("Policies", list_or_null(texts));
    Some(())
}

/// The arcs of a policy's identifier, which Go takes longer than those of others.
fn policy_arcs(body: &[u8]) -> Option<Vec<u64>> {
    let mut arcs = Vec::new();
    let mut arc = 0u64;
    for b in body {
        arc = arc.checked_mul(128)?.checked_add(u64::from(b & 0x7f))?;
        if b & 0x80 != 0 {
            continue;
        }
        if arcs.is_empty() {
            let first = (arc / 40).min(2);
            arcs.push(first);
            arc -= first * 40;
        }
        arcs.push(arc);
        arc = 0;
    }
    (body.last()? & 0x80 == 0).then_some(arcs)
}

fn dotted(id: &[u64]) -> Value {
    id.iter().map(u64::to_string).collect::<Vec<_>>().join(".").into()
}

fn policy_mappings(mut r: Reader<'_>) -> Option<Vec<Value>> {
    let mut out = Vec::new();
    let mut all = r.tagged(der::SEQUENCE)?.inside();
    while !all.is_empty() {
        let mut r = all.tagged(der::SEQUENCE)?.inside();
        let issuer = policy_arcs(r.tagged(der::OID)?.body)?;
        let subject = policy_arcs(r.tagged(der::OID)?.body)?;
        out.push(Value::map([
            ("IssuerDomainPolicy", dotted(&issuer)),
            ("SubjectDomainPolicy", dotted(&subject)),
        ]));
    }
    Some(out)
}

fn policy_constraints(mut r: Reader<'_>, out: &mut Map) -> Option<()> {
    let mut r = r.tagged(der::SEQUENCE)?.inside();
    for (tag, field, zero) in [
        (0x80, "RequireExplicitPolicy", "RequireExplicitPolicyZero"),
        (0x81, "InhibitPolicyMapping", "InhibitPolicyMappingZero"),
    ] {
        if let Some(e) = r.optional(tag)? {
            let skip = der::small(e.body)?;
            out.insert(field, number(skip));
            out.insert(zero, Value::Bool(skip == 0));
        }
    }
    Some(())
}

fn extended_usage(mut r: Reader<'_>, out: &mut Map) -> Option<()> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    let mut all = r.tagged(der::SEQUENCE)?.inside();
    while !all.is_empty() {
        let id = der::oid(all.tagged(der::OID)?.body).ok()?;
        let n = match id.as_slice() {
            [2, 5, 29, 37, 0] => 0,
            [1, 3, 6, 1, 5, 5, 7, 3, n @ 1..=9] => *n as i64,
            [1, 3, 6, 1, 4, 1, 311, 10, 3, 3] => 10,
            [2, 16, 840, 1, 113730, 4, 1] => 11,
            [1, 3, 6, 1, 4, 1, 311, 2, 1, 22] => 12,
            [1, 3, 6, 1, 4, 1, 311, 61, 1, 1] => 13,
            _ => {
                unknown.push(oid_value(&id));
                continue;
            }
        };
        known.push(number(n));
    }
    out.insert("ExtKeyUsage", list_or_null(known));
    out.insert("UnknownExtKeyUsage", list_or_null(unknown));
    Some(())
}

fn information_access(mut r: Reader<'_>, out: &mut Map) -> Option<()> {
    let (mut ocsp, mut issuers) = (Vec::new(), Vec::new());
    let mut all = r.tagged(der::SEQUENCE)?.inside();
    while !all.is_empty() {
        let mut r = all.tagged(der::SEQUENCE)?.inside();
        let method = der::oid(r.tagged(der::OID)?.body).ok()?;
        let Some(place) = r.optional(0x86)? else { continue };
        match method.as_slice() {
            [1, 3, 6, 1, 5, 5, 7, 48, 1] => ocsp.push(lossy(place.body).into()),
            [1, 3, 6, 1, 5, 5, 7, 48, 2] => issuers.push(lossy(place.body).into()),
            _ => {}
        }
    }
    out.insert("OCSPServer", list_or_null(ocsp));
    out.insert("IssuingCertificateURL", list_or_null(issuers));
    Some(())
}

fn ia5(e: Element<'_>) -> Option<&str> {
    std::str::from_utf8(e.body).ok().filter(|s| s.is_ascii())
}

/// Names of the subject; false when there is none that is understood.
fn subject_names(value: &[u8], out: &mut Map) -> Parsed<bool> {
    let all =
        Reader(value).tagged(der::SEQUENCE).ok_or(CertificateError::Invalid("subject alternative names"))?;
    let (mut dns, mut emails, mut addresses, mut uris) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut all = all.inside();
    while !all.is_empty() {
        let name = all.any().ok_or(CertificateError::Invalid("subject alternative name"))?;
        match name.tag ^ 0x80 {
            1 => emails.push(ia5(name).ok_or(CertificateError::AlternativeName("rfc822Name"))?.into()),
            2 => dns.push(ia5(name).ok_or(CertificateError::AlternativeName("dNSName"))?.into()),
            6 => {
                let uri = ia5(name).ok_or(CertificateError::AlternativeName("uniformResourceIdentifier"))?;
                let fields = url_fields(uri);
                uris.push(
                    fields
                        .map_err(|cause| CertificateError::Uri { uri: uri.into(), cause: Box::new(cause) })?,
                );
            }
            7 => {
                let length = name.body.len();
                addresses.push(address(name.body).ok_or(CertificateError::Address(length))?);
            }
            _ => {}
        }
    }
    let understood = !(dns.is_empty() && emails.is_empty() && addresses.is_empty() && uris.is_empty());
    out.insert("DNSNames", list_or_null(dns));
    out.insert("EmailAddresses", list_or_null(emails));
    out.insert("IPAddresses", list_or_null(addresses));
    out.insert("URIs", list_or_null(uris));
    Ok(understood)
}

fn address(b: &[u8]) -> Option<Value> {
    if let Ok(four) = <[u8; 4]>::try_from(b) {
        return Some(Ipv4Addr::from(four).to_string().into());
    }
    let six = Ipv6Addr::from(<[u8; 16]>::try_from(b).ok()?);
    Some(six.to_ipv4_mapped().map_or_else(|| six.to_string(), |four| four.to_string()).into())
}

fn split(url: &str) -> Parsed<UrlParts<'_>> {
    url::split(url).map_err(|why| CertificateError::Url { url: url.into(), why: why.to_string().into() })
}

/// A URI in the fields of Go's `url.URL`.
fn url_fields(uri: &str) -> Parsed<Value> {
    // Go parses what stands before a fragment first, and its error names no more than that.
    split(uri.split_once('#').map_or(uri, |(before, _)| before))?;
    let parts = split(uri)?;
    Ok(Value::map([
        ("Scheme", parts.scheme.to_ascii_lowercase().into()),
        ("Opaque", parts.opaque.into()),
        ("User", parts.user.map_or(Value::Null, |_| Value::Map(Map::new()))),
        ("Host", parts.host.into()),
        ("Path", parts.path.into()),
        ("RawPath", parts.raw_path.into()),
        ("OmitHost", Value::Bool(parts.omits_host)),
        ("ForceQuery", Value::Bool(parts.query == Some(""))),
        ("RawQuery", parts.query.unwrap_or_default().into()),
        ("Fragment", parts.fragment.into()),
        ("RawFragment", parts.raw_fragment.into()),
    ]))
}

/// Name constraints; false when some kind of name is not understood.
fn name_constraints(e: &Extension<'_>, out: &mut Map) -> Parsed<bool> {
    const INVALID: CertificateError = CertificateError::Invalid("NameConstraints extension");
    let all = Reader(e.value).tagged(der::SEQUENCE).ok_or(INVALID)?;
    let mut rest = all.inside();
    let permitted = rest.optional(0xa0).ok_or(INVALID)?;
    let excluded = rest.optional(0xa1).ok_or(INVALID)?;
    if all.inside().is_empty() || !rest.is_empty() {
        return Err(INVALID);
    }
    let mut understood = true;
    let kinds = [("Permitted", permitted), ("Excluded", excluded)];
    for (kind, trees) in kinds.into_iter().filter_map(|(kind, trees)| Some((kind, trees?))) {
        let (mut dns, mut ranges, mut emails, mut uris) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut trees = trees.inside();
        while !trees.is_empty() {
            let tree = trees.tagged(der::SEQUENCE).ok_or(INVALID)?;
            let base = tree.inside().any().ok_or(INVALID)?;
            let text = || ia5(base).map(Value::from).ok_or(INVALID);
            match base.tag {
                0x81 => emails.push(text()?),
                0x82 => dns.push(text()?),
                0x86 => uris.push(text()?),
                0x87 => ranges.push(address_range(base.body)?),
                _ => understood = false,
            }
        }
        for (field, items) in
            [("DNSDomains", dns), ("IPRanges", ranges), ("EmailAddresses", emails), ("URIDomains", uris)]
        {
            out.insert(Str::from(format!("{kind}{field}")), list_or_null(items));
        }
    }
    out.insert("PermittedDNSDomainsCritical", Value::Bool(e.critical));
    Ok(understood)
}

fn address_range(b: &[u8]) -> Parsed<Value> {
    let wrong = CertificateError::AddressRange(b.len());
    if !matches!(b.len(), 8 | 32) {
        return Err(wrong);
    }
    let (ip, mask) = b.split_at(b.len() / 2);
    Ok(Value::map([("IP", address(ip).ok_or(wrong)?), ("Mask", bytes(mask))]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_to_their_end() {
        // A list whose only item is cut, and one whose item is of another kind.
        for value in [&[0x30, 2, 6, 9][..], &[0x30, 2, 5, 0]] {
            for id in [&[2, 5, 29, 32][..], &[2, 5, 29, 33], &[2, 5, 29, 37], &[1, 3, 6, 1, 5, 5, 7, 1, 1]] {
                let extension = Extension { id: id.to_vec(), critical: false, value };
                assert!(field(&extension, &mut Map::new()).is_err(), "{id:?}");
            }
        }
        let names = Extension { id: vec![2, 5, 29, 30], critical: true, value: &[0x30, 4, 0xa0, 2, 0x30, 9] };
        assert!(field(&names, &mut Map::new()).is_err());
    }

    #[test]
    fn texts_of_wrong_addresses_are_those_of_go() {
        let error = |uri: &str| url_fields(uri).unwrap_err().to_string();
        assert_eq!(
            error("ht|ps://example.com#c"),
            "parse \"ht|ps://example.com\": first path segment in URL cannot contain colon"
        );
        assert_eq!(
            error("https://example.com#%zz"),
            "parse \"https://example.com#%zz\": invalid URL escape \"%zz\""
        );
        // A distribution point has a full name, whatever the bytes of its addresses are.
        assert_eq!(
            crl_points(Reader(&[0x30, 9, 0x30, 7, 0xa0, 5, 0xa0, 3, 0x86, 1, 0xff])),
            Ok(vec!["\u{fffd}".into()])
        );
        assert!(crl_points(Reader(&[0x30, 6, 0x30, 4, 0xa0, 2, 0xa1, 0])).is_err());
    }
}
