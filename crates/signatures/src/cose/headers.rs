//! Headers of COSE: maps whose labels occur once and whose known parameters have the type that they
//! must have.
//!
//! In: a map of headers. Out: its fields, or what is wrong with the first that is not as it must
//! be. Semantics: RFC 9052, sections 1.5 and 3.1, and the texts of `go-cose` 1.3, through which
//! Kyverno reads envelopes.

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

/// Why headers are not as they must be, in the words of `go-cose`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeadersError {
    /// Those that are signed.
    #[error("cbor: invalid protected header: {0}")]
    Protected(#[source] Wrong),
    /// The others.
    #[error("cbor: invalid unprotected header: {0}")]
    Unprotected(#[source] Wrong),
}

/// Bytes that are no CBOR, or hold more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// They end too early.
    #[error("unexpected EOF")]
    Truncated,
    /// This many bytes follow.
    #[error("cbor: {more} bytes of extraneous data starting at index {at}")]
    More {
        /// How many.
        more: usize,
        /// Where they begin.
        at: usize,
    },
}

/// What is wrong with headers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Wrong {
    /// Null where bytes must be.
    #[error("cbor: nil protected header")]
    Nil,
    /// Something else where bytes must be.
    #[error("cbor: require bstr type")]
    NotBytes,
    /// No map, of the headers that are named.
    #[error("cbor: {0} header: require map type")]
    NotMap(&'static str),
    /// Bytes that are no CBOR.
    #[error(transparent)]
    Cbor(#[from] Malformed),
    /// A label above Go's numbers.
    #[error("cbor: cannot unmarshal positive integer into Go value of type int64 ({0} overflows Go's int64)")]
    LargeLabel(i128),
    /// A label below Go's numbers.
    #[error("cbor: header label: int key must not be higher than 1<<63 - 1")]
    SmallLabel,
    /// A label that is no number and no text.
    #[error("cbor: header label: require int / tstr type")]
    LabelType,
    /// A label that is there twice.
    #[error("cbor: found duplicate map key \"{label}\" at map element index {at}")]
    Duplicate {
        /// The label as Go prints it.
        label: Box<str>,
        /// Where it is for the second time.
        at: usize,
    },
    /// A parameter that is not as it must be.
    #[error("{kind} header: header parameter: {name}: {cause}")]
    Parameter {
        /// The headers that it is one of.
        kind: &'static str,
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        #[source]
        cause: ParameterError,
    },
    /// A countersignature that is none.
    #[error("invalid Countersignature object / list of objects")]
    Countersignature,
    /// Both vectors, of which there may be one.
    #[error("{0} header: header parameter: IV and PartialIV: parameters must not both be present")]
    TwoVectors(&'static str),
}

/// What is wrong with a parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParameterError {
    /// It is not for these headers.
    #[error("not allowed")]
    Place,
    /// It is no bytes.
    #[error("require bstr type")]
    NotBytes,
    /// It is no number and no text.
    #[error("require int / tstr type")]
    NotName,
    /// It is an empty text.
    #[error("require non-empty string")]
    EmptyMedia,
    /// It is a text with space around it.
    #[error("require no leading/trailing whitespace")]
    SpacedMedia,
    /// It is a text without the form of media types.
    #[error("require text of form type/subtype")]
    NoMedia,
    /// It is no text and no number.
    #[error("require tstr / uint type")]
    MediaType,
    /// It is no list of labels.
    #[error("invalid crit header")]
    NotCritical,
    /// It is an empty list of labels.
    #[error("empty crit header")]
    NoCritical,
    /// It names a header that is not there, as Go prints its label.
    #[error("missing critical header: {0}")]
    MissingCritical(Box<str>),
    /// It names a header by something else than a number or a text.
    #[error("require int / tstr type, got '{go}': {label}")]
    CriticalType {
        /// Go's type of the label.
        go: &'static str,
        /// The label as Go prints it.
        label: Box<str>,
    },
}

/// The headers that are signed, which are in bytes of their own.
///
/// # Errors
/// They are not as they must be.
pub fn protected(encoded: &Cbor) -> Result<Fields, HeadersError> {
    let read = || {
        let bytes = match encoded {
            Cbor::Bytes(bytes) if bytes.is_empty() => return Ok(Fields::new()),
            Cbor::Bytes(bytes) => &**bytes,
            Cbor::Null => return Err(Wrong::Nil),
            _ => return Err(Wrong::NotBytes),
        };
        if bytes.first().is_none_or(|first| first >> 5 != 5) {
            return Err(Wrong::NotMap("protected"));
        }
        let Cbor::Map(fields) = whole(bytes)? else { return Err(Malformed::Truncated.into()) };
        check(&fields, Place::Protected).map(|()| fields)
    };
    read().map_err(HeadersError::Protected)
}

/// The other headers.
///
/// # Errors
/// They are not as they must be.
pub fn unprotected(map: Cbor) -> Result<Fields, HeadersError> {
    let read = || {
        let Cbor::Map(fields) = map else { return Err(Wrong::NotMap("unprotected")) };
        check(&fields, Place::Unprotected).map(|()| fields)
    };
    read().map_err(HeadersError::Unprotected)
}

/// What bytes hold, which nothing follows.
///
/// # Errors
/// It is cut, or something follows.
pub fn whole(bytes: &[u8]) -> Result<Cbor, Malformed> {
    let mut rest = bytes;
    let read = ciborium::from_reader(&mut rest).map_err(|_| Malformed::Truncated)?;
    match rest.len() {
        0 => Ok(read),
        more => Err(Malformed::More { more, at: bytes.len() - more }),
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
fn labels(fields: &Fields) -> Result<BTreeSet<Label<'_>>, Wrong> {
    let mut all = BTreeSet::new();
    for (at, (label, _)) in fields.iter().enumerate() {
        let known = match label {
            Cbor::Text(text) => Err(&**text),
            Cbor::Integer(number) => Ok(i64::try_from(*number).map_err(|_| {
                let number = i128::from(*number);
                match number > 0 {
                    true => Wrong::LargeLabel(number),
                    false => Wrong::SmallLabel,
                }
            })?),
            _ => return Err(Wrong::LabelType),
        };
        if !all.insert(known) {
            return Err(Wrong::Duplicate { label: shown(label).into(), at });
        }
    }
    Ok(all)
}

fn check(fields: &Fields, place: Place) -> Result<(), Wrong> {
    let labels = labels(fields)?;
    let (kind, is_protected) = match place {
        Place::Protected => ("protected", true),
        _ => ("unprotected", false),
    };
    for (label, name, allowed, must) in PARAMETERS {
        let Some(value) = labelled(fields, label) else { continue };
        let wrong = |cause: ParameterError| Err(Wrong::Parameter { kind, name, cause });
        if allowed != Place::Both && (allowed == Place::Protected) != is_protected {
            return wrong(ParameterError::Place);
        }
        let is = match must {
            Kind::Bytes if value.is_bytes() => Ok(()),
            Kind::Bytes => Err(ParameterError::NotBytes),
            Kind::Name if value.is_integer() || value.is_text() => Ok(()),
            Kind::Name => Err(ParameterError::NotName),
            Kind::Media => media(value),
            Kind::Critical => critical(value, &labels),
            Kind::Countersignature if value.is_array() => Ok(()),
            Kind::Countersignature => return Err(Wrong::Countersignature),
        };
        is.or_else(wrong)?;
    }
    match labelled(fields, IV).is_some() && labelled(fields, PARTIAL_IV).is_some() {
        true => Err(Wrong::TwoVectors(kind)),
        false => Ok(()),
    }
}

/// Whether a value is a media type, or the number of one.
fn media(value: &Cbor) -> Result<(), ParameterError> {
    match value {
        Cbor::Integer(number) if i128::from(*number) >= 0 => Ok(()),
        Cbor::Text(text) if text.is_empty() => Err(ParameterError::EmptyMedia),
        Cbor::Text(text) if text.starts_with(' ') || text.ends_with(' ') => Err(ParameterError::SpacedMedia),
        Cbor::Text(text) if text.matches('/').count() != 1 => Err(ParameterError::NoMedia),
        Cbor::Text(_) => Ok(()),
        _ => Err(ParameterError::MediaType),
    }
}

/// Whether critical headers are there.
fn critical(value: &Cbor, labels: &BTreeSet<Label<'_>>) -> Result<(), ParameterError> {
    let Cbor::Array(all) = value else { return Err(ParameterError::NotCritical) };
    if all.is_empty() {
        return Err(ParameterError::NoCritical);
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
            return Err(ParameterError::MissingCritical(shown(label).into()));
        }
        if !go.is_empty() {
            return Err(ParameterError::CriticalType { go, label: shown(label).into() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
