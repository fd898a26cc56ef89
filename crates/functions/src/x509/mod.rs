//! `x509_decode(pem)`: the fields of a certificate or certificate request.
//!
//! In: text with a PEM block. Out: an object with the field names and shapes of Go's `crypto/x509`
//! structures, as the reference shows them: bytes as base64, object identifiers as lists of numbers,
//! the serial number as a double. Only RSA keys are accepted.

mod asn1;
mod certificate;
pub mod der;
mod extensions;
mod keys;
mod names;
mod pem;
mod request;

use super::args::text;
use super::encode::base64_text;
use super::{Arg, Context};
use crate::value::{Fault, Map, Str, Value};

/// The reference's text for what is wrong with the encoding.
type Parsed<T> = Result<T, String>;

pub(super) fn x509_decode(_: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    let block = pem::first_block(text(args, 0)).ok_or_else(|| Fault::new("failed to decode PEM block"))?;
    let fields = match block.kind {
        "CERTIFICATE" => certificate::decode(&block.bytes),
        "CERTIFICATE REQUEST" => request::decode(&block.bytes),
        _ => Err("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST".to_string()),
    };
    fields.map(Value::Map).map_err(Fault::new)
}

/// The low 64 bits of a certificate's serial number.
pub(super) fn low_serial(text: &str) -> Option<i64> {
    certificate::low_serial(&pem::first_block(text)?.bytes)
}

fn bytes(b: &[u8]) -> Value {
    base64_text(b).into()
}

fn number(n: i64) -> Value {
    Value::Float(n as f64)
}

/// A list, or null when it is empty, as Go shows slices that were never set.
fn list_or_null(items: Vec<Value>) -> Value {
    if items.is_empty() { Value::Null } else { Value::list(items) }
}

fn oid_value(arcs: &[u64]) -> Value {
    Value::list(arcs.iter().map(|a| Value::Float(*a as f64)).collect())
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(Map::from_unique(fields.into_iter().map(|(k, v)| (Str::from(k), v)).collect()))
}

/// Whether a text holds a well-formed block of a kind, such as `PUBLIC KEY`.
pub fn pem_holds(text: &str, kind: &str) -> bool {
    pem::first_block(text).is_some_and(|block| block.kind == kind)
}

/// Whether bytes are a certificate as Go reads it, of any kind of key.
///
/// # Errors
/// Go's text of what is wrong with it.
pub fn check_certificate(der: &[u8]) -> Result<(), String> {
    match certificate::decode(der) {
        Err(why) if why != keys::NOT_RSA => Err(why),
        _ => Ok(()),
    }
}

/// Whether the first block of a text is a certificate that can be read, of any kind of key.
pub fn is_certificate(text: &str) -> bool {
    pem::first_block(text).is_some_and(|block| {
        block.kind == "CERTIFICATE"
            && certificate::decode(&block.bytes).err().is_none_or(|e| e != "x509: malformed certificate")
    })
}

/// The contents of all well-formed blocks of a kind in a text.
pub fn pem_blocks(text: &str, kind: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("-----BEGIN ") {
        let from = rest.get(at..).unwrap_or_default();
        if let Some(block) = pem::first_block(from).filter(|block| block.kind == kind) {
            found.push(block.bytes);
        }
        let Some((_, after)) = from.split_once("-----END ") else { break };
        rest = after;
    }
    found
}

/// The contents of the blocks that a text consists of, whatever their kind; `None` where something else follows one.
pub fn pem_all(text: &str) -> Option<Vec<Vec<u8>>> {
    let (mut found, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let block = pem::first_block(rest)?;
        found.push(block.bytes);
        rest = block.rest.trim();
    }
    Some(found)
}

/// The content of the first well-formed block of a text, if it is of a kind, such as `PUBLIC KEY`.
pub fn pem_block(text: &str, kind: &str) -> Option<Vec<u8>> {
    pem::first_block(text).filter(|block| block.kind == kind).map(|block| block.bytes)
}

#[cfg(test)]
mod tests {
    use super::super::{Arg, Context, call, find};
    use crate::value::Value;
    use std::borrow::Cow;

    #[test]
    fn damaged_certificates_are_errors() {
        let base = "-----BEGIN CERTIFICATE-----\nMIIBbjCCARWgAwIBAgIUfNpq+H9IIlMkzRYcJRfqwgc04w8w\n-----END CERTIFICATE-----\n";
        let decode = |pem: &str| {
            let arg = Arg::Value(Cow::Owned(Value::from(pem)));
            find("x509_decode").map(|f| call(f, &Context::default(), &[arg]).map_err(|e| e.to_string()))
        };
        assert!(matches!(decode(base), Some(Err(e)) if e == "x509: malformed certificate"));
        for cut in 0..base.len() {
            assert!(matches!(decode(&base[..cut]), Some(Err(_))));
        }
    }
}
