//! JSON patches in rules: whether they decode, and where their paths lead.
//!
//! Semantics: section 5.7, step 1 of the policy object specification; RFC 6902.

use super::{Finding, Outcome, Rule, Subject};
use crate::api::variables::find_all_variables;
use crate::value::{Map, Value, print};

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
    problem(subject, patches).map_or(Ok(()), |problem| {
        let text = format!("path must begin with a forward slash: {place}: {problem}");
        let written = format!("spec.rules[{}].mutate.patchesJson6902", rule.written);
        Err(Finding::at(&written, text))
    })
}

fn problem(subject: &Subject<'_>, patches: &str) -> Option<String> {
    let text = with_placeholders(patches);
    let operations = match (subject.checks.parse_yaml)(&text) {
        Ok(Value::List(items)) => items,
        Ok(Value::Null) => return None,
        Ok(other) => {
            let kind = json_kind(&other);
            return Some(format!("json: cannot unmarshal {kind} into Go value of type jsonpatch.Patch"));
        }
        Err(cause) => return Some(cause),
    };
    if let Some(other) = operations.iter().find(|item| !matches!(item, Value::Map(_) | Value::Null)) {
        let kind = json_kind(other);
        return Some(format!("json: cannot unmarshal {kind} into Go value of type jsonpatch.Operation"));
    }
    let operations = operations.iter().filter_map(Value::as_map);
    operations.filter_map(operation_problem).next()
}

fn with_placeholders(text: &str) -> String {
    let mut out = text.to_owned();
    for range in find_all_variables(text).into_iter().rev() {
        out.replace_range(range, PLACEHOLDER);
    }
    out
}

fn operation_problem(operation: &Map) -> Option<String> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let broken = |cause: &str| {
        Some(format!("invalid operation {}: {cause}", print::json(&Value::Map(operation.clone()))))
    };
    let kind = text("op").unwrap_or("unknown");
    if !matches!(kind, "add" | "remove" | "replace" | "move" | "copy" | "test") {
        return broken("unsupported operation");
    }
    let Some(path) = text("path") else {
        return broken("failed to decode 'path': operation missing path field: missing value");
    };
    if matches!(kind, "add" | "replace") && !operation.contains_key("value") {
        return broken("failed to decode 'value': operation, missing value field: missing value");
    }
    if matches!(kind, "move" | "copy") && text("from").is_none() {
        return broken("failed to decode 'from': operation, missing from field: missing value");
    }
    (!path.starts_with('/')).then(|| path.to_owned())
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => "number",
        Value::Str(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    }
}
