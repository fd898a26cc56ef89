//! A log of SARIF as code scanning accepts it: rules with all their texts, results the gravest
//! first, none above the limits.
//!
//! In: rules by their ids, and results with a rank. Out: the log in one line, as logs are read by
//! programs, and a sentence about what was left out of it. Semantics: SARIF 2.1.0, and the limits
//! that GitHub documents for uploads ("SARIF support for code scanning", "Troubleshooting SARIF
//! uploads"): 25,000 results and rules a run, 20 tags a rule, 10 MB compressed. An upload above a
//! limit is refused as a whole.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::message_text::{friendly, message_text};
use crate::formats::WriteError;
use crate::formats::level::Level;
use crate::formats::message::visible;
use crate::formats::uri::{BASE, Uris};
use crate::roots::Roots;
use crate::run::{Note, Severity};
use crate::spool::{SpoolError, Spools};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Most results of a run.
const MAX_RESULTS: usize = 25_000;
/// Most tags of a rule.
const MAX_TAGS: usize = 20;
/// Most characters of a description.
const MAX_DESCRIPTION: usize = 1_024;
/// Most bytes of a log after gzip; a log of fewer bytes is not compressed to know it.
const MAX_COMPRESSED: usize = 10_000_000;

/// A rule, as code scanning shows it. Texts that are empty are replaced by those that say the same
/// with less.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    /// A line; else the id.
    pub title: String,
    /// What it finds; else the title.
    pub description: String,
    /// What its results mean and what to do; else the description.
    pub help: String,
    /// Where more is to be read.
    pub address: Option<String>,
    /// The level of its results, where they say none.
    pub level: Option<Level>,
    /// How much a violation matters.
    pub severity: Option<Severity>,
    /// What it is about.
    pub tags: Vec<String>,
    /// The kind of its policy.
    pub kind: String,
}

/// Where a result stands among all: the smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    is_known: bool,
    level: u8,
    severity: Reverse<Option<Severity>>,
}

impl Rank {
    /// New ones before those of the baseline, then by level, then by severity.
    pub fn of(is_known: bool, level: Option<Level>, severity: Option<Severity>) -> Rank {
        let level = match level {
            Some(Level::Error) => 0,
            Some(Level::Warning) => 1,
            Some(Level::Note) => 2,
            None => 3,
        };
        Rank { is_known, level, severity: Reverse(severity) }
    }
}

/// A log that is being written.
pub(crate) struct Log<'r> {
    /// How files are named.
    pub uris: Uris<'r>,
    rules: Vec<Value>,
    indices: HashMap<String, usize>,
    results: Ranked,
    /// How many results there are, also of those that are left out.
    all: usize,
    /// What the run is of: two runs with the same replace each other. It ends in a slash.
    pub automation: String,
}

