//! Where what the cursor is at is defined, and where it is used.

use std::sync::Arc;

use ephor_inspect::lint::each_text;
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, dotted, follow, parse};

use crate::cancel::{Cancellation, Cancelled};
use crate::entry::{Part, Role};
use crate::index::Index;
use crate::places::value_span;
use crate::span::{Location, Span};
use crate::target::{Target, keys, located, target};

/// Where the thing at a byte of a file is defined.
pub fn definitions(index: &Index, name: &str, offset: usize) -> Vec<Location> {
    let Some(target) = target(index, name, offset) else { return Vec::new() };
    of_target(index, &target)
}

fn of_target(index: &Index, target: &Target) -> Vec<Location> {
    match target {
        Target::Policy(name) => {
            policies(index, name).filter_map(|(f, p)| at(f, p, &parse("metadata.name"))).collect()
        }
        Target::Rule { policy, rule } => {
            let wanted = |part: &Part| policy.is_empty() || part.name() == policy;
            let parts = index.parts(Role::Policy).filter(|(.., part)| wanted(part));
            parts.flat_map(|(file, _, part)| rules(file, part, rule)).collect()
        }
        Target::Variable { file, document, scope, name } => {
            entries(index, file, *document, scope, "variables", name)
        }
        Target::ContextEntry { file, document, scope, name } => {
            entries(index, file, *document, scope, "context", name)
        }
        Target::Object { kind, name } => {
            let of_kind = |part: &&Part| kind.is_none_or(|kind| part.kind() == kind) && part.name() == name;
            let roles = [Role::Object, Role::Policy];
            let parts = roles.into_iter().flat_map(|role| index.parts(role));
            let parts =
                parts.filter(|(.., part)| of_kind(part) && (kind.is_some() || part.role == Role::Object));
            parts.filter_map(|(file, _, part)| at(file, part, &parse("metadata.name"))).collect()
        }
        Target::File(path) => {
            let below = format!("{path}/");
            let is_it = |name: &str| name == path || name.starts_with(&below);
            let files = index.files().filter(|(name, _)| is_it(name));
            files.map(|(name, _)| Location { file: name.clone(), span: Span::default() }).collect()
        }
    }
}

/// The policies of a name.
fn policies<'i>(index: &'i Index, name: &'i str) -> impl Iterator<Item = (&'i Arc<str>, &'i Part)> {
    let is_policy = move |part: &Part| part.is_policy() && part.name() == name;
    index.parts(Role::Policy).filter(move |(.., part)| is_policy(part)).map(|(file, _, part)| (file, part))
}

/// The place of the value at a path of an object; its entry's text is that of the file only while
/// the file parses.
fn at(file: &Arc<str>, part: &Part, path: &[PathPart]) -> Option<Location> {
    Some(located(file, part, part_span(part, path)?))
}

fn part_span(part: &Part, path: &[PathPart]) -> Option<Span> {
    let whole: Path = part.prefix.iter().chain(path).cloned().collect();
    value_span(&part.text, &whole)
}

fn rules(file: &Arc<str>, part: &Part, rule: &str) -> Vec<Location> {
    let rules = part.value.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
    let is_it = |(_, found): &(usize, &Value)| {
        let name = found.text_at(&["name"]);
        name == rule || ephor_value::wildcard::matches(rule, name)
    };
    let found = rules.iter().enumerate().filter(is_it);
    found.filter_map(|(i, _)| at(file, part, &parse(&format!("spec.rules[{i}].name")))).collect()
}

/// The entries of a name in a list of a block.
fn entries(
    index: &Index,
    file: &Arc<str>,
    document: usize,
    scope: &[PathPart],
    list: &str,
    name: &str,
) -> Vec<Location> {
    let Some(state) = index.file(file) else { return Vec::new() };
    let Some(part) = state.latest.parts.iter().find(|part| part.document.start == document) else {
        return Vec::new();
    };
    let items = follow(&part.value, scope).0.get(list).and_then(Value::as_list).unwrap_or_default();
    let is_it = |entry: &Value| entry.text_at(&["name"]).split('.').next() == Some(name);
    let found = items.iter().enumerate().filter(|(_, entry)| is_it(entry));
    let path = |i: usize| -> Path {
        let tail = [PathPart::Key(list.into()), PathPart::Index(i), PathPart::Key("name".into())];
        scope.iter().cloned().chain(tail).collect()
    };
    found.filter_map(|(i, _)| at(file, part, &path(i))).collect()
}

