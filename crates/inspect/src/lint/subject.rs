//! A policy while it is checked: its document, its file, and what was found.

use std::sync::Arc;

use ephor_document::locate::Position;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart};

use super::finding::{Finding, Severity};
use super::place;

/// Which part of a value a finding is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spot {
    /// The key.
    Key,
    /// The value.
    Value,
    /// This many characters of a text, this many from its beginning.
    Inside(usize, usize),
}

/// See the module page.
pub(super) struct Subject<'a> {
    /// The file.
    pub(super) file: Arc<str>,
    /// The line of the file on which the document begins.
    pub(super) line: usize,
    /// The text of the document.
    pub(super) text: &'a str,
    /// Where the policy stands in the document: in a list, behind `items`.
    pub(super) prefix: Path,
    /// The name of the policy.
    pub(super) policy: String,
    /// What was found.
    pub(super) found: Vec<Finding>,
    /// Misspelt fields that are read as others: the path as it is read, and the key as it is
    /// written.
    pub(super) renamed: Vec<(Path, String)>,
}

/// A message that names a rule by its number, without the number.
fn without_rule(message: &str) -> String {
    const RULES: &str = "spec.rules[";
    let mut out = String::new();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once(RULES) {
        out.push_str(before);
        out.push_str(RULES);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out + rest
}

impl Subject<'_> {
    /// Adds a finding about the part of the policy at `path`.
    pub(super) fn report(
        &mut self,
        id: &'static str,
        severity: Severity,
        path: &[PathPart],
        spot: Spot,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let at = self.place(path, spot);
        self.add(id, severity, at, message.into(), help);
    }

    /// The place of a part of the policy.
    fn place(&self, path: &[PathPart], spot: Spot) -> Option<Position> {
        let whole: Path = self.prefix.iter().cloned().chain(self.as_written(path)).collect();
        match spot {
            Spot::Key => place::key(self.text, &whole),
            Spot::Value => place::value(self.text, &whole),
            Spot::Inside(offset, length) => {
                place::inside(self.text, &whole, offset, length).or_else(|| place::value(self.text, &whole))
            }
        }
    }

    /// The path with the keys that are written, where fields are read as others.
    fn as_written(&self, path: &[PathPart]) -> Path {
        let written = |(at, part): (usize, &PathPart)| {
            let renamed = self.renamed.iter().find(|(read, _)| Some(&**read) == path.get(..=at));
            renamed.map_or_else(|| part.clone(), |(_, key)| PathPart::Key(key.as_str().into()))
        };
        path.iter().enumerate().map(written).collect()
    }

    /// Adds a finding at a place of the document, or at its kind.
    pub(super) fn add(
        &mut self,
        id: &'static str,
        severity: Severity,
        at: Option<Position>,
        message: String,
        help: Option<String>,
    ) {
        let of_kind = || self.place(&[PathPart::Key("kind".into())], Spot::Value);
        let at = at.or_else(of_kind).unwrap_or(Position { line: 1, col: 0, len: 0 });
        let finding = Finding {
            id,
            severity,
            policy: self.policy.clone(),
            file: self.file.clone(),
            line: self.line + at.line - 1,
            column: at.col,
            end: if at.col == 0 { 0 } else { at.col + at.len },
            message,
            help,
            fixes: Vec::new(),
            excerpt: self.text.lines().nth(at.line - 1).unwrap_or_default().trim_end().to_string(),
        };
        // Rules that are generated repeat what is found in written ones, which come first: at the
        // same place, under a number of their own.
        let is_same = |known: &Finding| {
            (known.id, known.line, known.column, known.end)
                == (finding.id, finding.line, finding.column, finding.end)
                && without_rule(&known.message) == without_rule(&finding.message)
        };
        if !self.found.iter().any(is_same) {
            self.found.push(finding);
        }
    }

    /// The text of a value as it is written, on its first line.
    pub(super) fn written(&self, path: &[PathPart]) -> Option<String> {
        let at = self.place(path, Spot::Value)?;
        let line = self.text.lines().nth(at.line - 1)?;
        Some(line.chars().skip(at.col - 1).take(at.len).collect())
    }

    /// Whether anything was found by a check at or below a path's line and column.
    pub(super) fn has(&self, ids: &[&str]) -> bool {
        self.found.iter().any(|f| ids.contains(&f.id))
    }
}

/// The path with another key behind it.
pub(super) fn with(path: &[PathPart], key: &str) -> Path {
    path.iter().cloned().chain([PathPart::Key(key.into())]).collect()
}

/// The path with a key and an index behind it.
pub(super) fn item(path: &[PathPart], key: &str, index: usize) -> Path {
    path.iter().cloned().chain([PathPart::Key(key.into()), PathPart::Index(index)]).collect()
}

/// Calls `visit` with each text below a value, keys left out, and its path.
pub(super) fn each_text<'v>(value: &'v Value, path: &mut Path, visit: &mut dyn FnMut(&'v str, &Path)) {
    match value {
        Value::Str(text) => visit(text, path),
        Value::List(items) => {
            for (i, item) in items.iter().enumerate() {
                path.push(PathPart::Index(i));
                each_text(item, path, visit);
                path.pop();
            }
        }
        Value::Map(fields) => {
            for (key, item) in fields.iter() {
                path.push(PathPart::Key(key.clone()));
                each_text(item, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}
