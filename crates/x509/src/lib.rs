//! X.509: certificates and certificate requests, DER and PEM.
//!
//! In: text with PEM blocks, or DER. Out: an object with the field names and shapes of Go's
//! `crypto/x509` structures, as Kyverno 1.19.1 shows them: bytes as base64, object identifiers as
//! lists of numbers, the serial number as a double ([`decode`], RSA keys only); elements of DER
//! ([`der`]); contents of PEM blocks.
//!
//! - `asn1`: DER as Go's `encoding/asn1` reads it into typed structures, with its error texts
//! - `certificate`: certificates
//! - [`der`]: DER, the encoding of certificates: the one reader of its elements, and their writer
//! - `error`: what is wrong with a certificate or a request, in the words of Go's `crypto/x509` and
//!   `encoding/asn1`
//! - `extensions`: extensions of certificates
//! - `keys`: public keys and signature algorithms
//! - `names`: distinguished names, strings and times of certificates
//! - `pem`: the text armour of certificates
//! - `request`: certificate requests
#![forbid(unsafe_code)]

mod asn1;
mod certificate;
pub mod der;
mod error;
mod extensions;
mod keys;
mod names;
mod pem;
mod request;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use ephor_value::Value;

pub use error::{CertificateError, TagMismatch};

type Parsed<T> = Result<T, CertificateError>;

/// The fields of the first PEM block of a text.
///
/// # Errors
/// There is no block, or it is no certificate or request that Kyverno 1.19.1 reads.
pub fn decode(text: &str) -> Result<Value, CertificateError> {
    let block = pem::first_block(text).ok_or(CertificateError::NoBlock)?;
    let fields = match block.kind {
        "CERTIFICATE" => certificate::decode(&block.bytes),
        "CERTIFICATE REQUEST" => request::decode(&block.bytes),
        _ => Err(CertificateError::OtherBlock),
    };
    fields.map(Value::Map)
}

/// The low 64 bits of a certificate's serial number.
pub fn low_serial(text: &str) -> Option<i64> {
    certificate::low_serial(&pem::first_block(text)?.bytes)
}

fn bytes(b: &[u8]) -> Value {
    STANDARD.encode(b).into()
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

/// Whether a text holds a well-formed block of a kind, such as `PUBLIC KEY`.
pub fn pem_holds(text: &str, kind: &str) -> bool {
    pem::first_block(text).is_some_and(|block| block.kind == kind)
}

/// Whether bytes are a certificate as Go reads it, of any kind of key.
///
/// # Errors
/// What is wrong with it, as Go says it.
pub fn check_certificate(der: &[u8]) -> Result<(), CertificateError> {
    match certificate::decode(der) {
        Err(why) if why != CertificateError::NotRsa => Err(why),
        _ => Ok(()),
    }
}

/// Whether the first block of a text is a certificate that can be read, of any kind of key.
pub fn is_certificate(text: &str) -> bool {
    pem::first_block(text).is_some_and(|block| {
        block.kind == "CERTIFICATE"
            && certificate::decode(&block.bytes)
                .err()
                .is_none_or(|e| e != CertificateError::Malformed("certificate"))
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

/// The contents of the blocks that a text consists of, whatever their kind; `None` where something
/// else follows one.
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
