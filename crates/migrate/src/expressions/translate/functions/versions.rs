//! `semver_compare`: whether a version is in a range.
//!
//! In: a version, and a range that is written, looked up in an object that is written, or an
//! operator with a version behind it that is read. Out: the test, which takes a range apart into
//! comparisons. A text that is no version counts as 0.0.0, as it does for the old function; a range
//! that is none fails. A version that is read for a range has to be a whole one: the old function
//! takes some others for ranges, too, such as `1.x.0`. Semantics: `docs/expressions/functions.md`.

use ephor_value::Value;
use ephor_value::semver::{SemverRange, Version};

use crate::cel::build::{
    all, any, binary, call, choose, flatten, held, index, int, list, method, name, object, operands,
    or_value, over, text,
};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Test, Val};
use crate::expressions::translate::functions::strict;
use crate::expressions::translate::template::as_text;
use ephor_cel::ast::{Kind, Node};

/// Among faults: what is read may be no version.
const NO_VERSION: &str = "?a version that is none";

/// Whether a version, which is 0.0.0 where the text is none, is in a range.
///
/// # Errors
/// The range is computed, or has terms that are no comparisons with whole versions.
pub(crate) fn semver_compare(of: &Val, range: &Val, scope: &mut Scope<'_>) -> Result<Val> {
    let (own, mut faults) = as_text(&strict(of), scope)?;
    let var = scope.unused("version");
    let (test, more) = within(range, &name(&var), scope)?;
    faults.extend(more);
    let read = choose(call("isSemver", vec![own.clone()]), version(own), version(text("0.0.0")));
    Ok(Val::of_test(Test { node: over(list(vec![read]), "exists", &var, test), faults }))
}

fn version(text: Node) -> Node {
    call("semver", vec![text])
}

fn compared(sign: &str, own: &Node, bound: Node) -> Node {
    binary(sign, method(own.clone(), "compareTo", vec![version(bound)]), int(0))
}

/// Whether a version is in a range.
fn within(range: &Val, own: &Node, scope: &Scope<'_>) -> Result<(Node, Faults)> {
    let refused =
        || scope.refuse("a range of versions that is computed", "write the range: `>=1.2.0 <2.0.0`");
    match range {
        Val::Const(Value::Str(range)) => {
            Ok((in_range(range, own, scope)?.ok_or_else(refused)?, Faults::new()))
        }
        // A range that is looked up, or a default where there is none under the key.
        Val::Or(sides) => {
            let [Val::Optional { node, faults, rescued: None, .. }, Val::Const(Value::Str(default))] =
                &**sides
            else {
                return Err(refused());
            };
            let (ranges, key) = lookup(node, "_[?_]").ok_or_else(refused)?;
            // An empty text has the default, too; any other that is no range fails.
            if ranges.iter().any(|(_, range)| !range.is_empty() && SemverRange::parse(range).is_err()) {
                return Err(scope.refuse("a range of versions that is none", "write one: `>=1.2.0 <2.0.0`"));
            }
            let default = in_range(default, own, scope)?.ok_or_else(refused)?;
            let found = call("_[?_]", vec![tests(&ranges, own, scope)?, key.clone()]);
            Ok((or_value(found, default), faults.clone()))
        }
        // What is not there is no range.
        Val::Optional { node, faults, .. } => {
            let own_key = held(node);
            let found = match &own_key {
                Some(node) => lookup(node, "_[_]"),
                None => lookup(node, "_[?_]"),
            };
            let (ranges, key) = found.ok_or_else(refused)?;
            let faults = faults.iter().cloned().chain([NO_VERSION.into()]).collect();
            Ok((index(tests(&ranges, own, scope)?, key.clone()), faults))
        }
        Val::Node { node, faults, .. } => {
            let (sign, bound) = operator_and_version(node).ok_or_else(refused)?;
            let faults = faults.iter().cloned().chain([NO_VERSION.into()]).collect();
            Ok((compared(sign, own, bound), faults))
        }
        _ => Err(refused()),
    }
}

/// The texts of an object that is written, by their keys, and the key under which one is read.
fn lookup<'n>(node: &'n Node, operator: &str) -> Option<(Vec<(String, String)>, &'n Node)> {
    let [map, key] = operands(node, operator)? else { return None };
    let Kind::Map(entries) = &map.kind else { return None };
    let word = |node: &Node| match &node.kind {
        Kind::Const(Value::Str(word)) => Some(word.to_string()),
        _ => None,
    };
    let entries: Option<Vec<(String, String)>> =
        entries.iter().map(|entry| Some((word(&entry.key)?, word(&entry.value)?))).collect();
    Some((entries?, key))
}

/// The tests of ranges under their keys; one that is no range is left out, as its key fails or has
/// the default.
fn tests(ranges: &[(String, String)], own: &Node, scope: &Scope<'_>) -> Result<Node> {
    let mut entries = Vec::new();
    for (key, range) in ranges {
        if let Some(test) = in_range(range, own, scope)? {
            entries.push((text(key), test));
        }
    }
    Ok(object(entries))
}

/// Whether a version is in a range that is written; none where this is no range.
fn in_range(range: &str, own: &Node, scope: &Scope<'_>) -> Result<Option<Node>> {
    if SemverRange::parse(range).is_err() {
        return Ok(None);
    }
    let Some(branches) = branches(range) else {
        return Err(
            scope.refuse("a range of versions with such terms", "write whole versions: `>=1.2.0 <2.0.0`")
        );
    };
    let of_term = |(sign, bound): &(&str, String)| compared(sign, own, text(bound));
    let of_branch = |terms: &Vec<(&str, String)>| all(terms.iter().map(of_term).collect());
    Ok(Some(any(branches.iter().map(of_branch).collect())))
}

/// The comparison that an operator of a range is.
fn comparison(written: &str) -> Option<&'static str> {
    Some(match written {
        "" | "=" | "==" => "==",
        "!" | "!=" => "!=",
        ">" => ">",
        ">=" => ">=",
        "<" => "<",
        "<=" => "<=",
        _ => return None,
    })
}

const OPERATORS: [char; 4] = ['<', '>', '=', '!'];

/// An operator that is written, and the version behind it.
fn operator_and_version(range: &Node) -> Option<(&'static str, Node)> {
    let mut parts = flatten("_+_", range.clone());
    let is_one_term = |node: &Node| match &node.kind {
        Kind::Const(Value::Str(word)) => !word.contains([' ', '|']),
        Kind::Const(_) => false,
        _ => true,
    };
    if !parts.iter().all(is_one_term) || parts.len() < 2 {
        return None;
    }
    let first = parts.remove(0);
    let Kind::Const(Value::Str(word)) = &first.kind else { return None };
    let rest = word.trim_start_matches(OPERATORS);
    let operator = word.strip_suffix(rest).filter(|operator| !operator.is_empty())?;
    if !rest.is_empty() {
        parts.insert(0, text(rest));
    }
    let bound = parts.into_iter().reduce(|before, part| binary("+", before, part))?;
    Some((comparison(operator)?, bound))
}

/// The terms of a range of versions; none where one is no whole version.
fn branches(range: &str) -> Option<Vec<Vec<(&'static str, String)>>> {
    let mut all = vec![Vec::new()];
    for word in range.split(' ').filter(|word| !word.is_empty()) {
        if word == "||" {
            all.push(Vec::new());
            continue;
        }
        let bound = word.trim_start_matches(OPERATORS);
        let sign = comparison(word.strip_suffix(bound)?)?;
        Version::parse(bound).ok()?;
        all.last_mut()?.push((sign, bound.to_string()));
    }
    Some(all)
}
