//! Where an evaluation failed, and what was probably meant.
//!
//! In: an expression, its variables and the error. Out: the place of the part that failed: the
//! innermost part of the trace with this error. For a key that is not there, the place of the key,
//! and a key of the object that looks like it.

use std::collections::BTreeSet;

use ephor_value::Value;
use ephor_value::suggest::did_you_mean;

use crate::Problem;
use crate::cel::{CelExpression, Environment, EvaluationError, Step};

/// The problem of an expression that has no value, for its error.
pub fn of_cel(
    source: &str,
    expression: &CelExpression,
    environment: Environment,
    data: &Value,
    error: &EvaluationError,
) -> Problem {
    let text = error.to_string();
    let failed = |step: &&Step| step.value.as_ref().is_err_and(|e| e == error);
    let steps = expression.trace(data);
    let part = steps.iter().filter(failed).max_by_key(|step| step.depth).map(|step| step.text.as_str());
    let (mut offset, mut hint) = (part.and_then(|part| source.find(part)), None);
    if let (Some(part), Some(start), Some(key)) = (part, offset, text.strip_prefix("no such key: "))
        && let Some(at) = part.rfind(key)
    {
        offset = Some(start + at);
        let object =
            part.get(..at).unwrap_or_default().trim_end().trim_end_matches(['.', '?', '[', '"', '\'']);
        hint = meant(key, object, environment, data);
    }
    Problem { text, offset, hint, caret: None }
}

/// The key that was probably meant: of the object, or of any one where its value is not known.
fn meant(key: &str, object: &str, environment: Environment, data: &Value) -> Option<String> {
    let value =
        CelExpression::compile(object, environment, data).ok().and_then(|e| e.evaluate(data).value.ok());
    let mut known = BTreeSet::new();
    match &value {
        Some(value) => keys(value, &mut known),
        None => all_keys(data, &mut known),
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    did_you_mean(key, &known).map(|close| format!("did you mean `{close}`?"))
}

/// The problem of an evaluation, with the key that was probably meant where one is unknown.
pub fn with_meant_key(mut problem: Problem, document: &Value) -> Problem {
    let unknown = problem.text.strip_prefix("Unknown key \"").and_then(|rest| rest.split('"').next());
    if let (Some(key), None) = (unknown, &problem.hint) {
        let mut known = BTreeSet::new();
        all_keys(document, &mut known);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        problem.hint = did_you_mean(key, &known).map(|close| format!("did you mean `{close}`?"));
    }
    problem
}

/// The keys of an object, or of the objects in a list.
pub fn keys(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::Map(map) => out.extend(map.iter().map(|(k, _)| k.to_string())),
        Value::List(items) => {
            for item in items.iter().filter(|item| matches!(item, Value::Map(_))) {
                keys(item, out);
            }
        }
        _ => {}
    }
}

/// The keys of every object inside of a value.
pub fn all_keys(value: &Value, out: &mut BTreeSet<String>) {
    keys(value, out);
    match value {
        Value::Map(map) => map.values().for_each(|v| all_keys(v, out)),
        Value::List(items) => items.iter().for_each(|v| all_keys(v, out)),
        _ => {}
    }
}
