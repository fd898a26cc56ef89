//! JSON patches in rules: whether they decode, and where their paths lead.
//!
//! Semantics: section 5.7, step 1 of the policy object specification; RFC 6902.

use super::{Finding, Outcome, Rule, Subject};
use crate::value::variables::find_all_variables;
use crate::value::{Value, print};

/// Stands for a variable while a patch is decoded.
const PLACEHOLDER: &str = "placeholderValue";

/// The operations of a patch as written, `None` when it is no list of objects.
pub fn patch_operations(subject: &Subject<'_>, patches: &str) -> Option<Vec<Value>> {
    let parsed = (subject.checks.parse_yaml)(patches).ok()?;
    parsed.as_list().map(<[Value]>::to_vec)
}

/// Checks the rule's own patch.
pub fn check(subject: &Subject<'_>, rule: &Rule<'_>) -> Outcome {
    let patches = rule.value.text_at(&["mutate", "patchesJson6902"]);
    if patches.is_empty() {
        return Ok(());
    }
    let place = rule.place();
    problem(subject, patches).map_or(Ok(()), |(class, problem)| {
        let written = format!("spec.rules[{}].mutate.patchesJson6902", rule.written);
        Err(Finding::at(&written, format!("{class}: {place}: {problem}")))
    })
}

/// What class of problem, and its text.
type Problem = (&'static str, String);

const SLASH: &str = "path must begin with a forward slash";

fn problem(subject: &Subject<'_>, patches: &str) -> Option<Problem> {
    let refuse = |found: &Value, wanted: &str| {
        let found = json_kind(found);
        Some((SLASH, format!("json: cannot unmarshal {found} into Go value of type jsonpatch.{wanted}")))
    };
    let operations = match (subject.checks.parse_yaml)(&with_placeholders(patches)) {
        Ok(Value::List(items)) => items,
        Ok(Value::Null) => return None,
        Ok(other) => return refuse(&other, "Patch"),
        Err(cause) => return Some((SLASH, cause)),
    };
    if let Some(other) = operations.iter().find(|item| !matches!(item, Value::Map(_) | Value::Null)) {
        return refuse(other, "Operation");
    }
    operations.iter().find_map(decoding_problem).or_else(|| operations.iter().find_map(operation_problem))
}

fn with_placeholders(text: &str) -> String {
    let mut out = text.to_owned();
    for range in find_all_variables(text).into_iter().rev() {
        out.replace_range(range, PLACEHOLDER);
    }
    out
}

/// What keeps an operation from being decoded, or a path without a slash.
fn decoding_problem(operation: &Value) -> Option<Problem> {
    let broken =
        |cause: &str| Some((SLASH, format!("invalid operation {}: {cause}", print::json(operation))));
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let kind = text("op").unwrap_or("unknown");
    if !matches!(kind, "add" | "remove" | "replace" | "move" | "copy" | "test") {
        return broken("unsupported operation");
    }
    let path = match operation.get("path") {
        Some(Value::Str(path)) => path,
        None => return broken("failed to decode 'path': operation missing path field: missing value"),
        Some(other) => {
            let found = json_kind(other);
            return broken(&format!(
                "failed to decode 'path': json: cannot unmarshal {found} into Go value of type string"
            ));
        }
    };
    if matches!(kind, "add" | "replace") && operation.get("value").is_none() {
        return broken("failed to decode 'value': operation, missing value field: missing value");
    }
    if matches!(kind, "move" | "copy") && text("from").is_none() {
        return broken("failed to decode 'from': operation, missing from field: missing value");
    }
    (!path.starts_with('/')).then(|| (SLASH, path.to_string()))
}

/// What is missing in an operation that decodes.
fn operation_problem(operation: &Value) -> Option<Problem> {
    let is_test = operation.text_at(&["op"]) == "test";
    (is_test && operation.get("value").is_none())
        .then(|| ("invalid value", "operation, missing value field: missing value".to_owned()))
}

fn json_kind(value: &Value) -> &'static str {
    value.json_type()
}
