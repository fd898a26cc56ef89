//! The objects of files.
//!
//! In: paths. Out: documents, all in memory or block by block ([`Objects`]); what is left out is
//! printed.

use std::sync::atomic::{AtomicUsize, Ordering};

use ephor_document::Document;
use ephor_engine::Profile;
use ephor_sources::files::Reading;
use ephor_testing::inputs::objects::{InputError, ObjectStream};
use ephor_testing::inputs::resources::{Choice, Resources};

use super::super::log::{Log, Use};
use super::super::object_path::path;
use super::super::output::ApplyOutput;
use super::super::output_options::OutputOptions;
use crate::cli::CommandError;

/// The resources that the arguments mean, all in memory; `is_unique` says whether of two objects of
/// one identity only the first one counts.
///
/// # Errors
/// The first argument cannot be read, or a document is no Kubernetes object.
pub(super) fn load(
    arguments: &[String],
    profile: Profile,
    is_unique: bool,
    output: &OutputOptions,
    log: &Log,
) -> Result<Vec<Document>, CommandError> {
    let mut reader = ObjectReader::open(arguments, profile, is_unique, output, log)?;
    let mut all = Vec::new();
    while !reader.is_at_end() {
        let block = reader.stream.block();
        all.extend(reader.take(block, log)?);
    }
    Ok(all)
}

/// The objects of a run: all in memory, or none where they are read block by block.
#[derive(Default)]
pub(in crate::cli) struct Objects {
    documents: Vec<Document>,
    /// How many were read.
    count: AtomicUsize,
}

impl Objects {
    /// Objects in memory.
    pub(super) fn whole(documents: Vec<Document>) -> Objects {
        Objects { count: AtomicUsize::new(documents.len()), documents }
    }

    /// What is in memory: all objects, unless a run reads them block by block.
    pub(in crate::cli) fn in_memory(&self) -> &[Document] {
        &self.documents
    }

    /// Notes how many more were read.
    pub(in crate::cli::apply) fn add(&self, more: usize) {
        self.count.fetch_add(more, Ordering::Relaxed);
    }

    /// How many were read.
    pub(in crate::cli) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

/// Objects that are read while they are evaluated.
pub(in crate::cli) struct ObjectBlocks {
    /// The first block.
    pub(in crate::cli::apply) first: Vec<Document>,
    /// What follows; there is something.
    pub(in crate::cli::apply) reader: ObjectReader,
}

/// The objects of arguments; those that follow the first block are not read yet.
///
/// # Errors
/// As [`load`].
pub(super) fn stream(
    arguments: &[String],
    profile: Profile,
    output: &OutputOptions,
    log: &Log,
) -> Result<(Objects, Option<ObjectBlocks>), CommandError> {
    let mut reader = ObjectReader::open(arguments, profile, true, output, log)?;
    let block = reader.stream.block();
    let first = reader.take(block, log)?;
    if reader.is_at_end() {
        return Ok((Objects::whole(first), None));
    }
    let objects = Objects { count: AtomicUsize::new(first.len()), ..Objects::default() };
    Ok((objects, Some(ObjectBlocks { first, reader })))
}

/// Objects block by block, with the warnings about them.
pub(in crate::cli::apply) struct ObjectReader {
    /// The blocks.
    pub stream: ObjectStream,
    /// Warnings for the end.
    lines: Vec<(String, Use)>,
    /// Whether blocks of Kyverno about arguments are printed.
    has_notices: bool,
}

impl ObjectReader {
    fn open(
        arguments: &[String],
        profile: Profile,
        is_unique: bool,
        output: &OutputOptions,
        log: &Log,
    ) -> Result<ObjectReader, CommandError> {
        let reading = Reading { recursive: output.recursive, patterns: !output.is_kyverno };
        let choice = Choice { reading, skips_others: output.skips_others(), is_unique };
        let stream = ObjectStream::open(arguments, profile, "resources", choice);
        Ok(ObjectReader {
            stream: stream.map_err(|error| stopped(error, log))?,
            lines: Vec::new(),
            has_notices: !matches!(output.output, ApplyOutput::ReportYaml | ApplyOutput::ReportJson),
        })
    }

    fn is_at_end(&self) -> bool {
        self.stream.is_at_end()
    }

    /// The documents of a block; says what is left out.
    ///
    /// # Errors
    /// The block could not be read.
    pub fn take(
        &mut self,
        block: Result<Resources, InputError>,
        log: &Log,
    ) -> Result<Vec<Document>, CommandError> {
        let block = block.map_err(|error| stopped(error, log))?;
        if self.has_notices {
            block.failed.iter().for_each(|text| log.notice(text));
        }
        block.failed.iter().for_each(|text| log.note(text.trim_matches(['\n', '-'])));
        self.lines.extend(block.warnings.into_iter().map(|text| (text, Use::Notice)));
        self.lines.extend(block.others.into_iter().map(|text| (text, Use::Foreign)));
        if self.is_at_end() {
            log.left_out(&self.lines, "resources");
        }
        for d in block.duplicates {
            log.warn(&format!("{}:{}: duplicate of {}: left out", d.source, d.line, path(&d.value)));
        }
        Ok(block.documents)
    }
}

/// An error that ends the run; its place is a warning.
fn stopped(error: InputError, log: &Log) -> CommandError {
    error.place.iter().for_each(|place| log.warn(place));
    CommandError::input(error.text)
}
