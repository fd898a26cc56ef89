//! `ephor fix policy`: repairs policies with deprecated syntax.
//!
//! In: files. Out: lines in Kyverno 1.19.1's words; with `--save` the files, in which a repaired
//! policy is printed anew, with its defaults, as Kyverno does. Everything else of a file stays as
//! it is, byte for byte: documents that need no repair, other objects, the items next to a policy
//! in a List, comments above and below a document. What a repaired document loses is a warning.

use std::path::Path;

use ephor_api::repair;
use ephor_document::split::{self, Part};
use ephor_policies::load::{self, LoadedPolicy};
use ephor_sources::files;
use ephor_value::Value;
use ephor_value::place::PathPart;

use crate::cli::CommandError;
use crate::cli::console::{print, warn};
use crate::cli::fix::output::{save, warnings, yaml_of};
use crate::cli::usage::Usage;

/// A repaired policy, and where it stands.
struct Repair<'p> {
    policy: &'p LoadedPolicy,
    value: Value,
}

/// Repairs the policies of files and folders.
///
/// # Errors
/// No argument, a missing path.
pub(super) fn run(paths: &[String], is_saved: bool) -> Result<(), CommandError> {
    if paths.is_empty() {
        return Err(Usage::NoArguments.into());
    }
    if let Some(path) = paths.iter().find(|path| !Path::new(path).exists()) {
        return Err(CommandError::NoPath { path: path.clone() });
    }
    for source in &files::policies(paths).sources {
        let read = load::argument(std::slice::from_ref(source));
        for problem in read.problems.iter().filter(|p| !p.foreign) {
            warn(&problem.to_string());
        }
        let is_own = |p: &&LoadedPolicy| matches!(p.document.text_at(&["kind"]), "ClusterPolicy" | "Policy");
        let mut repairs = Vec::new();
        for policy in read.policies.iter().filter(is_own) {
            print(&format!("Processing file ({})...\n", source.name));
            let (value, notes) = repair::policy(&policy.document);
            warnings("  ", &notes);
            if !notes.is_empty() {
                repairs.push(Repair { policy, value });
            }
        }
        if is_saved && !repairs.is_empty() {
            let rewritten = rewrite(&source.text, &repairs);
            save("", &source.name, &rewritten.text);
            warn(&format!("{}: {}", source.name, changes(rewritten.lost)));
        }
    }
    Ok(())
}

/// What else changes in a file with repaired policies.
fn changes(lost: usize) -> String {
    let defaults = "the repaired policies are printed anew with the defaults of their fields";
    match lost {
        0 => defaults.to_string(),
        1 => format!("{defaults}; 1 comment of them is not in the file"),
        n => format!("{defaults}; {n} comments of them are not in the file"),
    }
}

/// A file with its repaired policies.
struct Rewritten {
    text: String,
    /// How many comments it does not have any more.
    lost: usize,
}

fn rewrite(whole: &str, repairs: &[Repair<'_>]) -> Rewritten {
    let whole = whole.strip_prefix('\u{feff}').unwrap_or(whole);
    let mut out = Rewritten { text: String::new(), lost: 0 };
    let mut rest = whole;
    let mut line = 1;
    for part in split::split(whole).unwrap_or_default() {
        // What stands between documents stays.
        while line < part.line {
            let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let (above, below) = rest.split_at(end);
            out.text.push_str(above);
            (rest, line) = (below, line + 1);
        }
        rest = rest.get(part.text.len()..).unwrap_or_default();
        line += part.text.matches('\n').count();
        let own: Vec<&Repair<'_>> = repairs.iter().filter(|r| r.policy.line == part.line).collect();
        match own.is_empty() {
            true => out.text.push_str(part.text),
            false => replace(&part, &own, &mut out),
        }
    }
    out.text.push_str(rest);
    out
}

/// Adds a document with its repaired policies.
fn replace(part: &Part<'_>, repairs: &[&Repair<'_>], out: &mut Rewritten) {
    let lines: Vec<&str> = part.text.split_inclusive('\n').collect();
    let is_around = |line: &&str| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#') || line.starts_with("---")
    };
    let begin = lines.iter().take_while(|line| is_around(line)).count();
    // A comment that is indented may be the text of a scalar.
    let is_below = |line: &&&str| line.trim().is_empty() || line.starts_with('#');
    let below = lines.iter().skip(begin).rev().take_while(is_below).count();
    let (above, own) = lines.split_at(begin);
    let (_, below) = own.split_at(own.len() - below);
    let (above, below) = (above.concat(), below.concat());
    if out.text.is_empty() && !above.contains("---") {
        out.text.push_str("---\n");
    }
    out.text.push_str(&above);
    out.text.push_str(&yaml_of(&repaired(part.text, repairs)));
    out.text.push_str(&below);
    let count = |text: &str| ephor_document::comments::comments(text).len();
    out.lost += count(part.text).saturating_sub(count(&above) + count(&below));
}

/// What a document says with its repaired policies; groups of the own ones stay.
fn repaired(text: &str, repairs: &[&Repair<'_>]) -> Value {
    let mut whole = ephor_document::yaml_value(text).unwrap_or_default();
    for Repair { policy, value } in repairs {
        let index = policy.prefix.iter().find_map(|part| match part {
            PathPart::Index(at) => Some(*at),
            PathPart::Key(_) => None,
        });
        let Some(at) = index else { return with_group(value, &whole) };
        let mut items =
            whole.get("items").and_then(Value::as_list).map(<[Value]>::to_vec).unwrap_or_default();
        if let Some(item) = items.get_mut(at) {
            *item = with_group(value, item);
        }
        if let Value::Map(fields) = &mut whole {
            fields.insert("items", Value::list(items));
        }
    }
    whole
}

/// A repaired policy with the `apiVersion` that is written.
fn with_group(value: &Value, written: &Value) -> Value {
    let mut value = value.clone();
    if let (Value::Map(fields), Some(api_version)) = (&mut value, written.get("apiVersion")) {
        fields.insert("apiVersion", api_version.clone());
    }
    value
}
