//! Why a timestamp does not count, in the words of `cosign` and Notary where they have words for
//! it.

use crate::certificates;
use crate::chain::{self, NotTsa};
use crate::cms;
use crate::path::NoPath;

/// Why certificates of timestamp authorities cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// No PEM where `cosign` wants a chain.
    #[error("error splitting tsa certificates: error during PEM decoding")]
    NotPem,
    /// A certificate of the chain that cannot be read.
    #[error("error splitting tsa certificates: {0}")]
    Member(#[source] certificates::CertificateError),
    /// A chain with several leaves.
    #[error("certificate chain must contain at most one TSA certificate")]
    Leaves,
    /// No PEM where Notary wants roots.
    #[error("failed to parse certificates: error during PEM decoding")]
    RootsNotPem,
    /// A root that cannot be read.
    #[error(transparent)]
    Root(#[from] certificates::CertificateError),
    /// A certificate that is no root where Notary wants roots.
    #[error("trust store of type tsa must hold certificates of roots only")]
    NotRoot,
}

/// Why what came as a timestamp of `cosign` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimestampSyntaxError {
    /// Nothing.
    #[error("asn1: syntax error: sequence truncated")]
    Empty,
    /// No response, or no token in it.
    #[error("asn1: structure error")]
    Malformed,
    /// The authority has not granted what was requested.
    #[error("the request is granted with modifications:  ()")]
    Modified,
    /// The authority has granted nothing.
    #[error("the request is rejected:  ()")]
    Rejected,
    /// The certificate of the signer is missing.
    #[error("pkcs7: No certificate for signer")]
    NoCertificate,
    /// The signature of the token is not right.
    #[error(transparent)]
    Signature(#[from] cms::CmsError),
    /// The signer's time of signing is not right.
    #[error(transparent)]
    SigningTime(#[from] SigningTime),
}

/// What is wrong with the time at which a signer says that it signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningTime {
    /// It is none.
    #[error("asn1: structure error")]
    Malformed,
    /// The certificate of the signer was not valid then; all three are quoted.
    #[error("pkcs7: signing time {at} is outside of certificate validity {from} to {until}")]
    OutsideValidity {
        /// The time of signing.
        at: Box<str>,
        /// The first second of the certificate.
        from: Box<str>,
        /// The last second of the certificate.
        until: Box<str>,
    },
}

/// Why a timestamp does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// It cannot be read.
    #[error("error parsing response into Timestamp: {0}")]
    Unreadable(#[from] TimestampSyntaxError),
    /// No root is trusted.
    #[error("no TSA root certificate(s) provided to verify timestamp")]
    NoRoots,
    /// The signer's certificate is another one than the trusted.
    #[error("certificate embedded in the TSR does not match the provided TSA certificate")]
    OtherCertificate,
    /// The signer's certificate is not the one of a timestamp authority.
    #[error(transparent)]
    NotTsa(#[from] NotTsa),
    /// The timestamp does not say by which certificate it was signed.
    #[error("failed to verify TSA certificate: the timestamp does not name its signer's certificate")]
    Unnamed,
    /// There is no path from the signer's certificate to a trusted root.
    #[error("failed to verify TSA certificate chain: {0}")]
    Path(#[source] NoPath),
    /// It is about a hash that is too weak.
    #[error("weak hash algorithm: must be SHA-256, SHA-384, or SHA-512")]
    WeakHash,
    /// It is about something else.
    #[error("hashed messages don't match")]
    OtherMessage,
    /// Notary: it cannot be read.
    #[error("malformed timestamp token")]
    MalformedToken,
    /// Notary: the certificate of the signer is missing.
    #[error("no certificate of the signer of the timestamp")]
    NoCertificate,
    /// Notary: the signature of the token is not right.
    #[error(transparent)]
    Signature(#[from] cms::CmsError),
    /// Notary: the signer's time of signing is not right.
    #[error(transparent)]
    SigningTime(#[from] SigningTime),
    /// Notary: the timestamp does not say by which certificate it was signed.
    #[error("the timestamp does not name its signer's certificate")]
    UnnamedToken,
    /// Notary: there is no path from the signer's certificate to a trusted root.
    #[error("failed to verify timestamp certificate chain: {0}")]
    TokenPath(#[source] NoPath),
    /// Notary: the path is not as it must be.
    #[error(transparent)]
    Chain(#[from] chain::CertificateChainError),
    /// Notary: whether a certificate was revoked is not known.
    #[error("timestamp certificate revocation status is unknown")]
    Revocation,
}
