//! The lines of a recording.
//!
//! In: a line of JSON. Out: a [`Line`]. The first one is [`Line::Begins`]; a run that came to its
//! end has [`Line::Ends`] as the last one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// The version of the form.
pub const VERSION: u32 = 1;
/// The longest line that is read.
pub const MAX_LINE: u64 = 8 << 20;
/// How many bytes of an answer a line holds at most.
pub const MAX_PART: usize = 1 << 20;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Line {
    /// The beginning.
    Begins {
        /// The version of the form.
        version: u32,
        /// When the run began: nanoseconds since the beginning of 1970, as text.
        nanoseconds: String,
        /// What its chance began with.
        seed: u64,
    },
    /// What was answered; its bytes are in the parts with the same number.
    Answer {
        /// The number of the answer.
        id: u64,
        /// The question.
        question: String,
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(String, String)>,
    },
    /// Why there was no answer.
    Failure {
        /// The question.
        question: String,
        /// In the words of the run.
        text: String,
        /// The host that has no address, where that is why.
        #[serde(default, skip_serializing_if = "Option::is_none", rename = "unknownHost")]
        unknown_host: Option<String>,
        /// The same in words that disclose no address, where there are others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discreet: Option<String>,
        /// What kind of failure it is, as its caller names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// What came of work that is no single request.
    Result {
        /// The question.
        question: String,
        /// What came of it.
        text: String,
    },
    /// A part of an answer.
    Part {
        /// The number of the answer.
        of: u64,
        /// Its bytes.
        bytes: Bytes,
    },
    /// An answer that did not come to its end.
    Breaks {
        /// The number of the answer.
        of: u64,
        /// Why not.
        text: String,
        /// Whether its time was over.
        late: bool,
    },
    /// The end of the run.
    Ends {
        /// How many requests there were.
        questions: u64,
    },
}

/// Bytes, as text where they are text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Bytes {
    /// Text.
    Text(String),
    /// Anything else.
    Base64(String),
}

impl Bytes {
    /// Bytes as they are written.
    pub fn of(bytes: &[u8]) -> Bytes {
        match std::str::from_utf8(bytes) {
            Ok(text) => Bytes::Text(text.into()),
            Err(_) => Bytes::Base64(STANDARD.encode(bytes)),
        }
    }

    /// The bytes themselves; `None` for what is no Base64.
    pub fn read(self) -> Option<Vec<u8>> {
        match self {
            Bytes::Text(text) => Some(text.into_bytes()),
            Bytes::Base64(text) => STANDARD.decode(text).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn bytes_are_read_as_they_were_written() {
        for bytes in [&b"text \xc3\xa4\n"[..], &b"\xff\x00"[..], b""] {
            let line = Line::Part { of: 3, bytes: Bytes::of(bytes) };
            let text = serde_json::to_string(&line).unwrap();
            let Line::Part { bytes: read, .. } = serde_json::from_str(&text).unwrap() else {
                panic!("{text}")
            };
            assert_eq!(read.read().unwrap(), bytes);
        }
    }
}
