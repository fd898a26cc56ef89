//! Headers of COSE: maps whose labels occur once and whose known parameters have the type that they must have.
//!
//! In: a map of headers. Out: its fields, or what is wrong with the first that is not as it must be. Semantics: RFC 9052,
//! sections 1.5 and 3.1, and the texts of `go-cose` 1.3, through which Kyverno reads envelopes.

use std::collections::BTreeSet;

use ciborium::Value as Cbor;

/// Labels and values.
pub type Fields = Vec<(Cbor, Cbor)>;

pub const ALGORITHM: i64 = 1;
pub const CRITICAL: i64 = 2;
pub const CONTENT_TYPE: i64 = 3;
const IV: i64 = 5;
const PARTIAL_IV: i64 = 6;

/// What a parameter must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bytes,
    Name,
    Media,
    Critical,
    Countersignature,
}

/// Where a parameter may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Both,
    Protected,
    Unprotected,
}

const PARAMETERS: [(i64, &str, Place, Kind); 11] = [
    (ALGORITHM, "alg", Place::Both, Kind::Name),
    (CRITICAL, "crit", Place::Protected, Kind::Critical),
    (CONTENT_TYPE, "content type", Place::Both, Kind::Media),
    (4, "kid", Place::Both, Kind::Bytes),
    (IV, "IV", Place::Both, Kind::Bytes),
    (PARTIAL_IV, "Partial IV", Place::Both, Kind::Bytes),
    (7, "counter signature", Place::Unprotected, Kind::Countersignature),
    (9, "countersignature0", Place::Unprotected, Kind::Bytes),
    (11, "Countersignature version 2", Place::Unprotected, Kind::Countersignature),
    (12, "Countersignature0 version 2", Place::Unprotected, Kind::Bytes),
    (16, "type", Place::Both, Kind::Media),
];

/// The value of a label.
pub fn labelled(fields: &Fields, label: i64) -> Option<&Cbor> {
    let is = |key: &Cbor| key.as_integer().is_some_and(|i| i128::from(i) == i128::from(label));
    fields.iter().find(|(key, _)| is(key)).map(|(_, value)| value)
}

/// The value of a name.
pub fn named<'f>(fields: &'f Fields, name: &str) -> Option<&'f Cbor> {
    fields.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
}

/// The headers that are signed, which are in bytes of their own.
///
/// # Errors
/// The text of `go-cose`.
pub fn protected(encoded: &Cbor) -> Result<Fields, String> {
    let read = || {
        let bytes = match encoded {
            Cbor::Bytes(bytes) if bytes.is_empty() => return Ok(Fields::new()),
            Cbor::Bytes(bytes) => &**bytes,
            Cbor::Null => return Err("cbor: nil protected header".into()),
            _ => return Err("cbor: require bstr type".into()),
        };
        if bytes.first().is_none_or(|first| first >> 5 != 5) {
            return Err("cbor: protected header: require map type".into());
        }
        let Cbor::Map(fields) = whole(bytes)? else { return Err("unexpected EOF".into()) };
        check(&fields, Place::Protected).map(|()| fields)
    };
    read().map_err(|e: String| format!("cbor: invalid protected header: {e}"))
}

/// The other headers.
///
/// # Errors
/// The text of `go-cose`.
pub fn unprotected(map: Cbor) -> Result<Fields, String> {
    let read = || {
        let Cbor::Map(fields) = map else { return Err("cbor: unprotected header: require map type".into()) };
        check(&fields, Place::Unprotected).map(|()| fields)
    };
    read().map_err(|e: String| format!("cbor: invalid unprotected header: {e}"))
}

/// What bytes hold, which nothing follows.
///
/// # Errors
/// The text of Kyverno's reader.
pub fn whole(bytes: &[u8]) -> Result<Cbor, String> {
    let mut rest = bytes;
    let read = ciborium::from_reader(&mut rest).map_err(|_| "unexpected EOF")?;
    match rest.len() {
        0 => Ok(read),
        more => {
            Err(format!("cbor: {more} bytes of extraneous data starting at index {}", bytes.len() - more))
        }
    }
}

