//! Files that arguments name as policies: whether they exist, and what is wrong in them.
//!
//! In: arguments, what was read from them. Out: documents, errors, and lines that help.

use std::path::Path;

use ephor_document::Duplicates;
use ephor_inspect::lint::{Finding, Roles, Severity, lint};
use ephor_policies::load::{self, Policies};
use ephor_sources::files::{FileCause, Notice, SourceText};
use ephor_value::Value;
use ephor_value::suggest::did_you_mean;

use crate::cli::CommandError;
use crate::cli::bundle::requirements;

/// Whether there is a file or folder of this path; a bundle is fetched, patterns and addresses are
/// not checked.
///
/// # Errors
/// There is none; the error has the file that was probably meant. The bundle may not be used.
pub(super) fn exists(argument: &str) -> Result<(), CommandError> {
    requirements::fetch([argument])?;
    let path = std::path::Path::new(argument);
    if argument == "-" || argument.contains("://") || argument.contains(['*', '?', '[']) || path.exists() {
        return Ok(());
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
    let siblings: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| {
            entries.filter_map(|e| Some(e.ok()?.file_name().to_string_lossy().into_owned())).collect()
        })
        .unwrap_or_default();
    let siblings: Vec<&str> = siblings.iter().map(String::as_str).collect();
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let meant = did_you_mean(&name, &siblings).map(|c| path.with_file_name(c).display().to_string());
    Err(CommandError::NoPolicyFile { path: argument.into(), meant })
}

/// The most lines that help with one file. A choice: the first faults explain the others; a larger
/// number only makes output longer.
pub(super) const MAX_HELPS: usize = 3;

/// What `lint` says is wrong with files of which a policy cannot be used: places and what was
/// probably meant, which Kyverno's texts do not have.
pub fn helps(sources: &[SourceText], loaded: &Policies) -> Vec<String> {
    let is_bad = |file: &str| {
        loaded.problems.iter().any(|p| !p.foreign && *p.source == *file)
            || loaded
                .policies
                .iter()
                .any(|p| *p.source == *file && (p.refused.is_some() || p.uncompiled.is_some()))
    };
    let mut out = Vec::new();
    let definition = loaded.problems.iter().find(|p| p.text.contains(load::NO_DEFINITIONS));
    out.extend(definition.map(|p| {
        format!(
            "{}:{}: a CustomResourceDefinition is no policy; name its file with --crd-paths",
            p.source, p.line
        )
    }));
    for source in sources.iter().filter(|source| is_bad(&source.name)) {
        let one = std::slice::from_ref(source);
        let found = lint(one, &[], &Roles::default()).findings;
        // What the loader reported is not reported again.
        let is_reported =
            |finding: &Finding| loaded.problems.iter().any(|problem| problem.text.contains(&finding.message));
        let errors = found.into_iter().filter(|f| f.severity == Severity::Error && !is_reported(f));
        out.extend(errors.take(MAX_HELPS).map(|Finding { file, line, column, message, help, .. }| {
            let column = if column > 0 { format!(":{column}") } else { String::new() };
            let meant = help.map(|help| format!("; {help}")).unwrap_or_default();
            format!("{file}:{line}{column}: {message}{meant}")
        }));
    }
    out
}

/// Why what a notice is about is not read, where it may hold policies.
pub fn why_unread(notice: &Notice) -> Option<String> {
    match notice.cause {
        FileCause::Unreadable => Some(notice.to_string()),
        // A link in a folder, with which folders may end in circles.
        FileCause::Extension if Path::new(&notice.place).is_dir() => {
            Some(format!("{}: links to folders are not followed", notice.place))
        }
        _ => None,
    }
}

/// The documents of files.
///
/// # Errors
/// A file cannot be read, or is no YAML.
pub(super) fn documents(paths: &[String]) -> Result<Vec<Value>, CommandError> {
    let mut all = Vec::new();
    for path in paths {
        let text = ephor_testing::inputs::read(path).map_err(CommandError::input)?;
        for document in ephor_document::parse_stream(path, &text, Duplicates::Error)? {
            all.push(document?.value);
        }
    }
    Ok(all)
}
