//! The objects of resource arguments, block by block.
//!
//! In: resource arguments. Out: [`Resources`] of a block of neighbours, in order, until all are
//! read; memory holds one block. The pieces of a block are parsed on all threads. Only the first
//! argument has to be there. Semantics: `docs/reference/cli.md`, resource sources.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ephor_document::resource::{self, PieceObjects};
use ephor_document::stream::{Piece, Pieces, StreamError};
use ephor_document::{Document, LoadError, ResourceOptions};
use ephor_engine::Profile;
use ephor_sources::files::inputs::{Bytes, Input, Text, Texts};
use ephor_sources::files::{self, FileCause, reason};
use ephor_value::{Value, parallel};

use super::misread::misread;
use super::resources::{Choice, Resources};
use super::seen::Identities;
use super::{line_of, replay};

/// How much text a block has at least for each thread, unless it is the last one.
const BLOCK: usize = 256 << 10;

/// Why the objects of a run cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct InputError {
    /// Kyverno's text.
    pub text: String,
    /// Where it is, and that it stops the run.
    pub place: Option<String>,
}

impl InputError {
    /// An argument that has to be there, of resources that are named `what`.
    fn of(what: &str, cause: &str) -> InputError {
        InputError { text: format!("failed to load {what} ({cause})"), place: None }
    }

    /// A document that is no Kubernetes object.
    fn at(what: &str, error: &LoadError) -> InputError {
        let place = format!("{}:{}: this document stops the run", error.source, line_of(error));
        InputError { place: Some(place), ..InputError::of(what, &error.to_string()) }
    }
}

/// Reads the objects of resource arguments; errors name them `what`.
///
/// # Errors
/// The first argument cannot be read, or a document is no Kubernetes object.
pub fn read(
    arguments: &[String],
    profile: Profile,
    what: &'static str,
    choice: Choice,
) -> Result<Resources, InputError> {
    ObjectStream::open(arguments, profile, what, choice)?.rest()
}

/// The objects of a run's resource arguments.
pub struct ObjectStream {
    inputs: VecDeque<Input>,
    /// The argument that has to be there.
    first: Option<String>,
    what: &'static str,
    choice: Choice,
    options: ResourceOptions,
    /// The input that is being read.
    open: Option<OpenInput>,
    /// What was found in the text that is being read.
    tally: Tally,
    seen: Identities,
    /// What the arguments gave before anything was read.
    begun: Resources,
    /// How many bytes the inputs have, where that is known of all.
    size: Option<u64>,
    /// How many bytes of them were read.
    read: Arc<AtomicU64>,
    ended: bool,
}

struct OpenInput {
    name: String,
    texts: Texts,
    /// The text that is being read.
    text: Option<(Arc<str>, Pieces<Bytes>)>,
}

/// What was found in a text so far.
#[derive(Default)]
struct Tally {
    parts: usize,
    documents: usize,
    others: usize,
}

/// What comes next of the inputs, in order.
enum Event {
    Begin,
    Piece(Arc<str>, Piece),
    /// The objects of an audit log.
    Replay(Arc<str>, Vec<Document>),
    End(Arc<str>),
    /// A text that cannot be read to its end, which does not end the run.
    Broken(String),
    Failed {
        name: String,
        text: String,
    },
}

impl ObjectStream {
    /// The objects of resource arguments; errors name them `what`.
    ///
    /// # Errors
    /// The first argument cannot be read: Kyverno's text.
    pub fn open(
        arguments: &[String],
        profile: Profile,
        what: &'static str,
        choice: Choice,
    ) -> Result<ObjectStream, InputError> {
        let (inputs, notices) = files::inputs(arguments, &choice.reading);
        let mut begun = Resources::default();
        for n in notices {
            let is_first = arguments.first().is_some_and(|a| *a == n.place);
            match n.cause {
                FileCause::Missing | FileCause::Unreadable if is_first => {
                    return Err(InputError::of(what, &n.text));
                }
                FileCause::Unreadable if choice.skips_others => begun.broken.push(n.to_string()),
                FileCause::NotRendered => begun.broken.push(n.to_string()),
                FileCause::Missing | FileCause::Unreadable => begun.failed.push(failed(&n.place, &n.text)),
                FileCause::Extension => begun.others.push(n.to_string()),
                _ => begun.warnings.push(n.to_string()),
            }
        }
        let size = inputs.iter().map(Input::size).sum();
        Ok(ObjectStream {
            inputs: inputs.into(),
            first: arguments.first().cloned(),
            what,
            choice,
            options: ResourceOptions { float_numbers: profile.float_resources },
            open: None,
            tally: Tally::default(),
            seen: Identities::default(),
            begun,
            size,
            read: Arc::default(),
            ended: false,
        })
    }

