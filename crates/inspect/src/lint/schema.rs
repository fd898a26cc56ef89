//! What the schema of a policy refuses, each part at its place and with what was probably meant.
//!
//! A document is repaired and checked again, so that one mistake does not hide what else is wrong:
//! unknown fields that are close to one that exists are renamed, scalars become the texts that they
//! were meant to be. What else is refused is removed for the loader, and known by its path, as what
//! is missing is, so that nothing is reported that depends on it.

use std::collections::{HashMap, HashSet};

use ephor_api::schema::{self, Problem, SchemaError};
use ephor_value::place::{Path, PathPart, dotted, follow};
use ephor_value::suggest::did_you_mean;
use ephor_value::{Map, Value, print};

use super::finding::Severity;
use super::subject::{Remedy, Spot, Subject, with};

/// How often a document is repaired.
const ROUNDS: usize = 8;

/// What is left of a document after the check.
pub(super) struct Checked {
    /// The document, repaired, with what the schema refuses.
    pub(super) document: Value,
    /// The document without what the schema refuses.
    pub(super) reduced: Value,
    /// Whether either differs from what is written.
    pub(super) repaired: bool,
    /// Whether the reduced one fits its schema.
    pub(super) fits: bool,
    /// The parts that are not as they were written, or not there.
    pub(super) refused: Vec<Path>,
}

impl Checked {
    /// A document that its schema takes.
    pub(super) fn whole(document: &Value) -> Checked {
        Checked {
            document: document.clone(),
            reduced: document.clone(),
            repaired: false,
            fits: true,
            refused: Vec::new(),
        }
    }

    /// Whether the schema takes the document, misspelt fields and texts apart.
    pub(super) fn is_whole(&self) -> bool {
        self.fits && self.refused.is_empty()
    }

    /// Whether what is reported of a part depends on one that was refused: one of them is in the
    /// other.
    pub(super) fn depends(&self, path: &[PathPart]) -> bool {
        self.refused.iter().any(|refused| path.starts_with(refused) || refused.starts_with(path))
    }

    /// Removes what a problem is about, or writes it as it was meant; false when neither can be: a
    /// part is missing, or items would move.
    fn repair(&mut self, subject: &Subject<'_>, problem: &Problem) -> bool {
        let path = &problem.path;
        let (value, depth) = follow(&self.reduced, path);
        let is_there = depth == path.len();
        let is_text = problem.is_type && problem.text.contains("must be of type string");
        let is_scalar = !matches!(value, Value::Map(_) | Value::List(_) | Value::Null);
        self.repaired |= is_there;
        if is_there && is_text && is_scalar {
            let text = Value::from(subject.written(path).unwrap_or_default());
            for document in [&mut self.document, &mut self.reduced] {
                *document = changed(document, path, &mut |_| Some(text.clone()));
            }
            return true;
        }
        let can_go = is_there && matches!(path.last(), Some(PathPart::Key(_)));
        if can_go {
            self.reduced = changed(&self.reduced, path, &mut |_| None);
        }
        self.refused.push(path.clone());
        can_go
    }
}

/// Reports what the schema refuses.
pub(super) fn check(subject: &mut Subject<'_>, written: &Value) -> Checked {
    let mut checked = Checked { fits: false, ..Checked::whole(written) };
    let (api_version, kind) = (written.text_at(&["apiVersion"]), written.text_at(&["kind"]));
    for _ in 0..ROUNDS {
        let problems = match schema::check(&checked.reduced) {
            Ok(_) => {
                checked.fits = true;
                return checked;
            }
            Err(SchemaError::UnknownFields(problems)) => problems,
            Err(error) => {
                let known = |problem: &Problem| checked.refused.iter().any(|p| problem.path.starts_with(p));
                let fresh: Vec<Problem> = error.problems().iter().filter(|p| !known(p)).cloned().collect();
                other(subject, &checked.document, &error, &fresh);
                let repaired = fresh.iter().filter(|problem| checked.repair(subject, problem)).count();
                if repaired < fresh.len() || fresh.is_empty() {
                    return checked;
                }
                continue;
            }
        };
        checked.repaired = true;
        // An object may have thousands of them, so each is written anew once.
        for problems in by_object(&problems) {
            let Some((_, above)) = problems.first().and_then(|problem| problem.path.split_last()) else {
                continue;
            };
            let fields = schema::fields_at(api_version, kind, above);
            let mut names = [Renamed::new(&checked.document, above), Renamed::new(&checked.reduced, above)];
            for problem in problems {
                let Some(PathPart::Key(name)) = problem.path.last() else { continue };
                let meant = did_you_mean(name, &fields);
                let [own, reduced] = &mut names;
                let is_free = own.add(name, meant);
                reduced.add(name, meant);
                unknown(subject, &problem.path, name, (meant, is_free));
                if let Some(meant) = meant.filter(|_| is_free) {
                    subject.renamed.push((with(above, meant), name.to_string()));
                }
            }
            let [own, reduced] = names.map(|names| names.names);
            checked.document = renamed(&checked.document, above, &own);
            checked.reduced = renamed(&checked.reduced, above, &reduced);
        }
    }
    checked
}