/// A label as Go prints it.
fn shown(label: &Cbor) -> String {
    match label {
        Cbor::Text(text) => text.clone(),
        Cbor::Integer(number) => i128::from(*number).to_string(),
        Cbor::Null => "<nil>".into(),
        Cbor::Bool(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

/// A number or a text.
type Label<'f> = Result<i64, &'f str>;

/// All labels, none of which occurs twice.
fn labels(fields: &Fields) -> Result<BTreeSet<Label<'_>>, String> {
    let mut all = BTreeSet::new();
    for (at, (label, _)) in fields.iter().enumerate() {
        let known = match label {
            Cbor::Text(text) => Err(&**text),
            Cbor::Integer(number) => Ok(i64::try_from(*number).map_err(|_| {
                let number = i128::from(*number);
                match number > 0 {
                    true => format!(
                        "cbor: cannot unmarshal positive integer into Go value of type int64 ({number} overflows Go's int64)"
                    ),
                    false => "cbor: header label: int key must not be higher than 1<<63 - 1".to_owned(),
                }
            })?),
            _ => return Err("cbor: header label: require int / tstr type".into()),
        };
        if !all.insert(known) {
            let label = shown(label);
            return Err(format!("cbor: found duplicate map key \"{label}\" at map element index {at}"));
        }
    }
    Ok(all)
}

fn check(fields: &Fields, place: Place) -> Result<(), String> {
    let labels = labels(fields)?;
    let (kind, is_protected) = match place {
        Place::Protected => ("protected", true),
        _ => ("unprotected", false),
    };
    for (label, name, allowed, must) in PARAMETERS {
        let Some(value) = labelled(fields, label) else { continue };
        let wrong = |why: &str| Err(format!("{kind} header: header parameter: {name}: {why}"));
        if allowed != Place::Both && (allowed == Place::Protected) != is_protected {
            return wrong("not allowed");
        }
        let is = match must {
            Kind::Bytes if value.is_bytes() => Ok(()),
            Kind::Bytes => Err("require bstr type".into()),
            Kind::Name if value.is_integer() || value.is_text() => Ok(()),
            Kind::Name => Err("require int / tstr type".into()),
            Kind::Media => media(value).map_err(str::to_owned),
            Kind::Critical => critical(value, &labels),
            Kind::Countersignature if value.is_array() => Ok(()),
            Kind::Countersignature => {
                return Err("invalid Countersignature object / list of objects".into());
            }
        };
        is.or_else(|why| wrong(&why))?;
    }
    match labelled(fields, IV).is_some() && labelled(fields, PARTIAL_IV).is_some() {
        true => Err(format!(
            "{kind} header: header parameter: IV and PartialIV: parameters must not both be present"
        )),
        false => Ok(()),
    }
}

/// Whether a value is a media type, or the number of one.
fn media(value: &Cbor) -> Result<(), &'static str> {
    match value {
        Cbor::Integer(number) if i128::from(*number) >= 0 => Ok(()),
        Cbor::Text(text) if text.is_empty() => Err("require non-empty string"),
        Cbor::Text(text) if text.starts_with(' ') || text.ends_with(' ') => {
            Err("require no leading/trailing whitespace")
        }
        Cbor::Text(text) if text.matches('/').count() != 1 => Err("require text of form type/subtype"),
        Cbor::Text(_) => Ok(()),
        _ => Err("require tstr / uint type"),
    }
}

/// Whether critical headers are there.
fn critical(value: &Cbor, labels: &BTreeSet<Label<'_>>) -> Result<(), String> {
    let Cbor::Array(all) = value else { return Err("invalid crit header".into()) };
    if all.is_empty() {
        return Err("empty crit header".into());
    }
    for label in all {
        let (known, go) = match label {
            Cbor::Integer(number) => (i64::try_from(*number).is_ok_and(|n| labels.contains(&Ok(n))), ""),
            Cbor::Text(text) => (labels.contains(&Err(&**text)), ""),
            Cbor::Bool(_) => (true, "bool"),
            Cbor::Null => (true, "<nil>"),
            Cbor::Bytes(_) => (true, "[]uint8"),
            Cbor::Float(_) => (true, "float64"),
            Cbor::Array(_) => (true, "[]interface {}"),
            _ => (true, "map[interface {}]interface {}"),
        };
        if !known {
            return Err(format!("missing critical header: {}", shown(label)));
        }
        if !go.is_empty() {
            return Err(format!("require int / tstr type, got '{go}': {}", shown(label)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
