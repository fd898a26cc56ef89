//! Files that a call reads and writes.
//!
//! In: paths and texts of a call. Out: texts with names; files, each whole or not there, and none
//! of them where one cannot be written as the call says. Addresses and standard input are not read.

use std::path::{Component, Path};

use ephor_page::MAX_QUESTION;
use ephor_page::question::{Files, NamedText};
use ephor_sources::files::{FileCause, policies_with_json};
use ephor_value::suggest::did_you_mean;

use super::arguments::{FileArgument, ToolCall};
use super::error::ToolError;
use crate::cli::migrate::Layout;
use crate::cli::outputs::{Outputs, absolute};

/// What a call reads for an argument.
#[derive(Default)]
pub(super) struct ReadFiles {
    /// The texts.
    pub files: Vec<NamedText>,
    /// The paths of the call, and the names of its texts.
    pub arguments: Vec<String>,
    /// What was not read, in words.
    pub notes: Vec<String>,
}

impl ReadFiles {
    /// The files as questions have them.
    pub(super) fn as_question(&self) -> Files {
        Files::List(self.files.clone())
    }
}

/// The files of an argument.
///
/// # Errors
/// One cannot be read, or they are too large together.
pub(super) fn read(call: &ToolCall<'_>, name: &str) -> Result<ReadFiles, ToolError> {
    let mut all = ReadFiles::default();
    for (at, file) in call.files(name).into_iter().enumerate() {
        match file {
            FileArgument::Path(path) => of_path(path, &mut all)?,
            FileArgument::Text { name: given, text } => {
                let name = match given {
                    Some(given) => given.to_string(),
                    None if at == 0 => format!("{name}.yaml"),
                    None => format!("{name}-{}.yaml", at + 1),
                };
                all.arguments.push(name.clone());
                all.files.push(NamedText { name, text: text.into() });
            }
        }
    }
    let bytes = all.files.iter().map(|file| file.text.len()).sum();
    match bytes > MAX_QUESTION {
        true => Err(ToolError::TooLarge { bytes, limit: MAX_QUESTION }),
        false => Ok(all),
    }
}

/// The text of an argument that is one file; empty where it is not given.
///
/// # Errors
/// As [`read`].
pub(super) fn read_one(call: &ToolCall<'_>, name: &str) -> Result<String, ToolError> {
    Ok(read(call, name)?.files.into_iter().next().map(|file| file.text).unwrap_or_default())
}

/// Reads a file, or the YAML and JSON files of a folder.
fn of_path(path: &str, all: &mut ReadFiles) -> Result<(), ToolError> {
    exists(path)?;
    all.arguments.push(path.into());
    if !Path::new(path).is_dir() {
        let failed = |cause| ToolError::Unreadable { path: path.into(), cause };
        let size = std::fs::metadata(path).map_err(failed)?.len();
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        if bytes > MAX_QUESTION {
            return Err(ToolError::TooLarge { bytes, limit: MAX_QUESTION });
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        all.files.push(NamedText { name: path.into(), text });
        return Ok(());
    }
    let loaded = policies_with_json(&[path]);
    if let Some(notice) = loaded.notices.iter().find(|notice| notice.cause == FileCause::Unreadable) {
        return Err(ToolError::Notice(notice.to_string()));
    }
    if loaded.sources.is_empty() {
        return Err(ToolError::NoText { paths: path.into() });
    }
    let is_shown = |cause| !matches!(cause, FileCause::Extension | FileCause::Empty);
    all.notes.extend(loaded.notices.iter().filter(|n| is_shown(n.cause)).map(ToString::to_string));
    let sources = loaded.sources.into_iter();
    all.files.extend(sources.map(|source| NamedText { name: source.name, text: source.text }));
    Ok(())
}

/// Whether there is a file or folder of this path.
///
/// # Errors
/// There is none, or it is no path at all.
pub(super) fn exists(path: &str) -> Result<(), ToolError> {
    if path.is_empty() || path == "-" || path.contains("://") {
        return Err(ToolError::NoPath { path: path.into() });
    }
    let whole = Path::new(path);
    if whole.exists() {
        // A FIFO would block, a device has no end.
        return match whole.is_dir() || whole.is_file() {
            true => Ok(()),
            false => Err(ToolError::NoPath { path: path.into() }),
        };
    }
    let folder = whole.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = whole.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let meant = did_you_mean(&name, &names).map(|name| whole.with_file_name(name).display().to_string());
    Err(ToolError::NoFile { path: path.into(), meant })
}

/// Whether a name can be a file below a folder.
///
/// # Errors
/// It cannot.
pub(super) fn checked_name(name: &str) -> Result<(), ToolError> {
    let mut components = Path::new(name).components();
    let is_below = components.all(|c| matches!(c, Component::Normal(_)));
    match is_below && !name.is_empty() {
        true => Ok(()),
        false => Err(ToolError::Name { name: name.into() }),
    }
}

/// Refuses to write where the server does not, before anything is done.
///
/// # Errors
/// The server does not write, or `overwrite` is set without `output`.
pub(super) fn may_write(call: &ToolCall<'_>) -> Result<(), ToolError> {
    match (call.output("output"), call.flag("overwrite")) {
        (Some(_), _) if call.settings.read_only => Err(ToolError::ReadOnly),
        (None, true) => Err(ToolError::Without { name: "overwrite", with: "output" }),
        _ => Ok(()),
    }
}

/// Writes texts to the path of the call, each file whole, and none where one cannot be written as
/// the call says: a path with the extension of a manifest is the only file, others are folders,
/// laid out as the files that were read. Returns what was written; nothing without a path.
///
/// # Errors
/// A file is there and the call does not overwrite, two files have one path, or one cannot be
/// written.
pub(super) fn write(
    call: &ToolCall<'_>,
    read: &ReadFiles,
    texts: &[(String, String)],
) -> Result<Vec<String>, ToolError> {
    let Some(path) = call.output("output") else { return Ok(Vec::new()) };
    let is_file = [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end));
    if is_file && texts.len() > 1 {
        return Err(ToolError::OneFile { path: path.into(), count: texts.len() });
    }
    let layout = Layout::of(path, &read.arguments);
    let mut outputs = Outputs::default();
    let mut written = Vec::new();
    for (name, text) in texts {
        let target = match is_file {
            true => absolute(Path::new(path)),
            false => absolute(&layout.target(name)),
        };
        if target.exists() && !call.flag("overwrite") {
            return Err(ToolError::Exists { path: target.display().to_string() });
        }
        outputs.add(&target, name, text.clone()).map_err(ToolError::Write)?;
        written.push(target.display().to_string());
    }
    outputs.write().map_err(ToolError::Write)?;
    Ok(written)
}
