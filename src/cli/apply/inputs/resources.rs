//! The objects of files.
//!
//! In: paths. Out: documents; what is left out is printed.

use ephor_document::Document;
use ephor_engine::Profile;
use ephor_sources::files::Reading;
use ephor_testing::inputs::resources::{self, Choice};

use super::super::log::{Log, Use};
use super::super::object_path::path;
use super::super::output::ApplyOutput;
use super::super::output_options::OutputOptions;
use crate::cli::CommandError;

/// The resources that the arguments mean.
///
/// # Errors
/// The first argument cannot be read, or a document is no Kubernetes object.
pub(super) fn load(
    arguments: &[String],
    profile: Profile,
    output: &OutputOptions,
    log: &Log,
) -> Result<Vec<Document>, CommandError> {
    let reading = Reading { recursive: output.recursive, patterns: !output.is_kyverno };
    let choice = Choice { reading, skips_others: output.skips_others() };
    let loaded = resources::read(arguments, profile, "resources", choice).map_err(|(text, place)| {
        place.iter().for_each(|place| log.warn(place));
        CommandError::input(text)
    })?;
    if !matches!(output.output, ApplyOutput::ReportYaml | ApplyOutput::ReportJson) {
        loaded.failed.iter().for_each(|block| log.notice(block));
    }
    loaded.failed.iter().for_each(|block| log.note(block.trim_matches(['\n', '-'])));
    let warnings = loaded.warnings.into_iter().map(|text| (text, Use::Notice));
    let others = loaded.others.into_iter().map(|text| (text, Use::Foreign));
    log.left_out(&warnings.chain(others).collect::<Vec<_>>(), "resources");
    Ok(loaded.documents)
}

/// Of two objects of one identity the first one counts.
pub(super) fn without_duplicates(documents: Vec<Document>, log: &Log) -> Vec<Document> {
    let (unique, duplicates) = resources::without_duplicates(documents);
    for d in duplicates {
        log.warn(&format!("{}:{}: duplicate of {}: left out", d.source, d.line, path(&d.value)));
    }
    unique
}
