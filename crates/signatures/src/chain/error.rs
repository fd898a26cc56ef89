//! What is wrong with a certificate or a chain, in Kyverno's words. Subjects are quoted.

use crate::path::NoPath;

/// Why a certificate does not carry the signature of a key, in the words of Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSigned {
    /// The key's certificate may not issue others.
    #[error("x509: invalid signature: parent certificate cannot sign this kind of certificate")]
    CannotSign,
    /// An algorithm or a key that is not known.
    #[error("x509: cannot verify signature: algorithm unimplemented")]
    UnknownAlgorithm,
    /// An algorithm that is not accepted any more.
    #[error("x509: cannot verify signature: insecure algorithm SHA1-RSA")]
    InsecureAlgorithm,
    /// A key of another kind than the algorithm's.
    #[error(
        "x509: signature algorithm specifies an {family} public key, but have public key of type {found}"
    )]
    OtherKey {
        /// The kind of the algorithm.
        family: &'static str,
        /// Go's type of the key.
        found: &'static str,
    },
    /// A signature that an RSA key has not computed.
    #[error("crypto/rsa: verification error")]
    Rsa,
    /// A signature that a key of another kind has not computed.
    #[error("x509: {0} verification failure")]
    Other(&'static str),
}

/// What the Notary Project wants of one certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// A leaf that may issue certificates.
    #[error("if the basic constraints extension is present, the ca field must be set to false")]
    LeafIsIssuer,
    /// No use of the key is stated.
    #[error("key usage extension must be present")]
    NoUsage,
    /// The use of the key is stated, and may be ignored.
    #[error("key usage extension must be marked critical")]
    UsageNotCritical,
    /// A signer's key is for something else too.
    #[error("extended key usage must not contain {0} eku")]
    OtherPurpose(&'static str),
    /// The key of a timestamp authority is for something else.
    #[error("must have and only have Timestamping as extended key usage")]
    NotForTimestamps,
    /// What the key is for is stated, and may be ignored.
    #[error("extended key usage extension must be marked critical")]
    PurposeNotCritical,
    /// A kind of key that is not accepted.
    #[error("unsupported public key type")]
    KeyType,
    /// An RSA key of too few bits.
    #[error("rsa key size {0} bits is not supported")]
    ShortKey(usize),
    /// An issuer that may not issue.
    #[error("ca field in basic constraints must be present, critical, and set to true")]
    NotIssuer,
    /// An issuer with more certificates below than it allows.
    #[error("expected path length of {below} but certificate has path length {most} instead")]
    PathLength {
        /// How many are below.
        below: u32,
        /// How many may be.
        most: u32,
    },
    /// An issuer whose key is not for certificates.
    #[error("key usage must have the bit positions for key cert sign set")]
    NoCertSign,
}

/// Why a chain is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateChainError {
    /// A chain without certificates.
    #[error("certificate chain must contain at least one certificate")]
    Empty,
    /// The only certificate of a chain did not sign itself.
    #[error("invalid self-signed certificate. subject: {subject}. Error: {cause}")]
    SelfSigned {
        /// Whom it names.
        subject: Box<str>,
        /// Why not.
        #[source]
        cause: NotSigned,
    },
    /// The last certificate of a chain is no root.
    #[error(
        "root certificate with subject {subject} is invalid or not self-signed. Certificate chain must end with a valid self-signed root certificate. Error: {cause}"
    )]
    Root {
        /// Whom it names.
        subject: Box<str>,
        /// Why not.
        #[source]
        cause: NotSigned,
    },
    /// A certificate before the last one is a root.
    #[error(
        "{place} certificate with subject {subject} is self-signed. Certificate chain must not contain self-signed {place} certificate"
    )]
    EarlyRoot {
        /// `leaf` or `intermediate`.
        place: &'static str,
        /// Whom it names.
        subject: Box<str>,
    },
    /// A certificate that the next one did not sign.
    #[error(
        "invalid certificates or certificate with subject {subject} is not issued by {issuer}. Error: {cause}"
    )]
    NotSigned {
        /// Whom it names.
        subject: Box<str>,
        /// Whom the next one names.
        issuer: Box<str>,
        /// Why not.
        #[source]
        cause: NotSigned,
    },
    /// A certificate that names another issuer than the next one.
    #[error("certificate with subject {subject} is not issued by {issuer}")]
    OtherIssuer {
        /// Whom it names.
        subject: Box<str>,
        /// Whom the next one names.
        issuer: Box<str>,
    },
    /// A certificate that does not follow a rule.
    #[error("certificate with subject {subject}: {rule}")]
    Rule {
        /// Whom it names.
        subject: Box<str>,
        /// The rule.
        #[source]
        rule: Rule,
    },
    /// A leaf whose key is not for signatures.
    #[error(
        "the certificate with subject {0} is invalid. The key usage must have the bit positions for \"Digital Signature\" set"
    )]
    NotForSignatures(Box<str>),
    /// A leaf whose key is for more than signatures.
    #[error(
        "the certificate with subject {subject} is invalid. The key usage must be \"Digital Signature\" only, but found {more}"
    )]
    MoreThanSignatures {
        /// Whom it names.
        subject: Box<str>,
        /// The other uses, quoted.
        more: Box<str>,
    },
    /// No path by the rules of all paths.
    #[error("certificate-chain is invalid, {0}")]
    Path(#[from] NoPath),
}

/// A moment that a certificate's validity does not cover.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCovered {
    /// It is before.
    #[error("{what} is before certificate {subject} validity period, it will be valid from {from}")]
    Before {
        /// What the moment is.
        what: &'static str,
        /// Whom the certificate names.
        subject: Box<str>,
        /// The first second, quoted.
        from: Box<str>,
    },
    /// It is after.
    #[error("{what} is after certificate {subject} validity period, it was expired at {until}")]
    After {
        /// What the moment is.
        what: &'static str,
        /// Whom the certificate names.
        subject: Box<str>,
        /// The last second, quoted.
        until: Box<str>,
    },
}

/// Why a certificate is not the one of a timestamp authority, in the words of `cosign`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTsa {
    /// It may issue certificates.
    #[error("failed to verify TSA certificate: certificate of an authority cannot sign timestamps")]
    Issuer,
    /// What its key is for is not stated, or may be ignored.
    #[error("failed to verify TSA certificate: certificate must set EKU to critical")]
    NotCritical,
    /// Its key is for nothing or for several things.
    #[error(
        "failed to verify EKU on leaf certificate: failed to verify EKU on leaf certificate: certificate has {0} extended key usages, expected only one"
    )]
    Purposes(usize),
    /// Its key is for something else.
    #[error(
        "failed to verify EKU on leaf certificate: failed to verify EKU on leaf certificate: certificate must have extended key usage timestamping set"
    )]
    OtherPurpose,
}
