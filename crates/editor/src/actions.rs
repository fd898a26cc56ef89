//! Changes that are offered at a place: those that mend a finding, and all of a file at once.

use crate::diagnostic::{Diagnostic, Fix};
use crate::index::Index;
use crate::span::{Span, TextEdit};

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// What it does.
    pub title: String,
    /// The edits of the file.
    pub edits: Vec<TextEdit>,
    /// The finding that it mends; `None` = all findings of the file that have one safe change.
    pub diagnostic: Option<Diagnostic>,
    /// Whether it is what was meant as far as the text shows.
    pub is_preferred: bool,
}

/// The changes at a part of a file.
pub fn actions(index: &Index, name: &str, within: Span) -> Vec<Action> {
    let shown = index.shown(name);
    let mut out: Vec<Action> = Vec::new();
    for found in shown.iter().filter(|found| found.span.meets(within)) {
        out.extend(found.fixes.iter().map(|fix| Action {
            title: fix.title.clone(),
            edits: fix.edits.clone(),
            diagnostic: Some(found.clone()),
            is_preferred: fix.is_preferred,
        }));
    }
    out.extend(all(index, name));
    out
}

/// All safe changes of a file as one; `None` where there is at most one.
pub fn all(index: &Index, name: &str) -> Option<Action> {
    let mut edits: Vec<TextEdit> = Vec::new();
    let mut count = 0;
    for found in index.shown(name) {
        let safe: Option<&Fix> = found.fixes.iter().find(|fix| fix.is_preferred);
        let Some(fix) = safe else { continue };
        let overlaps = |edit: &TextEdit| edits.iter().any(|other| other.span.meets(edit.span));
        // What overlaps another change is offered again after that.
        if !fix.edits.iter().any(overlaps) {
            edits.extend(fix.edits.iter().cloned());
            count += 1;
        }
    }
    edits.sort_by_key(|edit| edit.span);
    let title = format!("mend {count} findings of this file");
    (count > 1).then_some(Action { title, edits, diagnostic: None, is_preferred: false })
}
