//! The objects of files.
//!
//! In: paths. Out: documents, all in memory or block by block ([`Objects`]); what is left out is
//! printed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ephor_cluster::Failure;
use ephor_document::Document;
use ephor_engine::Profile;
use ephor_policies::lookups::Lookups;
use ephor_sources::download::is_url;
use ephor_sources::files::Reading;
use ephor_sources::files::repository::Ignores;
use ephor_sources::offline::RetainedObjects;
use ephor_testing::inputs::objects::{InputError, ObjectStream};
use ephor_testing::inputs::resources::{Choice, Resources};

use super::super::log::{Log, Use};
use super::super::object_path::path;
use super::super::output::ApplyOutput;
use super::super::output_options::OutputOptions;
use super::cluster::{self, ClusterObjects};
use super::selection::Selection;
use crate::cli::{CommandError, console};

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
    let mut reader = ObjectReader::open(arguments, profile, is_unique, Selection::default(), output)?;
    let mut all = Vec::new();
    while !reader.is_at_end() {
        let block = reader.block();
        all.extend(reader.take(block, log)?.documents);
    }
    Ok(all)
}

/// The objects of a run: all in memory, or none where they are read block by block.
#[derive(Default)]
pub(in crate::cli) struct Objects {
    documents: Vec<Document>,
    /// Which of them policies are applied on.
    selection: Selection,
    /// On how many objects policies are applied.
    count: AtomicUsize,
}

impl Objects {
    /// Objects in memory.
    pub(super) fn whole(documents: Vec<Document>, selection: Selection) -> Objects {
        let objects = Objects { documents, selection, count: AtomicUsize::default() };
        objects.add(objects.own().count());
        objects
    }

    /// The objects in memory that policies are applied on.
    pub(in crate::cli::apply) fn own(&self) -> impl Iterator<Item = PlacedObject<'_>> {
        let all = (0..).zip(&self.documents).map(|(at, document)| PlacedObject { at, document });
        all.filter(|object| self.selection.has(&object.document.value, object.at))
    }

    /// What is in memory: all objects, unless a run reads them block by block.
    pub(in crate::cli) fn in_memory(&self) -> &[Document] {
        &self.documents
    }

    /// Notes that policies are applied on more.
    pub(in crate::cli::apply) fn add(&self, more: usize) {
        self.count.fetch_add(more, Ordering::Relaxed);
    }

    /// How many policies are applied on.
    pub(in crate::cli) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }
}

/// The objects that rules look up, where not all are in memory.
#[derive(Default)]
pub(super) struct LookedUp {
    pub documents: Vec<Document>,
    /// What they are; `None` = all objects are in memory.
    pub retained: Option<Arc<RetainedObjects>>,
}

impl LookedUp {
    /// Those of the arguments, in order. What cannot be read is an error when the objects are
    /// evaluated.
    pub fn read(
        arguments: &[String],
        profile: Profile,
        output: &OutputOptions,
        lookups: Lookups,
    ) -> LookedUp {
        let mut documents = Vec::new();
        let stream = ObjectStream::open(arguments, profile, "resources", choice(true, output));
        let mut stream = stream.ok();
        while let Some(open) = stream.as_mut().filter(|stream| !stream.is_at_end()) {
            match open.block() {
                Ok(block) => {
                    documents.extend(block.documents.into_iter().filter(|d| lookups.may_have(&d.value)))
                }
                Err(_) => stream = None,
            }
        }
        let resources = match lookups {
            Lookups::Kinds { resources, .. } => resources,
            Lookups::Any => Vec::new(),
        };
        LookedUp { documents, retained: Some(Arc::new(RetainedObjects::new(resources))) }
    }
}

/// Whether the same bytes come again when arguments are read again.
pub(super) fn can_be_read_twice(arguments: &[String]) -> bool {
    !arguments.iter().any(|argument| argument == "-" || is_url(argument))
}

/// Objects that are read while they are evaluated.
pub(in crate::cli) struct ObjectBlocks {
    /// The first block.
    pub(in crate::cli::apply) first: ObjectBlock,
    /// What follows.
    pub(in crate::cli::apply) reader: ObjectReader,
}

/// The objects of a reader; those that follow the first block are not read yet.
///
/// # Errors
/// As [`load`].
pub(super) fn stream(
    mut reader: ObjectReader,
    log: &Log,
) -> Result<(Objects, Option<ObjectBlocks>), CommandError> {
    let block = reader.block();
    let first = reader.take(block, log)?;
    // Of the objects of a shard the positions have to be known.
    if reader.is_at_end() && reader.selection.is_whole() {
        return Ok((Objects::whole(first.documents, reader.selection), None));
    }
    let objects = Objects { count: AtomicUsize::new(first.documents.len()), ..Objects::default() };
    Ok((objects, Some(ObjectBlocks { first, reader })))
}

/// Objects that stand together in the input.
#[derive(Default)]
pub(in crate::cli::apply) struct ObjectBlock {
    documents: Vec<Document>,
    /// The position of each among all objects of the run, from 0.
    positions: Vec<u64>,
}