    /// How many bytes the inputs have, as they are stored, where that is known of all.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// How many bytes of them were read.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        self.ended
    }

    /// Everything that is left, in memory.
    ///
    /// # Errors
    /// As [`ObjectStream::block`].
    pub fn rest(&mut self) -> Result<Resources, InputError> {
        let mut all = Resources::default();
        while !self.ended {
            all.append(self.block()?);
        }
        Ok(all)
    }

    /// The next block; an empty one at the end.
    ///
    /// # Errors
    /// The first argument cannot be read, or a document is no Kubernetes object: Kyverno's text,
    /// and the place. A file that breaks off behind its first block is an error, too.
    pub fn block(&mut self) -> Result<Resources, InputError> {
        let mut out = std::mem::take(&mut self.begun);
        let mut events = Vec::new();
        let (mut length, wanted) = (0, BLOCK * parallel::threads());
        while length < wanted {
            let Some(event) = self.event(&mut events)? else {
                self.ended = true;
                break;
            };
            if let Event::Piece(_, piece) = &event {
                length += piece.text.len();
            }
            events.push(event);
        }
        let options = self.options;
        let objects = |event: &Event| match event {
            Event::Piece(name, piece) => Some(resource::read(name, piece, options)),
            _ => None,
        };
        let objects = parallel::map(&events, objects);
        for (event, objects) in events.into_iter().zip(objects) {
            match event {
                Event::Begin => self.tally = Tally::default(),
                Event::Piece(_, piece) => self.take(objects, &piece.text, &mut out)?,
                Event::Replay(name, documents) => {
                    if documents.is_empty() {
                        out.warnings.push(format!(
                            "{name}: the audit log has no objects; `ephor serve --audit-log-objects` writes them"
                        ));
                    }
                    self.add(documents, &mut out)?;
                }
                Event::End(name) => self.tally.end(&name, &mut out),
                Event::Broken(text) => out.broken.push(text),
                Event::Failed { name, text } if self.choice.skips_others => {
                    out.broken.push(format!("{name}: {text}"));
                }
                Event::Failed { name, text } => out.failed.push(failed(&name, &text)),
            }
        }
        Ok(out)
    }

    fn take(
        &mut self,
        objects: Option<Result<PieceObjects, LoadError>>,
        text: &str,
        out: &mut Resources,
    ) -> Result<(), InputError> {
        let Some(objects) = objects else { return Ok(()) };
        let stops = |e: LoadError| InputError::at(self.what, &e);
        let objects = match objects {
            Err(e) if self.choice.skips_others => {
                add_broken(out, &e, text);
                return Ok(());
            }
            objects => objects.map_err(stops)?,
        };
        self.tally.parts += objects.parts;
        let mut found = Vec::new();
        for documents in objects.documents {
            match documents {
                Ok(documents) if self.choice.skips_others => {
                    for document in documents {
                        match foreign(&document.value) {
                            None => found.push(document),
                            Some(what) => {
                                self.tally.others += 1;
                                out.others.push(format!("{}:{}: {what}", document.source, document.line));
                            }
                        }
                    }
                }
                Ok(documents) => found.extend(documents),
                Err(e) if self.choice.skips_others && e.is_no_object() => {
                    self.tally.others += 1;
                    out.others.push(format!("{}:{}: no Kubernetes object", e.source, e.line));
                }
                Err(e) if self.choice.skips_others => {
                    self.tally.others += 1;
                    add_broken(out, &e, text);
                }
                Err(e) => return Err(stops(e)),
            }
        }
        self.tally.documents += found.len();
        out.warnings.extend(misread(&found));
        self.add(found, out)
    }

    /// Adds objects; of two objects of one identity the first one counts.
    fn add(&mut self, documents: Vec<Document>, out: &mut Resources) -> Result<(), InputError> {
        for document in documents {
            let is_new = match self.choice.is_unique {
                true => self.seen.is_new(&document.value),
                false => Ok(true),
            };
            match is_new.map_err(|e| InputError::of(self.what, &format!("temporary file: {e}")))? {
                true => out.documents.push(document),
                false => out.duplicates.push(document),
            }
        }
        Ok(())
    }

    /// What comes next; `before` is what the block has so far.
    fn event(&mut self, before: &mut Vec<Event>) -> Result<Option<Event>, InputError> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(input) = self.inputs.pop_front() else { return Ok(None) };
                match input.texts(&self.read) {
                    Ok(texts) => self.open = Some(OpenInput { name: input.name, texts, text: None }),
                    Err(e) => {
                        let text = format!("open {}: {}", input.name, reason(&e));
                        return self.failure(input.name, text, None).map(Some);
                    }
                }
                continue;
            };
            let Some((name, pieces)) = &mut open.text else {
                match open.texts.next_text() {
                    Ok(Some(text)) => return self.begin(text, before).map(Some),
                    Ok(None) => self.open = None,
                    Err(e) => {
                        let (name, text) = (open.name.clone(), e.to_string());
                        self.open = None;
                        return self.failure(name, text, None).map(Some);
                    }
                }
                continue;
            };
            let name = name.clone();
            match pieces.next() {
                Some(Ok(piece)) => return Ok(Some(Event::Piece(name, piece))),
                None => {
                    open.text = None;
                    return Ok(Some(Event::End(name)));
                }
                Some(Err(error)) => {
                    open.text = None;
                    if self.choice.skips_others && !matches!(error, StreamError::Read(_)) {
                        return Ok(Some(Event::Broken(format!("{}: {error}", place(&name, &error)))));
                    }
                    // What the block has of the text is dropped with it.
                    let begin = before.iter().rposition(|event| matches!(event, Event::Begin));
                    let was_used = begin.is_none();
                    begin.into_iter().for_each(|at| before.truncate(at));
                    let place = was_used.then(|| place_of(&name, &error));
                    return self.failure(name.to_string(), error.to_string(), place).map(Some);
                }
            }
        }
    }

    /// Begins a text; of an audit log, which is read whole, the last state of an object counts.
    fn begin(&mut self, text: Text, before: &mut Vec<Event>) -> Result<Event, InputError> {
        let name: Arc<str> = text.name.into();
        let mut pieces = Pieces::new(text.bytes);
        let is_log = pieces.peek().is_ok_and(|text| replay::is_audit_log(&String::from_utf8_lossy(text)));
        if !is_log {
            if let Some(open) = &mut self.open {
                open.text = Some((name, pieces));
            }
            return Ok(Event::Begin);
        }
        match pieces.into_text() {
            Ok(text) => {
                before.push(Event::Begin);
                Ok(Event::Replay(name.clone(), replay::objects(&name, &text, self.options)))
            }
            Err(error) => self.failure(name.to_string(), error.to_string(), None),
        }
    }

    /// An input that cannot be read: the end of the run for the first argument, or one that was
    /// used in part.
    fn failure(&self, name: String, text: String, place: Option<String>) -> Result<Event, InputError> {
        if place.is_some() || self.first.as_ref().is_some_and(|first| *first == name) {
            return Err(InputError { text: format!("failed to load {} ({text})", self.what), place });
        }
        Ok(Event::Failed { name, text })
    }
}

