//! What is wrong with a pattern: Go's `regexp/syntax.Error`.

/// An error code and the part of the pattern that it is about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {code}: `{fragment}`")]
pub struct RegexError {
    /// The code.
    pub code: ErrorCode,
    /// The part.
    pub fragment: Box<str>,
}

impl RegexError {
    /// An error about a part of a pattern.
    pub fn new(code: ErrorCode, fragment: &str) -> RegexError {
        RegexError { code, fragment: fragment.into() }
    }
}

/// Go's `ErrorCode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ErrorCode {
    /// A class with a range of characters that is none.
    #[error("invalid character class range")]
    CharRange,
    /// An escape that is not known.
    #[error("invalid escape sequence")]
    Escape,
    /// A named group whose name is none.
    #[error("invalid named capture")]
    NamedCapture,
    /// A group of Perl that is not known.
    #[error("invalid or unsupported Perl syntax")]
    PerlOp,
    /// A repetition of a repetition.
    #[error("invalid nested repetition operator")]
    RepeatOp,
    /// A repetition of too many.
    #[error("invalid repeat count")]
    RepeatSize,
    /// A class that does not end.
    #[error("missing closing ]")]
    MissingBracket,
    /// A group that does not end.
    #[error("missing closing )")]
    MissingParen,
    /// A repetition of nothing.
    #[error("missing argument to repetition operator")]
    MissingRepeatArgument,
    /// A backslash before nothing.
    #[error("trailing backslash at end of expression")]
    TrailingBackslash,
    /// The end of a group that did not begin.
    #[error("unexpected )")]
    UnexpectedParen,
    /// Too many groups within each other.
    #[error("expression nests too deeply")]
    NestingDepth,
    /// A pattern that takes too much memory.
    #[error("expression too large")]
    Large,
    /// A state that no pattern leads to.
    #[error("internal error")]
    Internal,
}
