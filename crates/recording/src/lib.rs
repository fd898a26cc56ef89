//! answers of the outside, recorded in a file and replayed.
//!
//! In: questions to services, registries, repositories and API servers, and what they answered.
//! Out: a [`Recording`]: a file of JSON lines that grows during a run, or one that answers
//! in place of the outside. A recording also holds when the run began and a seed, so that clocks
//! and chance are the same in both runs. Semantics: `docs/reference/cli.md`, "Record and replay".
//!
//! Answers to the same question are given in the order in which they came; behind the last one it
//! is given again. What is not in a recording is an error that names the question, never a request.
//! Credentials are not recorded ([`Question`]), objects and answers are, so a recording is as
//! confidential as what policies read.
//!
//! - `body`: the bytes of an answer, as they are recorded and replayed
//! - `failure`: why there was no answer, as it is recorded
//! - `player`: a recording that answers
//! - `recorder`: a recording that grows
//! - [`mod@line`]: the lines of the file
//! - [`question`]: what is requested
#![forbid(unsafe_code)]

mod body;
mod failure;
pub mod line;
mod player;
pub mod question;
mod recorder;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use body::{RecordedBody, ReplayedBody};
pub use failure::RecordedFailure;
pub use player::{Player, ReadError, Replayed};
pub use question::Question;
pub use recorder::{RecordedAnswer, Recorder};

/// See the module page.
#[derive(Clone, Debug)]
pub enum Recording {
    /// Answers are recorded.
    Records(Arc<Recorder>),
    /// Answers are replayed.
    Replays(Arc<Player>),
}

/// Why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// It cannot be written.
    #[error("the recording {file} cannot be written: {cause}")]
    Write {
        /// Its path.
        file: Box<str>,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Recording {
    /// A new file for answers; who reads it is its owner alone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, began: Duration, seed: u64) -> Result<Recording, RecordingError> {
        Recorder::create(path, began, seed).map(|recorder| Recording::Records(Arc::new(recorder)))
    }

    /// A file that answers are taken from.
    ///
    /// # Errors
    /// It cannot be read, or is no recording.
    pub fn open(path: &Path) -> Result<Recording, RecordingError> {
        Ok(Recording::Replays(Arc::new(Player::open(path)?)))
    }

    /// When the recorded run began, since the beginning of 1970, and the seed of its chance.
    pub fn beginning(&self) -> (Duration, u64) {
        match self {
            Recording::Records(recorder) => recorder.beginning(),
            Recording::Replays(player) => player.beginning(),
        }
    }

    /// The result of some work as text: done and recorded, or as it was.
    ///
    /// # Errors
    /// As the work failed, or the question is not in the recording.
    pub fn result<E: std::fmt::Display>(
        &self,
        question: &Question<'_>,
        work: impl FnOnce() -> Result<String, E>,
        failed: impl FnOnce(String) -> E,
    ) -> Result<String, E> {
        match self {
            Recording::Records(recorder) => {
                let done = work();
                match &done {
                    Ok(text) => recorder.result(question, text),
                    Err(error) => recorder.failure(question, error.into()),
                }
                done
            }
            Recording::Replays(player) => match player.play(question) {
                Replayed::Result(text) => Ok(text),
                Replayed::Failure { failure, .. } => Err(failed(failure.text)),
                Replayed::Answer { .. } => Err(failed(player.missing(question))),
            },
        }
    }
}
