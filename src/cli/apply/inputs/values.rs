//! Values of variables, and the user of requests.

use ephor_engine::request::UserParts;
use ephor_testing::inputs::Refused;
use ephor_testing::inputs::user;
use ephor_testing::inputs::values::Values;

use super::super::log::Log;
use super::super::options::ValueFlags;
use crate::cli::CommandError;
use crate::cli::arguments::given;

/// The user of requests.
///
/// # Errors
/// The file cannot be used, in Kyverno's words.
pub(super) fn user(path: Option<&str>, log: &Log) -> Result<Option<UserParts>, CommandError> {
    let Some(path) = path else { return Ok(None) };
    let (parts, deprecated) = user::read(path).map_err(|refused| refusal(refused, log))?;
    if deprecated {
        log.notice(&user::deprecated(path));
    }
    Ok(Some(parts))
}

/// The values of variables: those of the file, then those of flags.
///
/// # Errors
/// The file cannot be used, in Kyverno's words.
pub(super) fn variables(flags: &ValueFlags, log: &Log) -> Result<Values, CommandError> {
    let mut values = match given(&flags.values_file) {
        None => Values::default(),
        Some(path) => Values::read(path, path).map_err(|refused| refusal(refused, log))?,
    };
    values.set(&flags.set()).iter().for_each(|text| log.warn(text));
    Ok(values)
}

/// Prints the notice and the hint of an error; returns its text.
fn refusal(refused: Refused, log: &Log) -> CommandError {
    refused.notice.iter().for_each(|notice| log.notice(notice));
    refused.hint.iter().for_each(|hint| log.warn(hint));
    CommandError::input(refused.text)
}
