//! Why attestors do not verify an image.
//!
//! Out: errors whose texts are Kyverno's. Semantics: `docs/semantics/images.md`.

use thiserror::Error;

use crate::error::{ConditionError, FillError};

/// Too few entries have signed the statements that an attestation wants.
#[derive(Debug, Error)]
#[error(
    "image attestations verification failed, verifiedCount: {verified}, requiredCount: {required}, error: {}",
    joined(.entries)
)]
pub struct TooFewStatements {
    /// How many have.
    pub verified: usize,
    /// How many must.
    pub required: usize,
    /// The entries that have not.
    pub entries: Vec<AttestorEntryError>,
}

fn joined(entries: &[AttestorEntryError]) -> String {
    match entries {
        [] => "attestations verification failed".to_owned(),
        entries => entries.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}

/// Why an entry does not count.
#[derive(Debug, Error)]
pub enum AttestorEntryError {
    /// It has signed nothing; the words are those of the verification.
    #[error("{0}")]
    Refused(String),
    /// What it has signed is not as it must be.
    #[error("{path}: {cause}")]
    Statement {
        /// The entry.
        path: String,
        /// Why.
        #[source]
        cause: StatementError,
    },
}

/// Why statements are not as they must be.
#[derive(Debug, Error)]
pub enum StatementError {
    /// There is none of the type.
    #[error("attestions not found for predicate type {0}")]
    NotFound(Box<str>),
    /// The conditions on one cannot be evaluated.
    #[error("failed to check attestations: {0}")]
    Claim(#[source] ClaimError),
    /// The conditions on one do not hold.
    #[error("attestation checks failed for {image} and predicate {kind}: {message}")]
    Violated {
        /// The image.
        image: Box<str>,
        /// The type of the statement.
        kind: Box<str>,
        /// The message of the conditions.
        message: String,
    },
}

/// Why the conditions on a statement cannot be evaluated.
#[derive(Debug, Error)]
pub enum ClaimError {
    /// They cannot be filled in.
    #[error("failed to substitute variables in attestation conditions: {0}")]
    Fill(#[source] FillError),
    /// One of them cannot be evaluated.
    #[error(transparent)]
    Condition(ConditionError),
}

/// Why none of the certificates names the required identity.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// A signature has no certificate.
    #[error("certificate not found")]
    NoCertificate,
    /// Each names another one; why, in the words of the comparison.
    #[error("{}", .0.join("; "))]
    Others(Vec<String>),
}
