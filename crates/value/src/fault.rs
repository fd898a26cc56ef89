//! What goes wrong while an expression is evaluated.
//!
//! A fault is a value of the evaluator: operators absorb, forward or translate it, and the rule
//! decides in the end what it means. The most frequent one, a missing key, carries only the key;
//! its text is built when it is read.

use super::Str;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A key that the object does not have.
    NotFound(Str),
    /// Every other failure, with its text as the user sees it.
    Error(Box<str>),
    /// The evaluation costs too much. Nothing absorbs it.
    Budget,
    /// The evaluation ends at once, with this text. Nothing absorbs it.
    Abort(Box<str>),
}

impl Fault {
    /// The text of a result that is larger than any sensible one.
    pub const TOO_LARGE: &str = "result is too large";

    /// The text of an evaluation that its deadline ended.
    pub const INTERRUPTED: &str = "the evaluation took too long and was interrupted";

    /// Whether it ends the evaluation, whatever else is in the expression: where a bound is hit,
    /// null would be a wrong answer.
    pub fn ends(&self) -> bool {
        matches!(self, Fault::Budget | Fault::Abort(_))
    }

    /// A failure with this text.
    pub fn new(text: impl Into<Box<str>>) -> Self {
        Fault::Error(text.into())
    }

    /// A failure with the text of `error`.
    pub fn from_error(error: impl std::error::Error) -> Self {
        Fault::new(error.to_string())
    }

    /// The text as CEL shows it.
    pub fn cel_text(&self) -> String {
        match self {
            Fault::NotFound(key) => format!("no such key: {key}"),
            other => other.to_string(),
        }
    }

    /// Whether this is a missing key.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Fault::NotFound(_))
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::NotFound(key) => write!(f, "Unknown key \"{key}\" in path"),
            Fault::Error(text) => f.write_str(text),
            Fault::Abort(text) => f.write_str(text),
            Fault::Budget => f.write_str("operation cancelled: actual cost limit exceeded"),
        }
    }
}

impl std::error::Error for Fault {}