/// Where the thing at a byte of a file is used; with `with_definitions` also where it is defined.
///
/// # Errors
/// The token was cancelled.
pub fn references(
    index: &Index,
    name: &str,
    offset: usize,
    with_definitions: bool,
    token: &Cancellation,
) -> Result<Vec<Location>, Cancelled> {
    let Some(target) = target(index, name, offset) else { return Ok(Vec::new()) };
    let mut out = if with_definitions { of_target(index, &target) } else { Vec::new() };
    match &target {
        Target::Variable { file, document, scope, name } => {
            let mark = format!("variables.{name}");
            out.extend(words(index, file, *document, scope, &mark, "variables.".len()));
        }
        Target::ContextEntry { file, document, scope, name } => {
            out.extend(words(index, file, *document, scope, name, 0));
        }
        _ => {
            for (file, state) in index.files() {
                token.step()?;
                for part in &state.good.parts {
                    uses(file, part, &target, &mut out);
                }
            }
        }
    }
    let mut known = std::collections::HashSet::new();
    out.retain(|location| known.insert((location.file.clone(), location.span)));
    Ok(out)
}

/// The places of an object that name a policy, a rule, an object or a file.
fn uses(file: &Arc<str>, part: &Part, target: &Target, out: &mut Vec<Location>) {
    if !matches!(part.role, Role::Test | Role::Policy) {
        return;
    }
    let mut found: Vec<Path> = Vec::new();
    each_text(&part.value, &mut Path::new(), &mut |text, path| {
        if names(part, path, text, target) {
            found.push(path.clone());
        }
    });
    out.extend(found.iter().filter_map(|path| at(file, part, path)));
}

fn names(part: &Part, path: &[PathPart], text: &str, target: &Target) -> bool {
    let keys = keys(path);
    let plain = text.rsplit('/').next().unwrap_or(text);
    let of = |key: &str, up: usize| {
        let above = path.get(..path.len().saturating_sub(up)).unwrap_or_default();
        let name = follow(&part.value, above).0.text_at(&[key]).to_string();
        name.rsplit('/').next().unwrap_or_default().to_string()
    };
    match (target, part.role, keys.as_slice()) {
        (Target::Policy(name), Role::Test, ["results", "policy"])
        | (
            Target::Policy(name),
            Role::Policy,
            ["spec", "exceptions", "policyName"] | ["spec", "policyName"] | ["spec", "policyRefs", "name"],
        ) => plain == name,
        (Target::Rule { policy, rule }, Role::Test, ["results", "rule"]) => {
            text == rule && (policy.is_empty() || of("policy", 1) == *policy)
        }
        (Target::Rule { policy, rule }, Role::Policy, ["spec", "exceptions", "ruleNames"]) => {
            ephor_value::wildcard::matches(text, rule)
                && (policy.is_empty() || of("policyName", 2) == *policy)
        }
        (Target::Object { name, .. }, Role::Test, ["results", "resources"]) => plain == name,
        (Target::Object { name, .. }, Role::Policy, [.., "configMap" | "globalReference", "name"]) => {
            text == name
        }
        (Target::File(path), Role::Test, ["policies" | "resources"]) => {
            path.ends_with(text.trim_start_matches("./"))
        }
        _ => false,
    }
}

/// The places of a word in the texts below a block of a document.
fn words(
    index: &Index,
    file: &Arc<str>,
    document: usize,
    scope: &[PathPart],
    word: &str,
    skipped: usize,
) -> Vec<Location> {
    let Some(state) = index.file(file) else { return Vec::new() };
    let Some(part) = state.latest.parts.iter().find(|part| part.document.start == document) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let (block, _) = follow(&part.value, scope);
    each_text(block, &mut scope.to_vec(), &mut |text, path| {
        let is_name = dotted(path).ends_with(".name");
        if is_name || !text.contains(word) {
            return;
        }
        let whole: Path = part.prefix.iter().chain(path.iter()).cloned().collect();
        let Some(written) = ephor_document::written::scalar(&part.text, &whole) else { return };
        for (at, _) in text.match_indices(word).filter(|(at, _)| is_whole(text, *at, word)) {
            let start = text.get(..at).unwrap_or_default().chars().count();
            let first = written.byte(start + skipped);
            let last = written.byte(start + word.chars().count());
            if let (Some(start), Some(end)) = (first, last) {
                out.push(located(file, part, Span { start, end }));
            }
        }
    });
    out
}

/// Whether a word at a byte of a text is no part of a longer one.
fn is_whole(text: &str, at: usize, word: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at + word.len()..).and_then(|after| after.chars().next());
    before.is_none_or(|c| !is_word(c) && c != '.') && after.is_none_or(|c| !is_word(c))
}

#[cfg(test)]
mod tests;
