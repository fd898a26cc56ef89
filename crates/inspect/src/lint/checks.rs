//! What Kyverno's policy check and its loader refuse, each finding at its place.
//!
//! The texts of the check quote rules as JSON and paths in their own form; here they are cut to
//! what is wrong, because the place is shown. What a check of this crate has reported with a better
//! place is not repeated.

use ephor_api::lint::{Finding as Refused, all};
use ephor_policies::load::{self, CHECKS, LoadedPolicy, Policies};
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, follow, parse};

use super::expressions::from_text;
use super::finding::Severity;
use super::rules::mentions;
use super::schema::Checked;
use super::subject::{Spot, Subject};

/// Checks a ClusterPolicy or Policy with its defaults; what depends on a part that the schema
/// refuses is not reported.
pub(super) fn check(subject: &mut Subject<'_>, document: &Value, schema: &Checked) {
    let (warnings, errors) = all(document, &CHECKS);
    let seen: Vec<&'static str> = subject.found.iter().map(|f| f.id).collect();
    // Rules that are generated repeat what is wrong with written ones.
    let is_generated = |text: &str| text.contains("for rule autogen-");
    let written: Vec<usize> = errors.iter().filter(|e| !is_generated(&e.text)).filter_map(rule_of).collect();
    for error in errors {
        if !is_generated(&error.text) || !rule_of(&error).is_some_and(|rule| written.contains(&rule)) {
            let path = full_path(document, &error.path);
            // What is missing is missing from the part that is there.
            let there = path.get(..follow(document, &path).1).unwrap_or(&path);
            if !schema.depends(there) {
                refused(subject, document, &Refused { path, ..error }, &seen);
            }
        }
    }
    for warning in warnings {
        // Reported with the place of the field.
        if !warning.text.starts_with("Operator ") && !schema.depends(&warning.path) {
            let text = plain(&warning.text);
            subject.report("policy-warning", Severity::Note, &warning.path, Spot::Key, text, None);
        }
    }
}

/// The part of a policy, with its defaults, about which the check that refused it with a text is.
pub fn refused_part(document: &Value, text: &str) -> Option<Path> {
    match document.text_at(&["kind"]) {
        "ClusterPolicy" | "Policy" => {
            let (_, errors) = all(document, &CHECKS);
            errors.first().map(|error| full_path(document, &error.path))
        }
        _ => inner_field(text).map(parse),
    }
}

/// The number of the rule that a finding is about.
fn rule_of(error: &Refused) -> Option<usize> {
    match error.path.get(2) {
        Some(PathPart::Index(rule)) => Some(*rule),
        _ => None,
    }
}

/// The path with the body of the rule, which the check leaves out of some and puts before
/// preconditions.
fn full_path(document: &Value, path: &Path) -> Path {
    if matches!((path.get(3), path.get(4)), (Some(PathPart::Key(a)), Some(PathPart::Key(b))) if &**a == "validate" && &**b == "preconditions")
    {
        let mut own = path.clone();
        own.remove(3);
        return own;
    }
    let (Some(rule), Some(PathPart::Key(key))) = (path.get(..3), path.get(3)) else { return path.clone() };
    let rule = follow(document, rule).0;
    let body = ["validate", "mutate", "generate"].into_iter().find(|body| rule.at(&[body, key]).is_some());
    match body.filter(|_| rule.get(key).is_none()) {
        Some(body) => {
            let mut full = path.clone();
            full.insert(3, PathPart::Key(body.into()));
            full
        }
        None => path.clone(),
    }
}

fn refused(subject: &mut Subject<'_>, document: &Value, error: &Refused, seen: &[&str]) {
    let text = &*error.text;
    let known = [
        ("entered value of `operator` is invalid", "unknown-operator"),
        ("invalid JMESPath query", "jmespath-syntax"),
    ];
    // A misspelt field of a condition is one that is missing.
    if text.contains("entered value of") && seen.contains(&"unknown-field") {
        return;
    }
    if known.iter().any(|(part, id)| text.contains(part) && seen.contains(id)) {
        return;
    }
    if let Some(query) = quoted(text).filter(|_| text.contains("must match regex")) {
        // What is a warning by itself is refused here.
        let is_it = |message: &str| {
            message.split('`').nth(1).is_some_and(|name| mentions(&query, name.trim_matches('"')))
        };
        let mut same =
            subject.found.iter_mut().filter(|f| f.id == "unknown-variable" && is_it(&f.message)).peekable();
        if same.peek().is_some() {
            return same.for_each(|f| f.severity = Severity::Error);
        }
    }
    if let Some((_, name)) = text.split_once("Duplicate rule name: '") {
        let message = format!("two rules have the name `{}`", name.trim_end_matches('\''));
        return subject.report(
            "duplicate-rule-name",
            Severity::Error,
            &error.path,
            Spot::Value,
            message,
            None,
        );
    }
    let value = follow(document, &error.path);
    let whole = value.1 == error.path.len();
    if let Some(query) = quoted(text) {
        let source = value.0.as_str().filter(|_| whole).unwrap_or_default();
        if let Some(byte) = source.find(&query) {
            let offset = source.get(..byte).map_or(0, |s| s.chars().count());
            let spot = Spot::Inside(offset, query.chars().count());
            let (message, help) = variable(text, &query);
            return subject.report("unknown-variable", Severity::Error, &error.path, spot, message, help);
        }
    }
    let is_scalar = !matches!(value.0, Value::Map(_) | Value::List(_));
    let spot = if whole && is_scalar { Spot::Value } else { Spot::Key };
    subject.report("policy-check", Severity::Error, &error.path, spot, plain(text), None);
}

