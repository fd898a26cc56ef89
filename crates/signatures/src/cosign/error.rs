//! Why a signature or a statement does not count, in Kyverno's words.

use crate::content;
use crate::public_key;
use crate::timestamp;

/// What is wrong with a signature, a statement or the moment of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CosignError {
    /// Base64 or JSON that is none.
    #[error(transparent)]
    Content(#[from] content::ContentError),
    /// A signature that the key has not computed.
    #[error(transparent)]
    Signature(#[from] public_key::PublicKeyError),
    /// A signature of another image's digest.
    #[error("invalid or missing digest in claim: {0}")]
    Digest(Box<str>),
    /// An envelope that holds no statement.
    #[error("invalid payloadType {0} on envelope. Expected application/vnd.in-toto+json")]
    PayloadType(Box<str>),
    /// An envelope whose payload is no base64.
    #[error("unable to base64 decode payload (is payload in the right format?)")]
    Payload,
    /// An envelope without signatures.
    #[error("no signatures found")]
    NoSignatures,
    /// An envelope without a signature of the key.
    #[error("accepted signatures do not match threshold, Found: 0, Expected 1")]
    Threshold,
    /// A statement about other digests.
    #[error("no matching subject digest found")]
    Subject,
    /// A timestamp that is no JSON.
    #[error("unmarshaling RFC3161 timestamp bundle: {0}")]
    TimestampBundle(#[source] content::ContentError),
    /// A timestamp that does not count.
    #[error("unable to verify RFC3161 timestamp bundle: {0}")]
    Timestamp(#[from] timestamp::TimestampError),
    /// A certificate that was issued after it signed.
    #[error(
        "checking expiry on certificate with {what}: certificate was issued after observed time: {from} is after {at}"
    )]
    IssuedLater {
        /// What states the moment.
        what: &'static str,
        /// The first second of the certificate.
        from: Box<str>,
        /// The moment.
        at: Box<str>,
    },
    /// A certificate that expired before it signed.
    #[error(
        "checking expiry on certificate with {what}: certificate expired before observed time: {until} is before {at}"
    )]
    ExpiredBefore {
        /// What states the moment.
        what: &'static str,
        /// The last second of the certificate.
        until: Box<str>,
        /// The moment.
        at: Box<str>,
    },
    /// A certificate that is not valid now, and nothing states when it signed.
    #[error("expected a signed timestamp to verify an expired certificate")]
    NoMoment,
}

/// What a certificate says instead of what is required.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// A required pattern that is none.
    #[error("invalid regexp for {what}: {pattern} : {cause}")]
    Pattern {
        /// What it is for.
        what: &'static str,
        /// The pattern.
        pattern: Box<str>,
        /// What is wrong with it.
        #[source]
        cause: ephor_functions::go_syntax::RegexError,
    },
    /// Another subject.
    #[error("subject mismatch: expected {expected}, received {found}")]
    Subject {
        /// The required one.
        expected: Box<str>,
        /// Those of the certificate.
        found: Box<str>,
    },
    /// Another identity provider.
    #[error("issuer mismatch: expected {expected}, received {found}")]
    Issuer {
        /// The required one.
        expected: Box<str>,
        /// The one of the certificate.
        found: Box<str>,
    },
    /// A required fact that no certificate has.
    #[error("invalid certificate extension {0}")]
    UnknownFact(Box<str>),
    /// Another fact.
    #[error("extension mismatch: expected {expected} for key {key}, received {found}")]
    Fact {
        /// Its name.
        key: Box<str>,
        /// The required one.
        expected: Box<str>,
        /// The one of the certificate.
        found: Box<str>,
    },
}
