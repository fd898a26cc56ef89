//! The bytes of an answer, as they are recorded and replayed.
//!
//! In: a reader and where its bytes are recorded, or parts of a recording. Out: a reader.

use std::io::{self, Read};
use std::sync::Arc;

use super::line::Line;
use super::player::Player;
use super::recorder::RecordedAnswer;

/// A reader whose bytes are recorded.
pub struct RecordedBody<R> {
    reader: R,
    answer: RecordedAnswer,
    is_late: fn(&io::Error) -> bool,
}

impl<R> RecordedBody<R> {
    /// Records what is read. `is_late` says whether an error means that time was over.
    pub fn new(reader: R, answer: RecordedAnswer, is_late: fn(&io::Error) -> bool) -> RecordedBody<R> {
        RecordedBody { reader, answer, is_late }
    }
}

impl<R: Read> Read for RecordedBody<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        match &read {
            Ok(length) => self.answer.part(buffer.get(..*length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => self.answer.breaks(&error.to_string(), (self.is_late)(error)),
        }
        read
    }
}

/// The bytes of an answer in a recording.
pub struct ReplayedBody {
    player: Arc<Player>,
    parts: std::vec::IntoIter<u64>,
    breaks: Option<(String, bool)>,
    bytes: io::Cursor<Vec<u8>>,
}

impl ReplayedBody {
    pub(super) fn new(player: Arc<Player>, parts: Vec<u64>, breaks: Option<(String, bool)>) -> ReplayedBody {
        ReplayedBody { player, parts: parts.into_iter(), breaks, bytes: io::Cursor::default() }
    }
}

impl Read for ReplayedBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.bytes.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            let Some(at) = self.parts.next() else {
                return match self.breaks.take() {
                    None => Ok(0),
                    Some((_, true)) => Err(io::ErrorKind::TimedOut.into()),
                    Some((text, false)) => Err(io::Error::other(text)),
                };
            };
            let bytes = match self.player.line(at)? {
                Line::Part { bytes, .. } => bytes.read(),
                _ => None,
            };
            let Some(bytes) = bytes else { return Err(io::ErrorKind::InvalidData.into()) };
            self.bytes = io::Cursor::new(bytes);
        }
    }
}
