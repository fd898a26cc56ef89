//! The event parser: YAML text to the starts, scalars and ends of its nodes.
//!
//! A port of libyaml's scanner and parser (MIT), whose grammar, token order and error texts the
//! reference's decoder shares. It works on a slice and borrows scalars from it where no folding or
//! escape changes them. In: UTF-8 text. Out: [`Event`]s with their places, or a [`SyntaxError`],
//! whose text is the one that users see (`yaml: line 3: did not find expected key`). No input makes
//! it panic, recurse or loop.
//!
//! - [`scanner`]: characters to tokens, with indentation and simple keys;
//! - [`text`]: the four scalar notations;
//! - [`property`]: directives, anchors and tags;
//! - [`parser`]: tokens to events;
//! - [`error`]: what is wrong with text that is not YAML.

mod error;
mod parser;
mod property;
mod scanner;
mod text;

use std::borrow::Cow;

pub use error::{SyntaxError, SyntaxProblem};
pub(super) use parser::Parser;
pub(super) use scanner::Scanner;

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mark {
    /// Byte offset.
    pub pos: usize,
    /// Line, from 0.
    pub line: u32,
    /// Bytes since the line began.
    pub col: u32,
}

/// One step through a document.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub data: EventData<'a>,
    pub start: Mark,
    /// Where the event's text ends.
    pub end: Mark,
}

/// What an event says.
#[derive(Debug)]
pub(super) enum EventData<'a> {
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

/// Refuses the characters that YAML text may not hold.
///
/// # Errors
/// The text has one.
pub(super) fn check_characters(text: &str) -> Result<(), SyntaxError> {
    let bytes = text.as_bytes();
    // Nearly all text is printable ASCII and line breaks: look at single characters only after a
    // byte that may begin a forbidden one.
    let suspicious =
        |b: u8| (b < 0x20 && !matches!(b, b'\t' | b'\n' | b'\r')) || matches!(b, 0x7f | 0xc2 | 0xef);
    for (i, b) in bytes.iter().enumerate() {
        if suspicious(*b) {
            let forbidden = match (b, bytes.get(i + 1), bytes.get(i + 2)) {
                (0xc2, Some(next), _) => (0x80..=0x9f).contains(next) && *next != 0x85,
                (0xef, Some(0xbf), Some(last)) => matches!(last, 0xbe | 0xbf),
                (0xef, ..) => false,
                _ => true,
            };
            if forbidden {
                return Err(SyntaxError::anywhere(SyntaxProblem::ControlCharacter));
            }
        }
    }
    Ok(())
}