/// Problems by the object that has the fields.
fn by_object(problems: &[Problem]) -> Vec<Vec<&Problem>> {
    let mut out: Vec<Vec<&Problem>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for problem in problems {
        let above = problem.path.split_last().map(|(_, above)| dotted(above)).unwrap_or_default();
        let at = *known.entry(above).or_insert(out.len());
        match out.get_mut(at) {
            Some(same) => same.push(problem),
            None => out.push(vec![problem]),
        }
    }
    out
}

/// What fields of an object are renamed to; `None` removes one.
struct Renamed<'n> {
    names: HashMap<&'n str, Option<&'n str>>,
    /// The fields that the object has.
    fields: HashSet<String>,
}

impl<'n> Renamed<'n> {
    fn new(document: &Value, above: &[PathPart]) -> Renamed<'n> {
        let fields = follow(document, above).0.as_map().into_iter().flat_map(Map::keys);
        Renamed { names: HashMap::new(), fields: fields.map(ToString::to_string).collect() }
    }

    /// Renames a field to what was meant, unless the object has that; whether it does.
    fn add(&mut self, name: &'n str, meant: Option<&'n str>) -> bool {
        let meant = meant.filter(|meant| !self.fields.contains(*meant));
        self.fields.remove(name);
        self.fields.extend(meant.map(ToString::to_string));
        self.names.insert(name, meant);
        meant.is_some()
    }
}

/// The document with the part at `path` changed, or without it; items of lists stay.
fn changed(value: &Value, path: &[PathPart], change: &mut dyn FnMut(&Value) -> Option<Value>) -> Value {
    match (value, path.split_first()) {
        (Value::Map(fields), Some((PathPart::Key(key), rest))) => {
            let members = fields.iter().filter_map(|(k, part)| match (*k == *key, rest.is_empty()) {
                (false, _) => Some((k.clone(), part.clone())),
                (true, true) => change(part).map(|part| (k.clone(), part)),
                (true, false) => Some((k.clone(), changed(part, rest, change))),
            });
            Value::Map(members.collect::<Map>())
        }
        (Value::List(items), Some((PathPart::Index(index), rest))) => {
            let parts = items.iter().enumerate().map(|(i, part)| match (i == *index, rest.is_empty()) {
                (true, true) => change(part).unwrap_or_else(|| part.clone()),
                (true, false) => changed(part, rest, change),
                (false, _) => part.clone(),
            });
            Value::list(parts.collect())
        }
        (other, _) => other.clone(),
    }
}

fn unknown(subject: &mut Subject<'_>, path: &Path, name: &str, (meant, is_free): (Option<&str>, bool)) {
    let above = path.split_last().map(|(_, above)| dotted(above)).filter(|above| !above.is_empty());
    let place = above.map(|above| format!(" in `{above}`")).unwrap_or_default();
    let message = format!("unknown field `{name}`{place}");
    let mut remedy = subject.meant(path, Spot::Key, meant);
    if !is_free {
        // The field is there already.
        remedy.fixes.clear();
    }
    subject.report("unknown-field", Severity::Error, path, Spot::Key, message, remedy);
}

/// The document with members of the object at `path` renamed, or without them.
fn renamed(value: &Value, path: &[PathPart], names: &HashMap<&str, Option<&str>>) -> Value {
    let rename = |fields: &Value| {
        let members = fields.as_map().into_iter().flat_map(Map::iter).filter_map(|(key, part)| {
            match names.get(&**key) {
                None => Some((key.clone(), part.clone())),
                Some(Some(to)) => Some(((*to).into(), part.clone())),
                Some(None) => None,
            }
        });
        Value::Map(members.collect::<Map>())
    };
    match path.is_empty() {
        true => rename(value),
        false => changed(value, path, &mut |fields| Some(rename(fields))),
    }
}

