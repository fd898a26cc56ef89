//! Flags that record the answers of the outside in a file, or replay them.
//!
//! In: flags. Out: a [`Recording`], with clock and chance of the program set as it says; at the end
//! of the run, what is missing in it. Semantics: `docs/reference/cli.md`, "Record and replay".

use std::path::Path;

use clap::ValueHint;
use ephor_functions::chance;
use ephor_recording::Recording;
use ephor_value::clock;

use super::arguments::given;
use super::{CommandError, console};

/// The flags.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Record and replay")]
pub(super) struct RecordingFlags {
    /// file that external data is recorded in: API objects, registries, services,
    /// repositories, the time; it is as confidential as these
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "replay")]
    record: Option<String>,
    /// file of --record that answers in place of the outside: nothing is sent, and what it does not
    /// hold is named
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    replay: Option<String>,
}

/// How the time of a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// It stands, so that the same is printed.
    Stands,
    /// It moves on from the beginning of the recording.
    Goes,
}

impl RecordingFlags {
    /// The recording of the flags, if any. Clock and chance are set.
    ///
    /// # Errors
    /// The file cannot be written or read.
    pub(super) fn open(&self, time: Time) -> Result<Option<Recording>, CommandError> {
        let recording = match (given(&self.record), given(&self.replay)) {
            (Some(file), _) => Recording::create(Path::new(file), clock::since_epoch(), chance::fresh())?,
            (None, Some(file)) => Recording::open(Path::new(file))?,
            (None, None) => return Ok(None),
        };
        let (began, seed) = recording.beginning();
        let is_given = matches!(recording, Recording::Replays(_));
        if time == Time::Stands || is_given {
            clock::begin_at(began, time == Time::Stands);
        }
        chance::seed(seed);
        Ok(Some(recording))
    }

    /// The file that is written, if any.
    pub(super) fn written(&self) -> Option<&str> {
        given(&self.record)
    }

    /// The file that is read, if any.
    pub(super) fn read(&self) -> Option<&str> {
        given(&self.replay)
    }
}

/// Ends a run with a recording: whether the recording had all that the run wanted.
///
/// # Errors
/// Not all of it was written.
pub(super) fn finish(recording: &Recording) -> Result<bool, CommandError> {
    match recording {
        Recording::Records(recorder) => {
            recorder.finish()?;
            Ok(true)
        }
        Recording::Replays(player) => {
            let missing = player.all_missing();
            if !player.is_whole() {
                console::warn(&format!(
                    "the recording {} was cut off: its run did not come to an end",
                    player.path()
                ));
            }
            for question in &missing {
                console::warn(&format!("the recording {} holds no answer to {question}", player.path()));
            }
            Ok(missing.is_empty())
        }
    }
}
