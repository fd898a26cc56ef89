//! Issues of expressions, in cel-go's words.

use std::fmt::{self, Write};

use super::ast::Place;

/// Something wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where.
    pub at: Place,
    /// What, without place.
    pub text: String,
}

impl Issue {
    /// An issue.
    pub fn new(at: Place, text: impl Into<String>) -> Issue {
        Issue { at, text: text.into() }
    }
}

/// Why an expression is refused; the text is that of [`report`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issues {
    /// The expression.
    pub source: Box<str>,
    /// What is wrong with it.
    pub all: Vec<Issue>,
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&report(&self.source, &self.all))
    }
}

impl std::error::Error for Issues {}

/// How many issues are shown.
const MAX_SHOWN: usize = 100;

/// The issues in the order of their places, each as `ERROR: <input>:1:5: …` with the line and a
/// caret.
pub fn report(source: &str, issues: &[Issue]) -> String {
    let mut sorted: Vec<&Issue> = issues.iter().collect();
    // Those without a place come first.
    sorted.sort_by_key(|issue| match issue.at {
        NOWHERE => 0,
        BEFORE => 1,
        at => u64::from(at) + 2,
    });
    let mut out = String::new();
    let more = sorted.len().saturating_sub(MAX_SHOWN);
    for (i, issue) in sorted.into_iter().take(MAX_SHOWN).enumerate() {
        if i > 0 {
            out.push('\n');
        }
        write_one(&mut out, source, issue);
    }
    if more > 0 {
        let _ = write!(out, "\n{more} more errors were truncated");
    }
    out
}

/// Line and column of a place, from 1; columns count characters.
pub fn line_and_column(source: &str, at: Place) -> (usize, usize) {
    let head = source.get(..at as usize).unwrap_or(source);
    let start = head.rfind('\n').map_or(0, |n| n + 1);
    let column = head.get(start..).unwrap_or_default().chars().count() + 1;
    (head.matches('\n').count() + 1, column)
}

/// The place of an issue that has none.
pub const NOWHERE: Place = Place::MAX;
/// The place of an issue whose place is unknown: before the first column.
pub const BEFORE: Place = Place::MAX - 1;

fn write_one(out: &mut String, source: &str, issue: &Issue) {
    if source.is_empty() {
        let _ = write!(out, "ERROR: <input>:1:0: {}", issue.text);
        return;
    }
    if issue.at == NOWHERE {
        let _ = write!(out, "ERROR: <input>:-1:0: {}", issue.text);
        return;
    }
    let (line, column) = match issue.at {
        BEFORE => (1, 0),
        at => line_and_column(source, at),
    };
    let _ = write!(out, "ERROR: <input>:{line}:{column}: {}", issue.text);
    let shown = source.split('\n').nth(line - 1).unwrap_or_default().replace('\t', " ");
    let _ = write!(out, "\n | {shown}\n | ");
    // Characters of several bytes are taken for wide ones.
    let mut chars = shown.chars();
    for c in chars.by_ref().take(column.saturating_sub(1)) {
        out.push(if c.len_utf8() > 1 { '．' } else { '.' });
    }
    out.push(if chars.next().is_some_and(|c| c.len_utf8() > 1) { '＾' } else { '^' });
}
