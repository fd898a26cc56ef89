//! The expected texts are those of `go-cose` 1.3.0 for the same headers.
#![allow(clippy::unwrap_used)]

use ciborium::Value as Cbor;

use super::{Fields, protected, unprotected};

fn text(text: &str) -> Cbor {
    Cbor::Text(text.into())
}

fn encoded(fields: Fields) -> Cbor {
    let mut bytes = Vec::new();
    ciborium::into_writer(&Cbor::Map(fields), &mut bytes).unwrap();
    Cbor::Bytes(bytes)
}

/// What is reported of a header with this label and value among those that are signed, and among
/// the others.
fn said(label: impl Into<Cbor>, value: impl Into<Cbor>) -> [Result<(), String>; 2] {
    let fields = vec![(text("before"), Cbor::Null), (label.into(), value.into())];
    [protected(&encoded(fields.clone())), unprotected(Cbor::Map(fields))]
        .map(|read| read.map(drop).map_err(|e| e.to_string()))
}

/// Both are refused with this text.
#[track_caller]
fn refused(label: impl Into<Cbor>, value: impl Into<Cbor>, why: &str) {
    let parameter = |kind: &str| match why.starts_with("cbor: ") {
        true => Err(format!("cbor: invalid {kind} header: {why}")),
        false => Err(format!("cbor: invalid {kind} header: {kind} header: header parameter: {why}")),
    };
    assert_eq!(said(label, value), [parameter("protected"), parameter("unprotected")]);
}

#[test]
fn labels_are_numbers_of_64_bits_or_texts() {
    assert_eq!(said(99, "x"), [Ok(()), Ok(())]);
    assert_eq!(said("own", Cbor::Tag(99, Box::new(Cbor::Null))), [Ok(()), Ok(())]);
    refused(Cbor::Bytes(vec![1]), "x", "cbor: header label: require int / tstr type");
    refused(1.5, "x", "cbor: header label: require int / tstr type");
    refused(
        u64::MAX,
        "x",
        "cbor: cannot unmarshal positive integer into Go value of type int64 (18446744073709551615 overflows Go's int64)",
    );
    let low = ciborium::value::Integer::try_from(-9_223_372_036_854_775_809_i128).unwrap();
    refused(low, "x", "cbor: header label: int key must not be higher than 1<<63 - 1");
}

#[test]
fn a_label_occurs_once() {
    refused("before", "x", "cbor: found duplicate map key \"before\" at map element index 1");
    let twice = vec![(Cbor::from(33), Cbor::Null), (Cbor::from(33), Cbor::Null)];
    assert_eq!(
        unprotected(Cbor::Map(twice)).map_err(|e| e.to_string()),
        Err("cbor: invalid unprotected header: cbor: found duplicate map key \"33\" at map element index 1"
            .into())
    );
}

#[test]
fn known_parameters_have_their_type() {
    for (label, name) in [(4, "kid"), (5, "IV"), (6, "Partial IV")] {
        assert_eq!(said(label, Cbor::Bytes(Vec::new())), [Ok(()), Ok(())]);
        refused(label, "x", &format!("{name}: require bstr type"));
    }
    assert_eq!(said(1, "ES256"), [Ok(()), Ok(())]);
    assert_eq!(said(1, 12_345), [Ok(()), Ok(())]);
    refused(1, Cbor::Bytes(Vec::new()), "alg: require int / tstr type");
    for (label, name) in [(3, "content type"), (16, "type")] {
        assert_eq!(said(label, "a/b"), [Ok(()), Ok(())]);
        assert_eq!(said(label, 99_999), [Ok(()), Ok(())]);
        for wrong in ["x", "x/y/z"] {
            refused(label, wrong, &format!("{name}: require text of form type/subtype"));
        }
        refused(label, "", &format!("{name}: require non-empty string"));
        refused(label, " x/y", &format!("{name}: require no leading/trailing whitespace"));
        refused(label, -1, &format!("{name}: require tstr / uint type"));
        refused(label, Cbor::Bytes(Vec::new()), &format!("{name}: require tstr / uint type"));
    }
    let both = vec![(Cbor::from(5), Cbor::Bytes(vec![1])), (Cbor::from(6), Cbor::Bytes(vec![1]))];
    assert_eq!(
        unprotected(Cbor::Map(both)).map_err(|e| e.to_string()),
        Err("cbor: invalid unprotected header: unprotected header: header parameter: IV and PartialIV: parameters must not both be present".into())
    );
}

