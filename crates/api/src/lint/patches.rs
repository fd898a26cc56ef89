//! JSON patches in rules: whether they decode, and where their paths lead.
//!
//! Semantics: section 5.7, step 1 of the policy object specification; RFC 6902.

use super::subject::{ComputedRule, Finding, Outcome, Subject};
use ephor_patch::operation;
use ephor_value::Value;
use ephor_value::variables::find_all_variables;

/// Stands for a variable while a patch is decoded.
const PLACEHOLDER: &str = "placeholderValue";

/// The operations of a patch as written, `None` when it is no list of objects.
pub fn patch_operations(subject: &Subject<'_>, patches: &str) -> Option<Vec<Value>> {
    let parsed = (subject.checks.parse_yaml)(patches).ok()?;
    parsed.as_list().map(<[Value]>::to_vec)
}

/// Checks the rule's own patch.
pub fn check(subject: &Subject<'_>, rule: &ComputedRule<'_>) -> Outcome {
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
type PatchProblem = (&'static str, String);

const SLASH: &str = "path must begin with a forward slash";

fn problem(subject: &Subject<'_>, patches: &str) -> Option<PatchProblem> {
    let refuse = |found: &Value, wanted: &str| {
        let found = found.json_type();
        Some((SLASH, format!("json: cannot unmarshal {found} into Go value of type jsonpatch.{wanted}")))
    };
    let operations = match (subject.checks.parse_yaml)(&with_placeholders(patches)) {
        Ok(Value::List(items)) => items,
        Ok(Value::Null) => return None,
        Ok(other) => return refuse(&other, "Patch"),
        Err(cause) => return Some((SLASH, cause.to_string())),
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
fn decoding_problem(item: &Value) -> Option<PatchProblem> {
    match operation::operation(item) {
        Err(cause) => Some((SLASH, cause.to_string())),
        Ok(o) => (!o.path.starts_with('/')).then(|| (SLASH, o.path.to_string())),
    }
}

/// What is missing in an operation that decodes.
fn operation_problem(operation: &Value) -> Option<PatchProblem> {
    let is_test = operation.text_at(&["op"]) == "test";
    (is_test && operation.get("value").is_none())
        .then(|| ("invalid value", "operation, missing value field: missing value".to_owned()))
}
