//! Repaired files: how they are written, and what is reported of them.

use ephor_document::write::{self as yaml, Style};
use ephor_value::Value;

use crate::cli::CommandError;
use crate::cli::console::print;
use crate::cli::outputs::write_whole;

pub(super) fn warnings(indent: &str, warnings: &[String]) {
    let lines: Vec<String> = warnings.iter().map(|w| format!("{indent}WARNING: {w}\n")).collect();
    print(&lines.concat());
}

/// Writes a file and prints whether that succeeded.
pub(super) fn save(what: &str, path: &str, text: &str) {
    print(&format!("  Saving {what}file ({path})...\n"));
    match write_whole(path, text) {
        Ok(()) => print("    OK\n"),
        Err(CommandError::Write { cause, .. }) => print(&format!("    ERROR: {cause}\n")),
        Err(error) => print(&format!("    ERROR: {error}\n")),
    }
}

pub(super) fn yaml_of(value: &Value) -> String {
    yaml::to_string(&value.with_whole_numbers(), Style::Report)
}