#[test]
fn some_parameters_are_signed_and_others_never() {
    let signed = said(9, Cbor::Bytes(vec![1]));
    let why =
        "cbor: invalid protected header: protected header: header parameter: countersignature0: not allowed";
    assert_eq!(signed, [Err(why.into()), Ok(())]);
    let [signed, other] = said(7, "x");
    let why =
        "cbor: invalid protected header: protected header: header parameter: counter signature: not allowed";
    assert_eq!(signed, Err(why.into()));
    let why = "cbor: invalid unprotected header: invalid Countersignature object / list of objects";
    assert_eq!(other, Err(why.into()));
    let [signed, other] = said(2, Cbor::Array(vec![text("before")]));
    assert_eq!(signed, Ok(()));
    let why = "cbor: invalid unprotected header: unprotected header: header parameter: crit: not allowed";
    assert_eq!(other, Err(why.into()));
}

#[test]
fn critical_headers_are_there() {
    let of = |value: Cbor| {
        let prefix = "cbor: invalid protected header: protected header: header parameter: crit: ";
        let [signed, _] = said(2, value);
        signed.map_err(|why| why.strip_prefix(prefix).unwrap().to_owned())
    };
    assert_eq!(of(Cbor::Array(vec![text("before"), Cbor::from(2)])), Ok(()));
    assert_eq!(of(Cbor::Array(Vec::new())), Err("empty crit header".into()));
    assert_eq!(of(text("x")), Err("invalid crit header".into()));
    assert_eq!(of(Cbor::Array(vec![text("absent")])), Err("missing critical header: absent".into()));
    assert_eq!(of(Cbor::Array(vec![Cbor::from(99)])), Err("missing critical header: 99".into()));
    let why = "require int / tstr type, got 'bool': true";
    assert_eq!(of(Cbor::Array(vec![Cbor::Bool(true)])), Err(why.into()));
}

#[test]
fn signed_headers_are_one_map_in_bytes() {
    let why = |encoded: &Cbor| protected(encoded).map(drop).unwrap_err().to_string();
    assert_eq!(protected(&Cbor::Bytes(Vec::new())), Ok(Fields::new()));
    assert_eq!(why(&Cbor::Null), "cbor: invalid protected header: cbor: nil protected header");
    assert_eq!(why(&text("x")), "cbor: invalid protected header: cbor: require bstr type");
    let map = "cbor: invalid protected header: cbor: protected header: require map type";
    assert_eq!(why(&Cbor::Bytes(vec![0x80])), map);
    let more = "cbor: invalid protected header: cbor: 1 bytes of extraneous data starting at index 1";
    assert_eq!(why(&Cbor::Bytes(vec![0xa0, 0])), more);
    let list = "cbor: invalid unprotected header: cbor: unprotected header: require map type";
    assert_eq!(unprotected(Cbor::Array(Vec::new())).map_err(|e| e.to_string()), Err(list.into()));
}

#[test]
fn many_headers_take_no_longer_than_they_are_long() {
    let many: Fields = (100..200_100).map(|label| (Cbor::from(label), Cbor::Null)).collect();
    let all: Vec<Cbor> = many.iter().map(|(label, _)| label.clone()).collect();
    let fields = [vec![(Cbor::from(2), Cbor::Array(all))], many].concat();
    assert!(protected(&encoded(fields)).is_ok());
}