impl<'r> Log<'r> {
    /// An empty log of a run in these folders.
    pub fn new(roots: &'r Roots) -> Log<'r> {
        let results = Ranked::default();
        Log {
            uris: Uris(roots),
            rules: Vec::new(),
            indices: HashMap::new(),
            results,
            all: 0,
            automation: String::new(),
        }
    }

    /// The index of a rule, which is described the first time.
    pub fn rule(&mut self, id: &str, describe: impl FnOnce() -> Rule) -> usize {
        if let Some(index) = self.indices.get(id) {
            return *index;
        }
        self.rules.push(descriptor(id, describe()));
        self.indices.insert(id.into(), self.rules.len() - 1);
        self.rules.len() - 1
    }

    /// Adds a result, which is described unless there is no place for it.
    ///
    /// # Errors
    /// There is no room for it, in memory and on the disk.
    pub fn result(
        &mut self,
        rank: Rank,
        describe: impl FnOnce(&Uris<'r>) -> Value,
    ) -> Result<(), SpoolError> {
        self.all += 1;
        match self.results.has_place(rank) {
            true => self.results.add(rank, &describe(&self.uris)),
            false => Ok(()),
        }
    }

    /// Writes the log, with what the run could not use. Returns what was left out of it.
    ///
    /// # Errors
    /// Results cannot be read, or the log cannot be written.
    pub fn finish(self, notes: &[Note], out: &mut dyn Write) -> Result<Option<String>, WriteError> {
        self.finish_within(notes, MAX_COMPRESSED, out)
    }

    /// The same, of at most this many bytes.
    fn finish_within(
        self,
        notes: &[Note],
        most: usize,
        out: &mut dyn Write,
    ) -> Result<Option<String>, WriteError> {
        let all = self.all;
        let mut shown = all.min(MAX_RESULTS);
        let mut limit = format!("{MAX_RESULTS} results of a run");
        loop {
            let left_out = (shown < all).then(|| {
                format!(
                    "{} of {all} results are left out of the SARIF log, the least severe ones: code scanning accepts {limit}",
                    all - shown
                )
            });
            let used = (self.rules.len() > MAX_RESULTS).then(|| self.results.used(shown)).transpose()?;
            let mut write =
                |out: &mut dyn Write| self.write(notes, left_out.as_deref(), shown, used.as_deref(), out);
            let size = compressed(most, &mut write)?;
            if size <= most || shown == 0 {
                write(out)?;
                return Ok(left_out);
            }
            limit = format!("{} MB, compressed", most / 1_000_000);
            // Results are of about one size.
            shown = shown.saturating_mul(most / 100 * 95) / size;
        }
    }

    /// Writes the log with this many results; of the rules those that are `used`, else all.
    fn write(
        &self,
        notes: &[Note],
        left_out: Option<&str>,
        shown: usize,
        used: Option<&[usize]>,
        out: &mut dyn Write,
    ) -> Result<(), WriteError> {
        let rules = match used {
            Some(used) => used.iter().filter_map(|at| self.rules.get(*at)).collect(),
            None => self.rules.iter().collect::<Vec<_>>(),
        };
        let mut has_base = false;
        self.results.each(shown, |result| {
            has_base |= result.first() == Some(&HAS_BASE);
            Ok(!has_base)
        })?;
        let text = frame(&rules, has_base, notes, left_out, &self.automation);
        let (head, tail) = text.rsplit_once(RESULTS).unwrap_or((&text, ""));
        out.write_all(head.as_bytes())?;
        let mut before: &[u8] = b"[";
        self.results.each(shown, |result| {
            out.write_all(std::mem::replace(&mut before, b","))?;
            let json = result.get(1..).unwrap_or_default();
            match used {
                None => out.write_all(json)?,
                Some(used) => out.write_all(renumbered(json, used).to_string().as_bytes())?,
            }
            Ok(true)
        })?;
        if before == b"[" {
            out.write_all(before)?;
        }
        writeln!(out, "]{tail}")?;
        Ok(())
    }
}

/// What stands where the results go; nothing else that is a log's own has such a text.
const RESULTS: &str = r#""\u0000results""#;

/// Before a result that names a file from the root of the repository, and before another.
const HAS_BASE: u8 = b'+';
const HAS_NO_BASE: u8 = b'-';

/// Results by rank; those of one rank are in the order of the run.
#[derive(Default)]
struct Ranked {
    /// The number of results of a rank, and where their lines are.
    ranks: BTreeMap<Rank, (usize, usize)>,
    lines: Spools,
}

impl Ranked {
    /// Whether one more of a rank is among the first ones.
    fn has_place(&self, rank: Rank) -> bool {
        let before: usize = self.ranks.range(..=rank).map(|(_, (number, _))| number).sum();
        before < MAX_RESULTS
    }

    fn add(&mut self, rank: Rank, result: &Value) -> Result<(), SpoolError> {
        let next = self.ranks.len();
        let (number, text) = self.ranks.entry(rank).or_insert((0, next));
        *number += 1;
        let mark = if has_base(result) { HAS_BASE } else { HAS_NO_BASE };
        let mut line = vec![mark];
        // Nothing of a value in memory can fail.
        let _ = serde_json::to_writer(&mut line, result);
        line.push(b'\n');
        self.lines.push(*text, &line)
    }

    /// Calls `read` with the first results, the smallest rank first, as long as it wants more.
    fn each(
        &self,
        shown: usize,
        mut read: impl FnMut(&[u8]) -> Result<bool, WriteError>,
    ) -> Result<(), WriteError> {
        let mut left = shown;
        let mut line = Vec::new();
        for (_, text) in self.ranks.values() {
            let mut lines = BufReader::with_capacity(1 << 16, self.lines.reader(*text));
            while left > 0 {
                line.clear();
                if lines.read_until(b'\n', &mut line)? == 0 {
                    break;
                }
                left -= 1;
                line.pop();
                if !read(&line)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The rules of the first results.
    fn used(&self, shown: usize) -> Result<Vec<usize>, WriteError> {
        let mut used = BTreeSet::new();
        self.each(shown, |result| {
            used.extend(rule_of(&value(result.get(1..).unwrap_or_default())));
            Ok(true)
        })?;
        Ok(used.into_iter().collect())
    }
}

fn value(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_default()
}

fn rule_of(result: &Value) -> Option<usize> {
    result["ruleIndex"].as_u64().and_then(|index| usize::try_from(index).ok())
}

/// A result with the index of its rule among those that are used.
fn renumbered(json: &[u8], used: &[usize]) -> Value {
    let mut result = value(json);
    result["ruleIndex"] = rule_of(&result).and_then(|old| used.binary_search(&old).ok()).into();
    result
}

/// The log with [`RESULTS`] for the results.
fn frame(
    rules: &[&Value],
    has_base: bool,
    notes: &[Note],
    left_out: Option<&str>,
    automation: &str,
) -> String {
    let is_successful = !notes.iter().any(|note| note.is_error);
    let notification =
        |level: &str, text: &str| json!({"level": level, "message": {"text": message_text(text)}});
    let of_note = |note: &Note| notification(if note.is_error { "error" } else { "note" }, &note.text);
    let notifications: Vec<Value> =
        left_out.iter().map(|text| notification("warning", text)).chain(notes.iter().map(of_note)).collect();
    let mut invocation = json!({"executionSuccessful": is_successful});
    if !notifications.is_empty() {
        invocation["toolExecutionNotifications"] = notifications.into();
    }
    let mut run = json!({
        "tool": {"driver": {"name": "ephor", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [invocation],
    });
    if !automation.is_empty() {
        run["automationDetails"] = json!({"id": automation});
    }
    if has_base {
        // Without an address, so that the log is the same on every machine: who reads it knows its
        // repository.
        run["originalUriBaseIds"] = json!({BASE: {"description": {"text": "the root of the repository"}}});
    }
    run["results"] = "\0results".into();
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}).to_string()
}

fn has_base(result: &Value) -> bool {
    let all =
        ["locations", "relatedLocations"].into_iter().filter_map(|key| result[key].as_array()).flatten();
    all.into_iter().any(|location| location["physicalLocation"]["artifactLocation"]["uriBaseId"].is_string())
}

/// How many bytes a text has for an upload; those of the text, if these are few enough.
fn compressed(
    most: usize,
    write: &mut impl FnMut(&mut dyn Write) -> Result<(), WriteError>,
) -> Result<usize, WriteError> {
    let mut plain = Counter(0);
    write(&mut plain)?;
    if plain.0 <= most {
        return Ok(plain.0);
    }
    let mut encoder = GzEncoder::new(Counter(0), Compression::default());
    write(&mut encoder)?;
    Ok(encoder.finish()?.0)
}

/// Counts what is written.
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The word of a level; a result without one is no violation.
pub(crate) fn word(level: Option<Level>) -> &'static str {
    level.map_or("none", Level::word)
}

/// An id without what a terminal would act on.
pub(crate) fn visible_id(id: &str) -> String {
    visible(id, &[])
}

fn descriptor(id: &str, rule: Rule) -> Value {
    let id = visible_id(id);
    let title = first([&rule.title, &id]);
    let description = first([&rule.description, title]);
    let help = first([&rule.help, description]);
    let mut properties = Map::new();
    let mut tags: Vec<String> = Vec::new();
    if let Some(severity) = rule.severity {
        properties.insert("security-severity".into(), score(severity).into());
        // Code scanning shows the severity of rules with this tag only, and reads the first ten
        // tags.
        tags.push("security".into());
    }
    for tag in rule.tags.iter().map(|tag| visible(tag.trim(), &[])) {
        if !tag.is_empty() && !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    tags.truncate(MAX_TAGS);
    properties.insert("tags".into(), tags.into());
    if !rule.kind.is_empty() {
        properties.insert("policyKind".into(), rule.kind.into());
    }
    let mut out = json!({
        "id": id,
        "name": friendly(&id),
        "shortDescription": {"text": message_text(&short(title))},
        "fullDescription": {"text": message_text(&short(description))},
        "help": {"text": message_text(help)},
        "defaultConfiguration": {"level": word(rule.level)},
        "properties": properties,
    });
    if let Some(address) = rule.address {
        out["helpUri"] = address.into();
    }
    out
}

/// The first text that says something.
fn first(texts: [&str; 2]) -> &str {
    texts.into_iter().map(str::trim).find(|text| !text.is_empty()).unwrap_or_default()
}

/// As much of a text as a description may have.
fn short(text: &str) -> Cow<'_, str> {
    match text.chars().nth(MAX_DESCRIPTION) {
        None => text.into(),
        Some(_) => text.chars().take(MAX_DESCRIPTION - 1).chain(['…']).collect(),
    }
}

/// What code scanning reads as critical (over 9), high (over 7), medium (over 4) and low.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "3.0",
        _ => "1.0",
    }
}

/// The part of a file that a result is about.
pub(crate) struct Region<'a> {
    /// The line, from 1; 0 = the whole file.
    pub line: usize,
    /// The column, from 1 in characters; 0 = the whole line.
    pub column: usize,
    /// The column behind it.
    pub end: usize,
    /// The text of the line, if it is to be shown.
    pub text: &'a str,
}

impl Region<'_> {
    /// The first line.
    pub fn top() -> Region<'static> {
        Region { line: 1, column: 0, end: 0, text: "" }
    }
}

/// A part of a file.
pub(crate) fn physical(uris: &Uris<'_>, file: &str, at: &Region<'_>) -> Value {
    let mut out = json!({"artifactLocation": uris.artifact(file)});
    if at.line > 0 {
        let mut region = Map::from_iter([("startLine".to_string(), Value::from(at.line))]);
        if at.column > 0 {
            region.insert("startColumn".into(), at.column.into());
            region.insert("endColumn".into(), at.end.max(at.column + 1).into());
        }
        if !at.text.is_empty() {
            region.insert("snippet".into(), json!({"text": at.text}));
        }
        out["region"] = Value::Object(region);
    }
    out
}
