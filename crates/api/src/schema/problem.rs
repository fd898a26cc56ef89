//! One thing that is wrong with a document.

use ephor_value::place::Path;

/// One thing that is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The place.
    pub path: Path,
    /// The text, which names the place where Kyverno's does.
    pub text: String,
    /// Whether the value is of another type than it must.
    pub is_type: bool,
}
