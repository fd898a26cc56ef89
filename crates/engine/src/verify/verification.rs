//! The result of verifying the signatures of an image.

use crate::outcome::Status;

/// The result of verifying the signatures of an image.
#[derive(Clone, Debug)]
pub struct ImageVerification {
    /// The status.
    pub status: Status,
    /// The message.
    pub text: String,
    /// The image's digest, when it was verified.
    pub digest: Option<String>,
}