impl ObjectBlock {
    /// The objects, in order.
    pub fn objects(&self) -> Vec<PlacedObject<'_>> {
        let placed = |(document, at): (_, &u64)| PlacedObject { at: *at, document };
        self.documents.iter().zip(&self.positions).map(placed).collect()
    }

    /// The first object.
    pub fn first(&self) -> Option<&Document> {
        self.documents.first()
    }
}

/// An object that policies are applied on.
#[derive(Clone, Copy)]
pub(in crate::cli::apply) struct PlacedObject<'d> {
    /// Its position among all objects of the run, from 0.
    pub at: u64,
    /// The object.
    pub document: &'d Document,
}

/// Where objects are read from.
enum Source {
    Files(Box<ObjectStream>),
    Cluster(ClusterObjects),
}

/// Why objects cannot be read.
pub(in crate::cli::apply) enum BlockError {
    Files(InputError),
    Cluster(Failure),
}

/// Objects block by block, with the warnings about them.
pub(in crate::cli::apply) struct ObjectReader {
    source: Source,
    /// Which objects are taken.
    selection: Selection,
    /// How many objects there were so far, also in other shards.
    count: u64,
    /// Warnings for the end.
    lines: Vec<(String, Use)>,
    /// Whether blocks of Kyverno about arguments are printed.
    has_notices: bool,
}

impl ObjectReader {
    pub(super) fn of_cluster(objects: ClusterObjects, selection: Selection) -> ObjectReader {
        let source = Source::Cluster(objects);
        ObjectReader { source, selection, count: 0, lines: Vec::new(), has_notices: true }
    }

    /// The objects of resource arguments.
    ///
    /// # Errors
    /// As [`load`].
    pub(super) fn open(
        arguments: &[String],
        profile: Profile,
        is_unique: bool,
        selection: Selection,
        output: &OutputOptions,
    ) -> Result<ObjectReader, CommandError> {
        let stream = ObjectStream::open(arguments, profile, "resources", choice(is_unique, output));
        Ok(ObjectReader {
            source: Source::Files(Box::new(stream.map_err(stopped)?)),
            selection,
            count: 0,
            lines: Vec::new(),
            has_notices: !matches!(output.output, ApplyOutput::ReportYaml | ApplyOutput::ReportJson),
        })
    }

    /// Whether everything was read.
    pub fn is_at_end(&self) -> bool {
        match &self.source {
            Source::Files(stream) => stream.is_at_end(),
            Source::Cluster(objects) => objects.is_at_end(),
        }
    }

    /// How many bytes there are to read, where that is known.
    pub fn size(&self) -> Option<u64> {
        match &self.source {
            Source::Files(stream) => stream.size(),
            Source::Cluster(_) => None,
        }
    }

    /// How many bytes were read.
    pub fn read(&self) -> u64 {
        match &self.source {
            Source::Files(stream) => stream.read(),
            Source::Cluster(_) => 0,
        }
    }

    /// Reads the next block, which [`ObjectReader::take`] takes.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn block(&mut self) -> Result<Resources, BlockError> {
        match &mut self.source {
            Source::Files(stream) => stream.block().map_err(BlockError::Files),
            Source::Cluster(objects) => objects.block().map_err(BlockError::Cluster),
        }
    }

    /// The objects of a block that are selected; says what is left out.
    ///
    /// # Errors
    /// The block could not be read.
    pub fn take(
        &mut self,
        block: Result<Resources, BlockError>,
        log: &Log,
    ) -> Result<ObjectBlock, CommandError> {
        let block = block.map_err(|error| match error {
            BlockError::Files(error) => stopped(error),
            BlockError::Cluster(cause) => cluster::failed(cause),
        })?;
        if self.has_notices {
            block.failed.iter().for_each(|text| log.notice(text));
        }
        block.failed.iter().for_each(|text| log.note(text.trim_matches(['\n', '-'])));
        self.lines.extend(block.warnings.into_iter().map(|text| (text, Use::Notice)));
        block.broken.iter().for_each(|text| log.broken(text));
        self.lines.extend(block.others.into_iter().map(|text| (text, Use::Foreign)));
        if self.is_at_end() {
            log.left_out(&self.lines, "resources");
        }
        for d in block.duplicates {
            log.warn(&format!("{}:{}: duplicate of {}: left out", d.source, d.line, path(&d.value)));
        }
        let mut own = ObjectBlock::default();
        for document in block.documents {
            if self.selection.has(&document.value, self.count) {
                own.documents.push(document);
                own.positions.push(self.count);
            }
            self.count += 1;
        }
        Ok(own)
    }
}

/// What counts as a resource.
fn choice(is_unique: bool, output: &OutputOptions) -> Choice {
    let ignores = Ignores {
        exclude: output.exclude.clone(),
        is_repository: output.skips_others(),
        renders: output.renders,
        changed: output.changed.clone(),
    };
    let reading = Reading { recursive: output.recursive, patterns: !output.is_kyverno, ignores };
    Choice { reading, skips_others: output.skips_others(), is_unique }
}

/// An error that ends the run; its place is a warning.
fn stopped(error: InputError) -> CommandError {
    // Which file it is has to be known, whatever is printed else.
    error.place.iter().for_each(|place| console::warn(place));
    CommandError::input(error.text)
}
