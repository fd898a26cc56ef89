//! A recording that answers.
//!
//! In: a file, and questions from any thread. Out: what was answered then. The file is read once
//! for where its answers are; their bytes are read when they are wanted. A file that was cut off
//! answers what it holds.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::body::ReplayedBody;
use super::failure::RecordedFailure;
use super::line::{Line, MAX_LINE, VERSION};
use super::question::Question;

/// How many questions are named that a recording has no answer to.
const MAX_MISSING: usize = 1000;

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be read.
    #[error("the recording {file} cannot be read: {cause}")]
    File {
        /// Its path.
        file: Box<str>,
        /// Why not.
        #[source]
        cause: std::io::Error,
    },
    /// A line is none of a recording.
    #[error("{file}:{line}: this is no line of a recording: {why}")]
    Line {
        /// Its path.
        file: Box<str>,
        /// The line, from 1.
        line: u64,
        /// Why not.
        why: Box<str>,
    },
    /// It does not begin as recordings do.
    #[error(
        "{0}:1: this is no recording: `ephor apply --record FILE` and `ephor serve --record FILE` write one"
    )]
    Other(Box<str>),
    /// A later version of the form.
    #[error("{file}:1: a recording of version {version}: this program reads version {VERSION}")]
    Version {
        /// Its path.
        file: Box<str>,
        /// Its version.
        version: u32,
    },
}

/// What a recording gives.
pub enum Replayed {
    /// An answer.
    Answer {
        /// The status.
        status: u16,
        /// The headers.
        headers: Vec<(String, String)>,
        /// The bytes.
        body: ReplayedBody,
    },
    /// Why there was none; also for what the recording does not hold.
    Failure {
        /// Why.
        failure: RecordedFailure,
        /// Whether the recording does not hold an answer.
        is_missing: bool,
    },
    /// What came of work that is no single request.
    Result(String),
}

impl Replayed {
    fn missing(why: &impl std::fmt::Display) -> Replayed {
        Replayed::Failure { failure: why.into(), is_missing: true }
    }
}

/// An answer, by where it is in the file.
#[derive(Clone, Debug)]
enum Slot {
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        parts: Vec<u64>,
        breaks: Option<(String, bool)>,
    },
    /// A failure or a result, as its line is.
    Line(u64),
}

/// The answers to one question.
#[derive(Debug, Default)]
struct Answers {
    all: Vec<usize>,
    given: usize,
}

/// See the module page.
#[derive(Debug)]
pub struct Player {
    path: Box<str>,
    began: Duration,
    seed: u64,
    is_whole: bool,
    file: Mutex<BufReader<File>>,
    slots: Vec<Slot>,
    answers: Mutex<HashMap<String, Answers>>,
    missing: Mutex<BTreeSet<String>>,
}

impl Player {
    pub(super) fn open(path: &Path) -> Result<Player, ReadError> {
        let name: Box<str> = path.display().to_string().into();
        let broken = |cause| ReadError::File { file: name.clone(), cause };
        let file = File::open(path).map_err(broken)?;
        let mut player = Player {
            path: name.clone(),
            began: Duration::ZERO,
            seed: 0,
            is_whole: false,
            file: Mutex::new(BufReader::new(file.try_clone().map_err(broken)?)),
            slots: Vec::new(),
            answers: Mutex::default(),
            missing: Mutex::default(),
        };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let (mut number, mut at) = (0, 0);
        let mut open: HashMap<u64, usize> = HashMap::new();
        loop {
            let mut bytes = Vec::new();
            let length = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(broken)?;
            if length == 0 {
                break;
            }
            number += 1;
            let wrong = |why: String| ReadError::Line { file: name.clone(), line: number, why: why.into() };
            if bytes.last() != Some(&b'\n') {
                match length as u64 == MAX_LINE {
                    true => return Err(wrong(format!("it has more than {MAX_LINE} bytes"))),
                    // The run was ended while it wrote this line.
                    false if number > 1 => break,
                    false => {}
                }
            }
            let line = serde_json::from_slice::<Line>(&bytes);
            match line {
                Err(_) if number == 1 => return Err(ReadError::Other(name)),
                Err(error) => return Err(wrong(error.to_string())),
                Ok(line) => player.take(line, number, at, &mut open).map_err(|why| match why {
                    Wrong::NoRecording => ReadError::Other(name.clone()),
                    Wrong::Version(version) => ReadError::Version { file: name.clone(), version },
                    Wrong::Text(why) => wrong(why.into()),
                })?,
            }
            at += length as u64;
        }
        if number == 0 { Err(ReadError::Other(name)) } else { Ok(player) }
    }

