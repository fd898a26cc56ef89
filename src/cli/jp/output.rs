//! Results and problems of `ephor jp` as text.

use ephor_value::Value;

use crate::cli::CommandError;

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
