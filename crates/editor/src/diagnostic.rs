//! What an editor shows at a place of a text.

use std::sync::Arc;

use crate::span::{Location, Span, TextEdit};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Good to know.
    Note,
    /// It probably does not do what was meant, or a policy in audit mode is violated.
    Warning,
    /// It cannot work, or a cluster refuses it.
    Error,
}

/// A change of one file that removes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, for the list from which the user chooses.
    pub title: String,
    /// The changes of the text.
    pub edits: Vec<TextEdit>,
    /// Whether it is what was meant as far as the text shows.
    pub is_preferred: bool,
}

/// A finding at a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The part.
    pub span: Span,
    /// How bad it is.
    pub level: Level,
    /// The id of the check, `unknown-field`; of a violation the name of the policy.
    pub code: Arc<str>,
    /// What is wrong, and what to write instead.
    pub message: String,
    /// Other places with what they have to do with it: the rule that is violated.
    pub related: Vec<(Location, String)>,
    /// Changes that remove it.
    pub fixes: Vec<Fix>,
    /// Whether it is about something deprecated.
    pub is_deprecated: bool,
    /// Whether it is about something that nothing reads.
    pub is_unused: bool,
}

impl Diagnostic {
    /// A finding without other places and fixes.
    pub fn new(
        span: Span,
        level: Level,
        code: impl Into<Arc<str>>,
        message: impl Into<String>,
    ) -> Diagnostic {
        Diagnostic {
            span,
            level,
            code: code.into(),
            message: message.into(),
            related: Vec::new(),
            fixes: Vec::new(),
            is_deprecated: false,
            is_unused: false,
        }
    }
}

/// Diagnostics of a file that are shown at most. Editors become slow at some thousands; with fewer
/// the user has to check again more often after having repaired some.
pub const MAX_DIAGNOSTICS: usize = 1_000;

/// The worst of many diagnostics, with a last one that says how many were left out.
pub fn limited(mut all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    all.sort_by(|a, b| (a.span, b.level).cmp(&(b.span, a.level)));
    all.dedup();
    if all.len() <= MAX_DIAGNOSTICS {
        return all;
    }
    let left = all.len() - MAX_DIAGNOSTICS;
    all.sort_by_key(|d| std::cmp::Reverse(d.level));
    all.truncate(MAX_DIAGNOSTICS);
    all.sort_by_key(|d| d.span);
    let last = all.last().map_or(Span::default(), |d| Span::at(d.span.end));
    let text = format!("{left} more are not shown: repair those above first");
    all.push(Diagnostic::new(last, Level::Note, "too-many", text));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_diagnostics_the_worst_are_shown_and_the_others_counted() {
        let one = |at: usize| {
            let level = if at.is_multiple_of(100) { Level::Error } else { Level::Warning };
            Diagnostic::new(Span::of(at, 1), level, "x", "y")
        };
        let shown = limited((0..10_000).map(one).collect());
        assert_eq!(shown.len(), MAX_DIAGNOSTICS + 1);
        assert_eq!(shown.iter().filter(|d| d.level == Level::Error).count(), 100);
        let last = shown.last().map(|d| d.message.as_str());
        assert_eq!(last, Some("9000 more are not shown: repair those above first"));
        assert!(shown.windows(2).all(|pair| pair[0].span.start <= pair[1].span.start));
    }

    #[test]
    fn the_same_diagnostic_is_shown_once() {
        let one = Diagnostic::new(Span::of(1, 2), Level::Error, "x", "y");
        assert_eq!(limited(vec![one.clone(), one.clone()]), [one]);
    }
}