/// The query that a text is about.
fn quoted(text: &str) -> Option<String> {
    if let Some((_, rest)) = text.split_once("variable '") {
        return rest.split_once("' present outside of foreach").map(|(query, _)| query.to_string());
    }
    let (_, rest) = text.split_once("variable ")?;
    let end = [" must match regex", " is not allowed"].iter().find_map(|end| rest.find(end))?;
    let query = rest.get(..end)?.trim_start_matches("{{").trim_end_matches("}}").trim();
    Some(query.to_string())
}

fn variable(text: &str, query: &str) -> (String, Option<String>) {
    if text.contains("present outside of foreach") {
        let help = "only a `foreach` has elements";
        return (format!("`{query}` stands outside of a `foreach`"), Some(help.to_string()));
    }
    if text.contains("background mode") {
        let help = "background scans have no user: write `background: false`";
        return (format!("`{query}` cannot be used in background scans"), Some(help.to_string()));
    }
    (format!("the variable `{query}` is not allowed here"), None)
}

/// A text of the check without the path at its beginning and without quoted rules.
fn plain(text: &str) -> String {
    let text =
        text.strip_prefix("path: ").and_then(|rest| rest.split_once(": ")).map_or(text, |(_, detail)| detail);
    let text = match text.split_once(": Invalid value: {") {
        Some((_, rest)) => rest.rsplit_once("}: ").map_or(text, |(_, detail)| detail),
        None => text,
    };
    text.trim().trim_end_matches(':').to_string()
}

/// What the loader leaves out next to schema errors: bindings and exceptions that are refused.
pub(super) fn check_problems(subject: &mut Subject<'_>, loaded: &Policies, document: &Value) {
    let kind = document.text_at(&["kind"]);
    let id = if kind.contains("Admission") { "admission-validation" } else { "schema" };
    for problem in loaded.problems.iter().filter(|p| !p.foreign) {
        let text = &*problem.text;
        match text.split_once(": ").filter(|(field, _)| field.starts_with("spec.")) {
            Some((field, rest)) if rest.contains("ERROR: <input>:") => {
                let detail = rest.find("ERROR: <input>:").and_then(|at| rest.get(at..)).unwrap_or(rest);
                from_text(subject, document, field, detail, "cel-expression", Severity::Error);
            }
            Some((field, _)) => subject.report(id, Severity::Error, &parse(field), Spot::Key, text, None),
            None => {
                let at = parse(inner_field(text).unwrap_or("kind"));
                let spot = if at.len() > 1 { Spot::Key } else { Spot::Value };
                subject.report(id, Severity::Error, &at, spot, text, None);
            }
        }
    }
}

/// The first field that a refusal of an API server names.
fn inner_field(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(" is invalid: ")?;
    let field = rest.trim_start_matches('[').split(": ").next()?;
    field.starts_with("spec.").then_some(field)
}

/// Rules that no request can match.
pub(super) fn check_matching(subject: &mut Subject<'_>, loaded: &LoadedPolicy, schema: &Checked) {
    if subject.has(&["never-matches"]) {
        return;
    }
    let is_of_rules = loaded.document.at(&["spec", "rules"]).is_some();
    for (i, _, why) in load::never_matching_rules(loaded) {
        let (part, path, text) = match is_of_rules {
            true => {
                (format!("spec.rules[{i}]"), format!("spec.rules[{i}].match"), "the rule can never match")
            }
            false => ("spec".into(), "spec".into(), "the policy can never match"),
        };
        if schema.depends(&parse(&part)) {
            continue;
        }
        let path = parse(&path);
        subject.report("never-matches", Severity::Warning, &path, Spot::Key, format!("{text}: {why}"), None);
    }
}
