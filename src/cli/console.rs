//! Standard output, standard error and their colours.
//!
//! In: texts. Out: what a command prints, [`StandardOutput`] of one that prints while it works,
//! warnings as `warning: TEXT`, and whether there are colours.

use std::io::{BufWriter, ErrorKind, StdoutLock, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use ephor_report::formats::{Document, WriteError};
use ephor_value::environment::{self, Variable};

use super::CommandError;

/// Whether warnings and progress are left out (`--quiet`).
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// What `--color` says; unset before it is read.
static COLOUR: OnceLock<bool> = OnceLock::new();

/// From here on there are no warnings and no progress.
pub(super) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Whether there are no warnings and no progress.
pub(super) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Sets whether there are colours, whatever the environment says.
pub(super) fn set_colours(shown: bool) {
    let _ = COLOUR.set(shown);
}

/// Prints a warning to standard error.
pub(super) fn warn(text: &str) {
    if is_quiet() {
        return;
    }
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

/// Standard output of a command that prints while it works. Writing never fails: a run continues
/// when its reader has gone, and ends with the exit code that it would have had.
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

/// Whether colours are switched on or off: `--color`, `NO_COLOR`, then `FORCE_COLOR` or
/// `CLICOLOR_FORCE`, then a terminal without colours.
pub(super) fn colour_of_environment() -> Option<bool> {
    if let Some(shown) = COLOUR.get() {
        return Some(*shown);
    }
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

/// Words that lines of results begin with, or have behind a name, and their colours.
const MARKS: [(&str, &str); 14] = [
    (": error: ", "31"),
    (": warning: ", "33"),
    (": note: ", "36"),
    (": differs", "31"),
    (": refused", "31"),
    (": cannot be used", "31"),
    (": only in the ", "31"),
    (": tested", "33"),
    (": not compared", "33"),
    (": proved", "32"),
    (": equal", "32"),
    (": implied", "32"),
    ("  weaker: ", "31"),
    ("  stricter: ", "33"),
];

/// Prints results: in colours, where standard output shows them.
pub(super) fn print_results(text: &str) {
    match shows_colours() {
        true => print(&coloured(text)),
        false => print(text),
    }
}

/// Results with colours: the word of a line that says how bad it is, and carets.
fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        let first = MARKS.iter().filter_map(|(mark, colour)| Some((line.find(mark)?, *mark, *colour)));
        let carets = line.find('^').filter(|at| line[..*at].chars().all(|c| matches!(c, ' ' | '|')));
        match (carets, first.min_by_key(|(at, ..)| *at)) {
            (Some(at), _) => {
                let (before, marked) = line.split_at(at);
                let end = marked.trim_end().len();
                let (marked, rest) = marked.split_at(end);
                out.push_str(&format!("{before}\x1b[1m{marked}\x1b[0m{rest}"));
            }
            // A line that is further in is part of an object.
            (None, Some((at, mark, colour))) if !line.starts_with("   ") => {
                let word = mark.trim_matches([':', ' ']);
                let start = at + (mark.len() - mark.trim_start_matches([':', ' ']).len());
                let (before, rest) = line.split_at(start);
                let rest = rest.strip_prefix(word).unwrap_or(rest);
                out.push_str(&format!("{before}\x1b[1;{colour}m{word}\x1b[0m{rest}"));
            }
            _ => out.push_str(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_line_has_a_colour_and_the_text_stays_the_same() {
        for (line, shown) in [
            ("a.yaml:1:2: warning: x: error: y\n", "a.yaml:1:2: \x1b[1;33mwarning\x1b[0m: x: error: y\n"),
            ("p: differs: weaker\n", "p: \x1b[1;31mdiffers\x1b[0m: weaker\n"),
            ("  weaker: Pod CREATE\n", "  \x1b[1;31mweaker\x1b[0m: Pod CREATE\n"),
            ("     |  ^^^ did you mean `a`?\n", "     |  \x1b[1m^^^ did you mean `a`?\x1b[0m\n"),
            ("      message: error: no\n", "      message: error: no\n"),
            ("1 policy: 0 errors\n", "1 policy: 0 errors\n"),
        ] {
            assert_eq!(coloured(line), shown);
            let plain = ephor_report::diff::without_colour(&coloured(line));
            assert_eq!(plain, line);
        }
    }
}
