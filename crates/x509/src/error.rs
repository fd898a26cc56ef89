//! What is wrong with a certificate or a request, in the words of Go's `crypto/x509` and
//! `encoding/asn1`.

use super::der;
use ephor_value::quote::quote;

/// See the module page. Parts are named as Go names them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A text without a PEM block.
    #[error("failed to decode PEM block")]
    NoBlock,
    /// A PEM block of another kind.
    #[error("PEM block neither contains a CERTIFICATE or CERTIFICATE REQUEST")]
    OtherBlock,
    /// A key that is no RSA key: everything else was read.
    #[error("certificate should use rsa algorithm")]
    NotRsa,
    /// Bytes that are no DER.
    #[error(transparent)]
    Der(#[from] der::DerError),
    /// A field of a request that has another type.
    #[error(transparent)]
    Tag(Box<TagMismatch>),
    /// An item of a list in a request that has another type than the list's.
    #[error("asn1: structure error: sequence tag mismatch")]
    ItemTag,
    /// Bytes after a request.
    #[error("asn1: syntax error: trailing data")]
    RequestTrailing,
    /// A text of a request with bytes that its type does not have.
    #[error("asn1: syntax error: {kind} contains invalid character")]
    Character {
        /// The type; empty where Go names none.
        kind: &'static str,
    },
    /// A text of a request that is no UTF-8.
    #[error("asn1: invalid UTF-8 string")]
    Utf8,
    /// A text of a type, by the name of the type, with bytes that the type does not have.
    #[error("invalid {0}")]
    Text(&'static str),
    /// A text of a type that is not read.
    #[error("unsupported string type: {0}")]
    TextType(u8),
    /// A part of a certificate that is not encoded as it must be.
    #[error("x509: malformed {0}")]
    Malformed(&'static str),
    /// A part of a certificate whose content is not as it must be.
    #[error("x509: invalid {0}")]
    Invalid(&'static str),
    /// The value of a part of a name.
    #[error("x509: invalid RDNSequence: invalid attribute value: {0}")]
    NameText(#[source] Box<CertificateError>),
    /// A serial number below zero.
    #[error("x509: negative serial number")]
    NegativeSerial,
    /// Two algorithms of the signature that are not the same.
    #[error("x509: inner and outer signature algorithm identifiers don't match")]
    TwoAlgorithms,
    /// Bytes after a certificate.
    #[error("x509: trailing data")]
    Trailing,
    /// An RSA key whose algorithm has other parameters than NULL.
    #[error("x509: RSA key missing NULL parameters")]
    RsaParameters,
    /// A number of an RSA key that is not above zero.
    #[error("x509: RSA {0} is not a positive number")]
    RsaSign(&'static str),
    /// A time of another type.
    #[error("x509: unsupported time format")]
    TimeType,
    /// An extension that a certificate has twice.
    #[error("x509: certificate contains duplicate extensions")]
    Duplicate,
    /// An extension that a request has twice.
    #[error("x509: certificate request contains duplicate requested extensions")]
    RequestDuplicate,
    /// An extension that may not be critical.
    #[error("x509: {0} incorrectly marked critical")]
    Critical(&'static str),
    /// An alternative name, by its kind, that is no text.
    #[error("x509: SAN {0} is malformed")]
    AlternativeName(&'static str),
    /// An alternative name that is no URI.
    #[error("x509: cannot parse URI {}: {cause}", quote(.uri))]
    Uri {
        /// The name.
        uri: Box<str>,
        /// What is wrong with it.
        #[source]
        cause: Box<CertificateError>,
    },
    /// A text that is no URL.
    #[error("parse {}: {why}", quote(.url))]
    Url {
        /// The text.
        url: Box<str>,
        /// The text of the parser of URLs.
        why: Box<str>,
    },
    /// An alternative name that is no address.
    #[error("x509: cannot parse IP address of length {0}")]
    Address(usize),
    /// A name constraint that is no range of addresses.
    #[error("x509: IP constraint contained value of length {0}")]
    AddressRange(usize),
}

/// A field that has another type than Go's structure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "asn1: structure error: tags don't match ({wanted} vs {{class:{class} tag:{number} length:{length} \
     isCompound:{compound}}}) {{optional:false explicit:false application:false private:false defaultValue:<nil> \
     tag:{own} stringType:0 timeType:0 set:{set} omitEmpty:false}} {name} @{at}"
)]
pub struct TagMismatch {
    /// The number of the tag that the field must have.
    pub(super) wanted: u8,
    /// The class that it has.
    pub(super) class: u8,
    /// The number that it has.
    pub(super) number: u64,
    /// The length of its content.
    pub(super) length: usize,
    /// Whether it is constructed.
    pub(super) compound: bool,
    /// Where Go keeps the tag of a context, which is another place each time; it is not shown.
    pub(super) own: &'static str,
    /// Whether the field is a set.
    pub(super) set: bool,
    /// The name of the field's type.
    pub(super) name: &'static str,
    /// Where in the structure.
    pub(super) at: usize,
}
