//! Values of flags that are more than a text: counts, durations, names of objects, levels of the
//! log.
//!
//! In: the text of a flag. Out: its value, or why there is none.

use std::time::Duration;

use ephor_value::duration;
use tracing_subscriber::EnvFilter;

use super::flags::{SyntaxError, whole};

/// The name of an object and of its namespace.
#[derive(Clone, Debug)]
pub(super) struct Namespaced(pub String, pub String);

/// A filter of the log that has been read once.
#[derive(Clone, Debug)]
pub(super) struct LogFilter(pub String);

/// A value that a flag of `serve` refuses.
#[derive(Debug, thiserror::Error)]
pub enum FlagValueError {
    /// Not an integer.
    #[error(transparent)]
    Whole(#[from] SyntaxError),
    /// Not a duration.
    #[error(transparent)]
    Duration(#[from] duration::DurationError),
    /// Not a count.
    #[error("must be between 1 and {MAX_COUNT}")]
    Count,
    /// Out of range.
    #[error("must not be negative or very large")]
    Range,
    /// Negative.
    #[error("must not be negative")]
    Negative,
    /// Not a level of the log.
    #[error("must be error, warn, info, debug, trace or off")]
    Level,
    /// What the reader of filters says.
    #[error("{0}")]
    Filter(String),
    /// Not the name of an object and of its namespace.
    #[error("must be NAMESPACE/NAME, such as kyverno/kyverno")]
    Name,
}

/// The levels of the log.
pub(super) const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The largest value of a count: what fits into 32 bits with room for totals.
const MAX_COUNT: usize = 1 << 30;

pub(super) fn count(text: &str) -> Result<usize, FlagValueError> {
    let number = usize::try_from(whole(text)?).map_err(|_| FlagValueError::Count)?;
    if (1..=MAX_COUNT).contains(&number) { Ok(number) } else { Err(FlagValueError::Count) }
}

pub(super) fn not_negative(text: &str) -> Result<usize, FlagValueError> {
    let number = u32::try_from(whole(text)?).map_err(|_| FlagValueError::Range)?;
    usize::try_from(number).map_err(|_| FlagValueError::Range)
}

/// Reads a duration that is not negative.
pub(super) fn time(text: &str) -> Result<Duration, FlagValueError> {
    let nanoseconds = u64::try_from(duration::parse(text)?).map_err(|_| FlagValueError::Negative)?;
    Ok(Duration::from_nanos(nanoseconds))
}

/// Reads `NAMESPACE/NAME`.
pub(super) fn namespaced(text: &str) -> Result<Namespaced, FlagValueError> {
    let (namespace, name) = text.split_once('/').ok_or(FlagValueError::Name)?;
    Ok(Namespaced(namespace.into(), name.into()))
}

/// A word alone is a level; `EnvFilter` would take any other one for the name of a module, and log
/// nothing.
pub(super) fn log_filter(text: &str) -> Result<LogFilter, FlagValueError> {
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric());
    if is_word && !LEVELS.contains(&text.to_ascii_lowercase().as_str()) {
        return Err(FlagValueError::Level);
    }
    EnvFilter::try_new(text)
        .map(|_| LogFilter(text.into()))
        .map_err(|e| FlagValueError::Filter(e.to_string()))
}
