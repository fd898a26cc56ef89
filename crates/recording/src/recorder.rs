//! A recording that grows.
//!
//! In: questions and what was answered, from any thread. Out: lines of a file. A line that cannot
//! be written stops the recording; [`Recorder::finish`] says so.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::RecordingError;
use super::failure::RecordedFailure;
use super::line::{Bytes, Line, MAX_PART, VERSION};
use super::question::Question;

/// The headers of answers that are not recorded: they belong to the client.
const CONFIDENTIAL: [&str; 2] = ["set-cookie", "set-cookie2"];
/// How many bytes of an answer are gathered for a line.
const GATHERED: usize = 64 << 10;

/// See the module page.
#[derive(Debug)]
pub struct Recorder {
    path: Box<str>,
    began: Duration,
    seed: u64,
    answers: AtomicU64,
    questions: AtomicU64,
    out: Mutex<io::Result<BufWriter<File>>>,
}

impl Recorder {
    pub(super) fn create(path: &Path, began: Duration, seed: u64) -> Result<Recorder, RecordingError> {
        let name: Box<str> = path.display().to_string().into();
        let failed = |cause| RecordingError::Write { file: name.clone(), cause };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(failed)?;
        let recorder = Recorder {
            path: name.clone(),
            began,
            seed,
            answers: AtomicU64::new(0),
            questions: AtomicU64::new(0),
            out: Mutex::new(Ok(BufWriter::new(file))),
        };
        let nanoseconds = began.as_nanos().to_string();
        recorder.write(&Line::Begins { version: VERSION, nanoseconds, seed });
        match recorder.flush() {
            Ok(()) => Ok(recorder),
            Err(cause) => Err(RecordingError::Write { file: name, cause }),
        }
    }

    pub(super) fn beginning(&self) -> (Duration, u64) {
        (self.began, self.seed)
    }

    fn write(&self, line: &Line) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(file) = out.as_mut() else { return };
        let written = serde_json::to_writer(&mut *file, line).map_err(io::Error::from);
        if let Err(cause) = written.and_then(|()| file.write_all(b"\n")) {
            *out = Err(cause);
        }
    }

    fn flush(&self) -> io::Result<()> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        match out.as_mut() {
            Ok(file) => file.flush(),
            Err(cause) => Err(std::mem::replace(cause, io::ErrorKind::Other.into())),
        }
    }

    /// Begins an answer; its bytes follow.
    pub fn answer(
        self: &Arc<Recorder>,
        question: &Question<'_>,
        status: u16,
        headers: Vec<(String, String)>,
    ) -> RecordedAnswer {
        let id = self.answers.fetch_add(1, Ordering::Relaxed);
        self.questions.fetch_add(1, Ordering::Relaxed);
        let recorded =
            |(name, _): &(String, String)| !CONFIDENTIAL.contains(&name.to_ascii_lowercase().as_str());
        let headers = headers.into_iter().filter(recorded).collect();
        self.write(&Line::Answer { id, question: question.text(), status, headers });
        RecordedAnswer { recorder: self.clone(), id, gathered: Vec::new() }
    }

    /// Why there was no answer.
    pub fn failure(&self, question: &Question<'_>, failure: RecordedFailure) {
        self.questions.fetch_add(1, Ordering::Relaxed);
        let RecordedFailure { text, unknown_host, discreet, cause } = failure;
        self.write(&Line::Failure { question: question.text(), text, unknown_host, discreet, cause });
    }

    /// What came of work that is no single request.
    pub fn result(&self, question: &Question<'_>, text: &str) {
        self.questions.fetch_add(1, Ordering::Relaxed);
        self.write(&Line::Result { question: question.text(), text: text.into() });
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// Not all of it was written.
    pub fn finish(&self) -> Result<(), RecordingError> {
        self.write(&Line::Ends { questions: self.questions.load(Ordering::Relaxed) });
        self.flush().map_err(|cause| RecordingError::Write { file: self.path.clone(), cause })
    }
}

/// An answer that is recorded as it comes.
#[derive(Debug)]
pub struct RecordedAnswer {
    recorder: Arc<Recorder>,
    id: u64,
    gathered: Vec<u8>,
}

impl RecordedAnswer {
    /// More bytes of it.
    pub fn part(&mut self, bytes: &[u8]) {
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() >= GATHERED {
            self.flush();
        }
    }

    /// Writes what was gathered: the next bytes may be long in coming.
    pub fn flush(&mut self) {
        for part in std::mem::take(&mut self.gathered).chunks(MAX_PART) {
            self.recorder.write(&Line::Part { of: self.id, bytes: Bytes::of(part) });
        }
        // A process that is killed leaves what came until then.
        let _ = self.recorder.out.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(Write::flush);
    }

    /// It did not come to its end.
    pub fn breaks(&mut self, text: &str, late: bool) {
        self.flush();
        self.recorder.write(&Line::Breaks { of: self.id, text: text.into(), late });
    }
}

impl Drop for RecordedAnswer {
    fn drop(&mut self) {
        self.flush();
    }
}
