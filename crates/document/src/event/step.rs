//! The steps of the event parser, and where they stand in the text.

use std::borrow::Cow;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Byte offset.
    pub pos: usize,
    /// Line, from 0.
    pub line: u32,
    /// Bytes since the line began.
    pub col: u32,
}

/// One step through a document.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    pub data: EventData<'a>,
    pub start: Mark,
    /// Where the event's text ends.
    pub end: Mark,
}

/// What an event says.
#[derive(Debug)]
pub(crate) enum EventData<'a> {
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    Alias(&'a str),
    /// `plain` says that the scalar's type follows from its text.
    Scalar {
        anchor: Option<&'a str>,
        tag: Option<Box<str>>,
        value: Cow<'a, str>,
        plain: bool,
    },
    SeqStart(Option<&'a str>),
    SeqEnd,
    MapStart(Option<&'a str>),
    MapEnd,
}
