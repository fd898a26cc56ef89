//! What a format writes: the text, and what was left out of it.

/// What a format writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// All of it.
    pub text: String,
    /// What it does not hold because its readers have limits; a sentence for the user.
    pub left_out: Option<String>,
}

impl From<String> for Document {
    /// A document of everything.
    fn from(text: String) -> Document {
        Document { text, left_out: None }
    }
}
