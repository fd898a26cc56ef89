//! A policy while it is checked: its document, its file, and what was found.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use ephor_document::locate::{self, Position};
use ephor_document::{reads_as_text, written};
use ephor_value::Value;
use ephor_value::place::{Path, PathPart};
use ephor_value::suggest::distance;

use super::finding::{Finding, Severity};
use super::fix::{Fix, TextEdit};
use super::place::Lookup;

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

/// Names that differ in more places are guesses.
const CLOSE: usize = 2;

/// What to do about a finding.
#[derive(Clone, Debug, Default)]
pub(super) struct Remedy {
    /// What to write instead, for people.
    pub(super) help: Option<String>,
    /// Changes of the file that do so.
    pub(super) fixes: Vec<Fix>,
}

impl From<Option<String>> for Remedy {
    fn from(help: Option<String>) -> Remedy {
        Remedy { help, fixes: Vec::new() }
    }
}

/// See the module page.
pub(super) struct Subject<'a> {
    /// The file.
    pub(super) file: Arc<str>,
    /// The line of the file on which the document begins.
    pub(super) line: usize,
    /// The text of the document.
    pub(super) text: &'a str,
    /// The byte of the file on which the document begins.
    pub(super) start: usize,
    /// Where the policy stands in the document: in a list, behind `items`.
    pub(super) prefix: Path,
    /// The name of the policy.
    pub(super) policy: String,
    /// What was found.
    pub(super) found: Vec<Finding>,
    /// Where something was found, by line and column of the file and the id of its check.
    pub(super) places: HashSet<(usize, usize, &'static str)>,
    /// Misspelt fields that are read as others: the path as it is read, and the key as it is
    /// written.
    pub(super) renamed: Vec<(Path, String)>,
    /// Where its parts stand.
    pub(super) lookup: Lookup,
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
        remedy: impl Into<Remedy>,
    ) {
        let at = self.place(path, spot);
        self.add(id, severity, at, message.into(), remedy);
    }

    /// The name that was meant in place of a part of the policy, and the fix that writes it.
    pub(super) fn meant(&self, path: &[PathPart], spot: Spot, meant: Option<&str>) -> Remedy {
        let Some(meant) = meant else { return Remedy::default() };
        let mut fix = self.fix(path, spot, meant, format!("write `{meant}`"), true);
        if let Some(fix) = &mut fix {
            // A name that is far away is a guess.
            fix.is_safe = fix.edits.iter().all(|edit| {
                let start = edit.range.start.saturating_sub(self.start);
                let end = edit.range.end.saturating_sub(self.start);
                let old = self.text.get(start..end).unwrap_or_default();
                old.eq_ignore_ascii_case(&edit.text) || distance(old, &edit.text) <= CLOSE
            });
        }
        Remedy { help: Some(format!("did you mean `{meant}`?")), fixes: fix.into_iter().collect() }
    }

    /// What is to be written in place of a part of the policy, and the fix that writes it.
    pub(super) fn instead(&self, path: &[PathPart], spot: Spot, new: Option<&str>) -> Remedy {
        let Some(new) = new else { return Remedy::default() };
        let title = format!("write `{new}`");
        Remedy {
            help: Some(title.clone()),
            fixes: self.fix(path, spot, new, title, true).into_iter().collect(),
        }
    }

    /// A fix that writes a text in place of a part of the policy.
    pub(super) fn fix(
        &self,
        path: &[PathPart],
        spot: Spot,
        new: &str,
        title: String,
        is_safe: bool,
    ) -> Option<Fix> {
        let whole = self.whole(path);
        let (range, text) = match spot {
            Spot::Key => {
                let key = locate::part(self.text, &whole)?.key?;
                let is_bare = self.text.get(key.clone()).is_some_and(|key| !key.starts_with(['"', '\'']));
                (key, if is_bare && reads_as_text(new) { new.to_string() } else { written::quoted(new) })
            }
            Spot::Value => {
                let scalar = written::scalar(self.text, &whole)?;
                let length = scalar.value.chars().count();
                scalar.replaced(self.text, &whole, 0..length, new)?
            }
            Spot::Inside(offset, length) => {
                let scalar = written::scalar(self.text, &whole)?;
                scalar.replaced(self.text, &whole, offset..offset + length, new)?
            }
        };
        Some(self.edit(range, text, title, is_safe))
    }

    /// A fix that writes something else where a value stands, as YAML.
    pub(super) fn fix_value(
        &self,
        path: &[PathPart],
        new: &str,
        title: String,
        is_safe: bool,
    ) -> Option<Fix> {
        let range = locate::part(self.text, &self.whole(path))?.value;
        Some(self.edit(range, new.to_string(), title, is_safe))
    }

    /// A fix that edits the text at `path`, which is `source`; edits are by bytes and in order.
    pub(super) fn fix_inside(
        &self,
        path: &[PathPart],
        source: &str,
        edits: &[(Range<usize>, String)],
        title: String,
        is_safe: bool,
    ) -> Option<Fix> {
        let start = edits.first()?.0.start;
        let end = edits.last()?.0.end;
        let mut new = String::new();
        let mut at = start;
        for (range, text) in edits {
            new.push_str(source.get(at..range.start)?);
            new.push_str(text);
            at = range.end;
        }
        let offset = source.get(..start)?.chars().count();
        let length = source.get(start..end)?.chars().count();
        self.fix(path, Spot::Inside(offset, length), &new, title, is_safe)
    }

    /// A fix that adds items behind the one at `path`, in the form of its list.
    pub(super) fn insert_items(
        &self,
        path: &[PathPart],
        items: &[String],
        title: String,
        is_safe: bool,
    ) -> Option<Fix> {
        let value = locate::part(self.text, &self.whole(path))?.value;
        let line = self.text.get(..value.start)?.rfind('\n').map_or(0, |at| at + 1);
        let before = self.text.get(line..value.start)?;
        let new: String = match before.trim() {
            "-" => {
                let indent = before.len() - before.trim_start().len();
                items.iter().map(|item| format!("\n{}- {item}", " ".repeat(indent))).collect()
            }
            _ => items.iter().map(|item| format!(", {item}")).collect(),
        };
        Some(self.edit(value.end..value.end, new, title, is_safe))
    }

    /// A fix that writes lines before the first field of the object at `path`, indented like it;
    /// `None` for one in braces.
    pub(super) fn insert_fields(&self, path: &[PathPart], lines: &[&str], title: String) -> Option<Fix> {
        let value = locate::part(self.text, &self.whole(path))?.value;
        let line = self.text.get(..value.start)?.rfind('\n').map_or(0, |at| at + 1);
        let indent = self.text.get(line..value.start)?;
        if !indent.bytes().all(|b| b == b' ') || self.text.get(value.start..)?.starts_with('{') {
            return None;
        }
        let new: String = lines.iter().map(|line| format!("{indent}{line}\n")).collect();
        Some(self.edit(line..line, new, title, false))
    }

    fn edit(&self, range: Range<usize>, text: String, title: String, is_safe: bool) -> Fix {
        self.edits(vec![(range, text)], title, is_safe)
    }

    /// A fix of edits by bytes of the document.
    pub(super) fn edits(&self, edits: Vec<(Range<usize>, String)>, title: String, is_safe: bool) -> Fix {
        let moved = |(range, text): (Range<usize>, String)| TextEdit {
            range: range.start + self.start..range.end + self.start,
            text,
        };
        Fix { title, is_safe, edits: edits.into_iter().map(moved).collect() }
    }

    /// The path of a part in the document, with the keys that are written.
    fn whole(&self, path: &[PathPart]) -> Path {
        self.prefix.iter().cloned().chain(self.as_written(path)).collect()
    }

    /// The place of a part of the policy.
    fn place(&self, path: &[PathPart], spot: Spot) -> Option<Position> {
        let whole = self.whole(path);
        match spot {
            Spot::Key => self.lookup.key(self.text, &whole),
            Spot::Value => self.lookup.value(self.text, &whole),
            Spot::Inside(offset, length) => {
                let inside = self.lookup.inside(self.text, &whole, offset, length);
                inside.or_else(|| self.lookup.value(self.text, &whole))
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
        remedy: impl Into<Remedy>,
    ) {
        let Remedy { help, fixes } = remedy.into();
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
            fixes,
            excerpt: self.lookup.line(self.text, at.line).trim_end().to_string(),
        };
        // Rules that are generated repeat what is found in written ones, which come first: at the
        // same place, under a number of their own.
        let is_same = |known: &Finding| {
            (known.id, known.line, known.column, known.end)
                == (finding.id, finding.line, finding.column, finding.end)
                && without_rule(&known.message) == without_rule(&finding.message)
        };
        let place = (finding.line, finding.column, finding.id);
        // Only a finding at a place that has one can be a second one.
        if self.places.insert(place) || !self.found.iter().any(is_same) {
            self.found.push(finding);
        }
    }

    /// The line of the file on which a value begins.
    pub(super) fn line_of(&self, path: &[PathPart]) -> Option<usize> {
        self.place(path, Spot::Value).map(|at| self.line + at.line - 1)
    }

    /// The text of a value as it is written, on its first line.
    pub(super) fn written(&self, path: &[PathPart]) -> Option<String> {
        let at = self.place(path, Spot::Value)?;
        let line = self.lookup.line(self.text, at.line);
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
pub fn each_text<'v>(value: &'v Value, path: &mut Path, visit: &mut dyn FnMut(&'v str, &Path)) {
    ephor_value::stack::deep(|| match value {
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
    });
}
