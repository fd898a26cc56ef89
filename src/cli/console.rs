//! Standard output, standard error and their colours.
//!
//! In: texts. Out: what a command prints, [`StandardOutput`] of one that prints while it works, warnings as `warning: TEXT`, and whether there are
//! colours.

use std::io::{BufWriter, ErrorKind, StdoutLock, Write};

use ephor_report::formats::{Document, WriteError};
use ephor_value::environment::{self, Variable};

use super::CommandError;

/// Prints a warning to standard error.
pub(super) fn warn(text: &str) {
    error(&format!("warning: {text}\n"));
}

/// Writes to standard error. A reader that ends early, such as `head`, does not end the run.
pub fn error(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// The text of a document; what it does not hold is a warning.
///
/// # Errors
/// It cannot be written.
pub(super) fn whole(
    write: impl FnOnce(&mut dyn Write) -> Result<Option<String>, WriteError>,
) -> Result<String, CommandError> {
    let document = Document::of(write)?;
    document.left_out.iter().for_each(|text| warn(text));
    Ok(document.text)
}

/// Standard output of a command that prints while it works. Writing never fails: a run continues when
/// its reader has gone, and ends with the exit code that it would have had.
pub(super) struct StandardOutput {
    out: BufWriter<StdoutLock<'static>>,
    failed: Option<std::io::Error>,
}

impl StandardOutput {
    /// The one of the process.
    pub(super) fn lock() -> StandardOutput {
        StandardOutput { out: BufWriter::with_capacity(1 << 16, std::io::stdout().lock()), failed: None }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Something was not written, but for a reader that has gone.
    pub(super) fn finish(mut self) -> Result<(), CommandError> {
        let _ = self.flush();
        match self.failed.take() {
            Some(cause) if cause.kind() != ErrorKind::BrokenPipe => {
                Err(CommandError::Write { path: "standard output".into(), cause })
            }
            _ => Ok(()),
        }
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
        Ok(())
    }
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
    let _ = std::io::stdout().write_all(text.as_bytes());
}