impl Tally {
    /// What is worth a line about a text that was read.
    fn end(&self, name: &str, out: &mut Resources) {
        if self.parts == 0 {
            out.warnings.push(format!("{name}: holds no document"));
        } else if self.documents == 0 && self.others == 0 {
            out.warnings.push(format!("{name}: no resource"));
        }
    }
}

/// Kyverno's block about an argument that cannot be read.
fn failed(place: &str, text: &str) -> String {
    let line = "-".repeat(70);
    format!("\n{line}\nfailed to load resources: {place}. \nerror: {text}\n{line}\n")
}

/// Adds a document that cannot be read, with its place, from a text.
fn add_broken(out: &mut Resources, error: &LoadError, text: &str) {
    let place = format!("{}:{}", error.source, line_of(error));
    match text.contains("{{") {
        true => {
            out.warnings.push(format!("{place}: a template, which `helm template` makes objects of: {error}"))
        }
        false => out.broken.push(format!("{place}: {error}")),
    }
}

/// What an object is that no cluster stores, for programs whose files stand among manifests.
fn foreign(object: &Value) -> Option<&'static str> {
    let group = object.text_at(&["apiVersion"]).split('/').next()?;
    match group {
        "kustomize.config.k8s.io" => Some("a kustomization, no object of a cluster"),
        "chainsaw.kyverno.io" => Some("a file of Chainsaw, no object of a cluster"),
        "cli.kyverno.io" => Some("a file of tests, no object of a cluster"),
        _ => None,
    }
}

/// Where a text broke off.
fn place(name: &str, error: &StreamError) -> String {
    match error {
        StreamError::Utf8(at) => format!("{name}:{}", at.line),
        StreamError::TooLong { line } | StreamError::List { line, .. } => format!("{name}:{line}"),
        _ => name.to_string(),
    }
}

/// The same, and that it stops the run.
fn place_of(name: &str, error: &StreamError) -> String {
    let place = place(name, error);
    match error {
        StreamError::Utf8(_) => format!("{place}: the file is no text from here on"),
        StreamError::TooLong { .. } | StreamError::List { .. } => {
            format!("{place}: this document stops the run")
        }
        _ => format!("{place}: the file cannot be read to its end"),
    }
}
