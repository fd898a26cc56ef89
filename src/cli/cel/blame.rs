//! Where an evaluation failed, and what was probably meant.
//!
//! In: an expression, its variables and the error. Out: the place of the part that failed: the
//! innermost part of the trace with this error. For a key that is not there, the place of the key,
//! and a key of the object that looks like it.

use std::collections::BTreeSet;

use ephor_search::Problem;
use ephor_search::cel::{CelExpression, Environment, EvaluationError};
use ephor_value::Value;
use ephor_value::suggest::did_you_mean;

use ephor_editor::complete::keys::{all_keys, keys};

/// The problem of an expression that has no value, for its error.
pub(super) fn problem(
    source: &str,
    expression: &CelExpression,
    environment: Environment,
    data: &Value,
    error: &EvaluationError,
) -> Problem {
    let text = error.to_string();
    let failed = |step: &&ephor_search::cel::Step| step.value.as_ref().is_err_and(|e| e == error);
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
