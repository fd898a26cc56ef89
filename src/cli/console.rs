//! Standard output, standard error and their colours.
//!
//! In: texts. Out: what a command prints, warnings as `warning: TEXT`, and whether there are
//! colours.

use ephor_report::formats::Document;
use ephor_value::environment::{self, Variable};

/// Prints a warning to standard error.
pub(super) fn warn(text: &str) {
    error(&format!("warning: {text}\n"));
}

/// Writes to standard error. A reader that ends early, such as `head`, does not end the run.
pub fn error(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The text of a document; what it does not hold is a warning.
pub(super) fn whole(document: Document) -> String {
    document.left_out.iter().for_each(|text| warn(text));
    document.text
}

/// Whether the environment switches colours on or off: `NO_COLOR`, then `FORCE_COLOR` or
/// `CLICOLOR_FORCE`, then a terminal without colours.
pub(super) fn colour_of_environment() -> Option<bool> {
    let is_on = |variable: Variable| variable.non_empty().is_some_and(|value| value != "0");
    if environment::NO_COLOR.is_set() {
        return Some(false);
    }
    if is_on(environment::FORCE_COLOR) || is_on(environment::CLICOLOR_FORCE) {
        return Some(true);
    }
    environment::TERM.value().is_some_and(|t| t == "dumb").then_some(false)
}

/// Whether standard output shows colours: the environment says so, or it is a terminal.
pub(super) fn shows_colours() -> bool {
    use std::io::IsTerminal;
    colour_of_environment().unwrap_or_else(|| std::io::stdout().is_terminal())
}

/// Writes to standard output; a closed pipe is no error of ours.
pub fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}