fn other(subject: &mut Subject<'_>, document: &Value, error: &SchemaError, problems: &[Problem]) {
    if error.problems().is_empty() {
        subject.add("schema", Severity::Error, None, error.to_string(), None);
    }
    for problem in problems {
        refused(subject, document, problem);
    }
}

fn refused(subject: &mut Subject<'_>, document: &Value, problem: &Problem) {
    let (value, depth) = follow(document, &problem.path);
    let is_there = depth == problem.path.len();
    let place = dotted(&problem.path);
    if problem.is_type && is_there {
        let wanted = problem.text.split_once("must be of type ").map(|(_, rest)| rest);
        let wanted = wanted.and_then(|rest| rest.split(':').next()).unwrap_or("another type");
        let found = schema_type(value);
        let written = subject.written(&problem.path).unwrap_or_default();
        let is_scalar = !matches!(value, Value::Map(_) | Value::List(_) | Value::Null);
        let (message, new) = match (value, wanted) {
            (Value::Bool(_), "string") if !matches!(&*written, "true" | "false") => (
                format!("`{place}` must be a string: `{written}` is a boolean in YAML 1.1"),
                quoted(&written),
            ),
            (_, "string") if is_scalar => {
                (format!("`{place}` must be a string, not {found}"), quoted(&written))
            }
            _ => (format!("`{place}` must be {}, not {found}", article(wanted)), unquoted(value, wanted)),
        };
        let help = new.as_ref().map(|new| match wanted {
            "string" => format!("quote it: {new}"),
            _ => format!("write {new} without quotes"),
        });
        let title = new.as_ref().map(|new| format!("write `{new}`"));
        let fix = new.zip(title).and_then(|(new, title)| subject.fix_value(&problem.path, &new, title, true));
        let remedy = Remedy { help, fixes: fix.into_iter().collect() };
        return subject.report("wrong-type", Severity::Error, &problem.path, Spot::Value, message, remedy);
    }
    if let Some((value, choices)) = problem
        .text
        .split_once("Unsupported value: ")
        .and_then(|(_, rest)| rest.split_once(": supported values: "))
    {
        let names: Vec<&str> = choices.split(", ").map(|c| c.trim_matches('"')).collect();
        let value = value.trim_matches('"');
        let remedy = match did_you_mean(value, &names) {
            Some(meant) => subject.meant(&problem.path, Spot::Value, Some(meant)),
            None => Some(format!("write one of {}", names.join(", "))).into(),
        };
        let message = format!("`{place}` cannot be `{value}`");
        return subject.report("schema", Severity::Error, &problem.path, Spot::Value, message, remedy);
    }
    if problem.text.ends_with(": Required value") && !is_there {
        let Some((PathPart::Key(name), above)) = problem.path.split_last() else { return };
        let message = match above.is_empty() {
            true => format!("the field `{name}` is missing"),
            false => format!("`{}` has no field `{name}`", dotted(above)),
        };
        return subject.report("schema", Severity::Error, above, Spot::Value, message, None);
    }
    let spot = if is_there { Spot::Value } else { Spot::Key };
    subject.report("schema", Severity::Error, &problem.path, spot, problem.text.clone(), None);
}

/// What to write instead of a plain scalar that is no text; nothing for what quotes would not make
/// one: tags, aliases, quotes.
fn quoted(written: &str) -> Option<String> {
    let is_plain =
        !written.is_empty() && !written.starts_with(['!', '&', '*']) && !written.contains(['"', '\\']);
    is_plain.then(|| format!("\"{written}\""))
}

/// A text as a value of another type that it reads as.
fn unquoted(value: &Value, wanted: &str) -> Option<String> {
    let text = value.as_str()?;
    match wanted {
        "boolean" => matches!(text, "true" | "false").then(|| text.to_string()),
        "integer" => text.parse::<i64>().ok().map(|number| number.to_string()),
        _ => None,
    }
}

fn schema_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Int(_) | Value::UInt(_) => "an integer",
        Value::Float(_) => "a number",
        Value::Str(_) => "a string",
        Value::List(_) => "a list",
        _ => "an object",
    }
}

fn article(wanted: &str) -> String {
    match wanted {
        "array" => "a list".to_string(),
        "object" | "integer" => format!("an {wanted}"),
        other => format!("a {other}"),
    }
}

/// The document as text that the loader reads.
pub(super) fn text(document: &Value) -> String {
    print::json(document)
}