    fn take(
        &mut self,
        line: Line,
        number: u64,
        at: u64,
        open: &mut HashMap<u64, usize>,
    ) -> Result<(), Wrong> {
        let is_first = number == 1;
        match line {
            Line::Begins { version, nanoseconds, seed } if is_first => {
                if version != VERSION {
                    return Err(Wrong::Version(version));
                }
                let nanoseconds: u64 =
                    nanoseconds.parse().map_err(|_| Wrong::Text("`nanoseconds` is no number"))?;
                (self.began, self.seed) = (Duration::from_nanos(nanoseconds), seed);
            }
            _ if is_first => return Err(Wrong::NoRecording),
            Line::Begins { .. } => return Err(Wrong::Text("it begins once more")),
            Line::Answer { id, question, status, headers } => {
                let slot = Slot::Answer { status, headers, parts: Vec::new(), breaks: None };
                if open.insert(id, self.slots.len()).is_some() {
                    return Err(Wrong::Text("an answer has this number"));
                }
                self.add(question, slot);
            }
            Line::Failure { question, .. } | Line::Result { question, .. } => {
                self.add(question, Slot::Line(at))
            }
            Line::Part { of, bytes } => match open.get(&of).and_then(|slot| self.slots.get_mut(*slot)) {
                Some(Slot::Answer { parts, .. }) if bytes.read().is_some() => parts.push(at),
                Some(_) => return Err(Wrong::Text("its bytes are no Base64")),
                None => return Err(Wrong::Text("no answer has this number")),
            },
            Line::Breaks { of, text, late } => match open.get(&of).and_then(|slot| self.slots.get_mut(*slot))
            {
                Some(Slot::Answer { breaks, .. }) => *breaks = Some((text, late)),
                _ => return Err(Wrong::Text("no answer has this number")),
            },
            Line::Ends { .. } => self.is_whole = true,
        }
        Ok(())
    }

    fn add(&mut self, question: String, slot: Slot) {
        let answers = self.answers.get_mut().unwrap_or_else(PoisonError::into_inner);
        answers.entry(question).or_default().all.push(self.slots.len());
        self.slots.push(slot);
    }

    pub(super) fn beginning(&self) -> (Duration, u64) {
        (self.began, self.seed)
    }

    /// Whether the recorded run came to its end.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The path of the file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What was answered then.
    pub fn play(self: &Arc<Player>, question: &Question<'_>) -> Replayed {
        let text = question.text();
        let slot = {
            let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            answers.get_mut(&text).and_then(|answers| {
                let at = answers.given.min(answers.all.len().saturating_sub(1));
                answers.given = at + 1;
                answers.all.get(at).copied()
            })
        };
        let slot = slot.and_then(|slot| self.slots.get(slot).cloned());
        match slot {
            None => Replayed::missing(&self.missing(question)),
            Some(Slot::Answer { status, headers, parts, breaks }) => {
                Replayed::Answer { status, headers, body: ReplayedBody::new(self.clone(), parts, breaks) }
            }
            Some(Slot::Line(at)) => match self.line(at) {
                Ok(Line::Failure { text, unknown_host, discreet, cause, .. }) => Replayed::Failure {
                    failure: RecordedFailure { text, unknown_host, discreet, cause },
                    is_missing: false,
                },
                Ok(Line::Result { text, .. }) => Replayed::Result(text),
                Ok(_) => Replayed::missing(&self.changed()),
                Err(error) => Replayed::missing(&error),
            },
        }
    }

    /// Notes that the recording does not hold the answer to a question; the text that says so.
    pub fn missing(&self, question: &Question<'_>) -> String {
        let text = question.text();
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if missing.len() < MAX_MISSING {
            missing.insert(text.clone());
        }
        format!("the recording {} holds no answer to {text}", self.path)
    }

    /// The questions so far that the recording holds no answer to, sorted.
    pub fn all_missing(&self) -> Vec<String> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn changed(&self) -> String {
        format!("the recording {} changed while it was read", self.path)
    }

    /// The line that begins here.
    pub(super) fn line(&self, at: u64) -> std::io::Result<Line> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        let mut bytes = Vec::new();
        file.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes)?;
        serde_json::from_slice(&bytes).map_err(|_| std::io::Error::other(self.changed()))
    }
}

/// What is wrong with a line.
enum Wrong {
    NoRecording,
    Version(u32),
    Text(&'static str),
}
