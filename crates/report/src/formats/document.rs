//! A document as text: what a format writes, and what was left out of it.

use super::WriteError;

/// What a format writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// All of it.
    pub text: String,
    /// What it does not hold because its readers have limits; a sentence for the user.
    pub left_out: Option<String>,
}

impl Document {
    /// What is written, which returns what it leaves out.
    ///
    /// # Errors
    /// Those of writing.
    pub fn of(
        write: impl FnOnce(&mut dyn std::io::Write) -> Result<Option<String>, WriteError>,
    ) -> Result<Document, WriteError> {
        let mut text = Vec::new();
        let left_out = write(&mut text)?;
        Ok(Document { text: String::from_utf8_lossy(&text).into_owned(), left_out })
    }
}
