//! Conditions of rules: operators that do not exist, and conditions whose result does not depend on
//! the request.
//!
//! Reported as constant: a condition whose key and value have no variable; two conditions of `all`
//! that want one key to equal two texts (never true); two of `any` that want it to differ from two
//! texts (always true). Only plain texts are compared: wildcards, numbers, quantities and durations
//! have equality of their own.

use ephor_api::lint::OPERATORS;
use ephor_value::place::{Path, PathPart};
use ephor_value::suggest::did_you_mean;
use ephor_value::{Value, wildcard};

use super::finding::Severity;
use super::subject::{Remedy, Spot, Subject, with};

/// Checks all conditions below a value.
pub(super) fn check(subject: &mut Subject<'_>, value: &Value, path: &Path) {
    match value {
        Value::List(items) => {
            for (i, part) in items.iter().enumerate() {
                check(subject, part, &indexed(path, i));
            }
        }
        Value::Map(fields) => {
            for (key, part) in fields.iter() {
                let at = with(path, key);
                match &**key {
                    "preconditions" | "conditions" => block(subject, part, &at),
                    "pattern"
                    | "anyPattern"
                    | "patchStrategicMerge"
                    | "data"
                    | "cel"
                    | "assert"
                    | "variable" => {}
                    _ => check(subject, part, &at),
                }
            }
        }
        _ => {}
    }
}

fn indexed(path: &Path, i: usize) -> Path {
    path.iter().cloned().chain([PathPart::Index(i)]).collect()
}

/// How the conditions of a list go together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    All,
    Any,
}

fn block(subject: &mut Subject<'_>, value: &Value, path: &Path) {
    match value {
        // A list of conditions, or of blocks for attestations.
        Value::List(items) => {
            if items.iter().any(|c| c.get("any").is_some() || c.get("all").is_some()) {
                for (i, inner) in items.iter().enumerate() {
                    block(subject, inner, &indexed(path, i));
                }
            } else {
                list(subject, items, path, Join::All);
            }
        }
        Value::Map(_) => {
            for (key, join) in [("any", Join::Any), ("all", Join::All)] {
                if let Some(items) = value.get(key).and_then(Value::as_list) {
                    list(subject, items, &with(path, key), join);
                }
            }
        }
        _ => {}
    }
}

fn list(subject: &mut Subject<'_>, items: &[Value], path: &Path, join: Join) {
    for (i, condition) in items.iter().enumerate() {
        let at = indexed(path, i);
        fields(subject, condition, &at);
        operator(subject, condition, &at);
        constant(subject, condition, &at);
    }
    let wanted = if join == Join::All { ["Equals", "Equal"] } else { ["NotEquals", "NotEqual"] };
    let compared: Vec<(usize, String, &str)> = items
        .iter()
        .enumerate()
        .filter(|(_, c)| wanted.contains(&c.text_at(&["operator"])))
        .filter_map(|(i, c)| {
            let key: String = c.get("key")?.as_str()?.split_whitespace().collect();
            let text = c.get("value")?.as_str().filter(|text| is_plain(text))?;
            Some((i, key, text))
        })
        .collect();
    for (n, (i, key, text)) in compared.iter().enumerate() {
        let clash = compared.iter().take(n).find(|(_, k, t)| k == key && t != text);
        if let Some((other, _, before)) = clash.filter(|_| key.contains("{{")) {
            let (result, place) = match join {
                Join::All => {
                    (format!("never true: the value cannot equal both `{before}` and `{text}`"), "all")
                }
                Join::Any => {
                    (format!("always true: every value differs from `{before}` or from `{text}`"), "any")
                }
            };
            let help = match join {
                Join::All => "write both values as a list with the operator `AnyIn`",
                Join::Any => {
                    "write both values as a list with the operator `AnyNotIn`, or the conditions under `all`"
                }
            };
            let message = format!("the conditions {place}[{other}] and {place}[{i}] together are {result}");
            let at = with(&indexed(path, *i), "value");
            subject.report(
                "constant-condition",
                Severity::Warning,
                &at,
                Spot::Value,
                message,
                Some(help.into()),
            );
            return;
        }
    }
}

/// A text that equals itself alone.
fn is_plain(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_alphabetic)
        && !wildcard::has_wildcard(text)
        && !text.contains("{{")
        && !text.contains('|')
}

/// Fields that a condition does not have; its schema leaves them to the decoder, which ignores
/// them.
fn fields(subject: &mut Subject<'_>, condition: &Value, path: &Path) {
    const FIELDS: [&str; 4] = ["key", "operator", "value", "message"];
    let is_whole = FIELDS.iter().take(3).all(|name| condition.get(name).is_some());
    let severity = if is_whole { Severity::Warning } else { Severity::Error };
    for (name, _) in condition.as_map().into_iter().flat_map(|fields| fields.iter()) {
        if !FIELDS.contains(&&**name) {
            let message = format!("unknown field `{name}` in a condition");
            let meant = did_you_mean(name, &FIELDS).filter(|meant| condition.get(meant).is_none());
            let remedy = subject.meant(&with(path, name), Spot::Key, meant);
            subject.report("unknown-field", severity, &with(path, name), Spot::Key, message, remedy);
        }
    }
}

fn operator(subject: &mut Subject<'_>, condition: &Value, path: &Path) {
    let name = condition.text_at(&["operator"]);
    let at = with(path, "operator");
    if name.is_empty() {
        return;
    }
    if !OPERATORS.contains(&name) {
        let remedy = match did_you_mean(name, &OPERATORS) {
            Some(meant) => subject.meant(&at, Spot::Value, Some(meant)),
            None => Some(format!("there are {}", OPERATORS.join(", "))).into(),
        };
        let message = format!("there is no operator `{name}`");
        subject.report("unknown-operator", Severity::Error, &at, Spot::Value, message, remedy);
    }
    // The first one does the same.
    let (same, instead) = match name {
        "In" => ("AllIn", "`AllIn`, which does the same, or `AnyIn`"),
        "NotIn" => ("AnyNotIn", "`AnyNotIn`, which does the same, or `AllNotIn`"),
        _ => return,
    };
    let fix = subject.fix(&at, Spot::Value, same, format!("write `{same}`"), true);
    let remedy = Remedy { help: Some(format!("write {instead}")), fixes: fix.into_iter().collect() };
    let message = format!("the operator `{name}` is deprecated");
    subject.report("deprecated-field", Severity::Note, &at, Spot::Value, message, remedy);
}

fn constant(subject: &mut Subject<'_>, condition: &Value, path: &Path) {
    let (Some(key), Some(value)) = (condition.get("key"), condition.get("value")) else { return };
    let reads = |v: &Value| v.any_text(&|text| text.contains("{{") || text.contains("$("));
    if key.is_null() || reads(key) || reads(value) {
        return;
    }
    let message =
        "neither `key` nor `value` has a variable: the condition has the same result for every request";
    let variable = key.as_str().filter(|text| text.contains("request.") && !text.contains('}'));
    let variable = variable.map(|text| format!("{{{{ {} }}}}", text.trim()));
    let at = with(path, "key");
    let remedy = subject.instead(&at, Spot::Value, variable.as_deref());
    subject.report("constant-condition", Severity::Warning, &at, Spot::Value, message, remedy);
}
