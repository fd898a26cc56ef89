//! Documents and expressions of `ephor jp`, from files and standard input.

use std::io::Read;

use ephor_document::split;
use ephor_value::Value;

use crate::cli::CommandError;
use crate::cli::console;

/// The text of a file.
///
/// # Errors
/// Kyverno's text: `failed open file a: open a: no such file or directory`.
pub(super) fn file(path: &str) -> Result<String, CommandError> {
    let mut opened =
        std::fs::File::open(path).map_err(|cause| CommandError::Open { path: path.into(), cause })?;
    let mut bytes = Vec::new();
    opened.read_to_end(&mut bytes).map_err(|cause| CommandError::Read { path: path.into(), cause })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The first document of a text. More documents are a warning: Kyverno skips them silently.
///
/// # Errors
/// Kyverno's text.
pub(super) fn document(text: &str) -> Result<Value, CommandError> {
    let value = ephor_search::read(text).map_err(|error| CommandError::Document(error.into()))?;
    let count = split::split(text).map_or(1, |parts| parts.len());
    if count > 1 {
        console::warn(&format!("the input has {count} documents, expressions are evaluated on the first"));
    }
    Ok(value)
}

/// Reads standard input.
///
/// # Errors
/// Standard input cannot be read.
pub(super) fn typed(what: &str) -> Result<String, CommandError> {
    console::print(&format!("Reading from terminal input.\nEnter {what} and hit Ctrl+D.\n"));
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(CommandError::StandardInput)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
