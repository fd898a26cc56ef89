//! Results and problems of `ephor jp` as text.

use std::collections::BTreeSet;

use ephor_search::Problem;
use ephor_value::Value;
use ephor_value::suggest::did_you_mean;

use crate::cli::CommandError;
use ephor_editor::complete::keys::all_keys;

/// A result as the flags want it.
///
/// # Errors
/// It has no form in JSON.
pub(super) fn render(value: &Value, compact: bool, unquoted: bool) -> Result<String, CommandError> {
    match value {
        Value::Str(s) if unquoted => Ok(s.to_string()),
        other if compact => ephor_search::json(other).map_err(|error| CommandError::Marshal(error.into())),
        other => ephor_search::json_pretty(other).map_err(|error| CommandError::Marshal(error.into())),
    }
}

/// The problem of an evaluation, with the key that was probably meant where one is unknown.
pub(super) fn with_meant_key(mut problem: Problem, document: &Value) -> Problem {
    let unknown = problem.text.strip_prefix("Unknown key \"").and_then(|rest| rest.split('"').next());
    if let (Some(key), None) = (unknown, &problem.hint) {
        let mut known = BTreeSet::new();
        all_keys(document, &mut known);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        problem.hint = did_you_mean(key, &known).map(|close| format!("did you mean `{close}`?"));
    }
    problem
}
