//! `ephor lint --fix`: writing files with fixes, or showing what would be written.

use std::path::Path;

use ephor_inspect::lint::FixedFile;
use ephor_report::diff::unified;
use ephor_sources::files::SourceText;

use crate::cli::outputs::Outputs;
use crate::cli::{CommandError, console};

/// Writes the files, each whole or not at all, and says what was changed; with `is_dry` prints a
/// diff instead.
///
/// # Errors
/// A file cannot be written.
pub(super) fn finish(fixed: &[FixedFile], is_dry: bool) -> Result<(), CommandError> {
    if is_dry {
        let diffs: Vec<String> =
            fixed.iter().map(|file| unified(&file.name, &file.before, &file.after)).collect();
        console::print(&diffs.concat());
        return Ok(());
    }
    let mut outputs = Outputs::default();
    let mut lines = String::new();
    for file in fixed {
        if !Path::new(&file.name).is_file() {
            console::warn(&format!("{}: fixes are not written, it is no file", file.name));
            continue;
        }
        outputs.add(Path::new(&file.name), "fixes", file.after.clone())?;
        for done in &file.done {
            lines.push_str(&format!("{}:{}: fixed: {} [{}]\n", file.name, done.line, done.title, done.id));
        }
    }
    outputs.write()?;
    console::error(&lines);
    Ok(())
}

/// Puts the new texts in place of those that were read.
pub(super) fn replace(sources: &mut [SourceText], fixed: Vec<FixedFile>) {
    for file in fixed.into_iter().filter(|file| Path::new(&file.name).is_file()) {
        if let Some(source) = sources.iter_mut().find(|source| source.name == file.name) {
            source.text = file.after;
        }
    }
}
