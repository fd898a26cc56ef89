//! The file of a report, and the format that its extension names.

use clap::ValueEnum;
use ephor_report::formats::Format;

use crate::cli::apply::conflict::ApplyConflict;
use crate::cli::arguments::given;

/// The file of the report with its format: the one that is named, else that of the file's
/// extension.
///
/// # Errors
/// Neither names a format.
pub(super) fn report_file(
    format: Option<Format>,
    file: &Option<String>,
) -> Result<Option<(Format, String)>, ApplyConflict> {
    let Some(file) = given(file) else { return Ok(None) };
    match format.or_else(|| format_of_extension(file)) {
        Some(format) => Ok(Some((format, file.into()))),
        None => Err(ApplyConflict::NoFormat { file: file.into() }),
    }
}

/// The extension of a file.
pub(super) fn extension(file: &str) -> Option<&str> {
    std::path::Path::new(file).extension()?.to_str()
}

/// The format that the name of a file has: that of its extension, but for the report of Code
/// Quality, which GitLab's documentation calls `gl-code-quality-report.json`.
pub(super) fn format_of_extension(file: &str) -> Option<Format> {
    let name = std::path::Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if extension(file) == Some("json")
        && ["code-quality", "codequality"].iter().any(|part| name.contains(part))
    {
        return Some(Format::Gitlab);
    }
    Format::of(name_of_extension(file)?)
}

/// The form of a command's own that the extension of a file names.
pub(super) fn form_of_extension<F: ValueEnum>(file: &str) -> Option<F> {
    F::from_str(name_of_extension(file)?, false).ok()
}

/// The name of the format that the extension of a file means.
fn name_of_extension(file: &str) -> Option<&str> {
    match extension(file)? {
        "xml" => Some("junit"),
        "md" => Some("markdown"),
        "txt" => Some("text"),
        same @ ("sarif" | "json" | "jsonl" | "html") => Some(same),
        _ => None,
    }
}
