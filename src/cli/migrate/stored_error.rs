//! Why definitions of custom resources are not migrated.

/// Why definitions are not migrated; in Kyverno's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredVersionError {
    /// A name is blank.
    #[error("resource cannot be empty")]
    Blank,
    /// No version of a definition is the stored one.
    #[error("stored version not found")]
    NoVersion,
}
