//! The forms of texts that are numbers, and what they are compared with.

use ephor_value::Str;

/// What kinds of numbers texts may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// Any text.
    Text,
    /// A quantity.
    Quantity,
    /// The digits of an integer.
    Integer,
}

/// Texts that are numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub texts: Vec<Str>,
    /// Whether they stand for all.
    pub is_all: bool,
    /// Whether of quantities those are apart that are durations, and those without a unit: they are
    /// too many in notations that no API server shows.
    pub is_apart: bool,
}
