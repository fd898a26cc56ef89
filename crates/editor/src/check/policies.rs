//! What `ephor lint` finds in the policies of a file.

use crate::diagnostic::Diagnostic;
use crate::index::{FileState, Index};
use crate::linted::findings;

/// Adds the findings about a file.
pub(super) fn check(index: &Index, name: &str, file: &FileState, out: &mut Vec<Diagnostic>) {
    match (&file.linted, index.linter()) {
        (Some(linted), _) => out.extend(linted.iter().cloned()),
        (None, Some(linter)) => out.extend(findings(linter, name, &file.text, &|| false)),
        (None, None) => {}
    }
}
