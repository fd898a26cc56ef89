//! Why there was no answer, as it is recorded.

/// A failure in the words of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedFailure {
    /// The text.
    pub text: String,
    /// The host that has no address, where that is why.
    pub unknown_host: Option<String>,
    /// The same in words that disclose no address, where there are others.
    pub discreet: Option<String>,
    /// What kind of failure it is, as its caller names it.
    pub cause: Option<String>,
}

impl<T: std::fmt::Display> From<&T> for RecordedFailure {
    fn from(error: &T) -> RecordedFailure {
        RecordedFailure { text: error.to_string(), ..RecordedFailure::default() }
    }
}
