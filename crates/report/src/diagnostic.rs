//! Errors and warnings with the place in the user's file.
//!
//! In: a message, optionally the file's name, its text, a place in it and a hint. Out:
//!
//! ```text
//! error: unknown operator `AnyOf`
//!   ┌ policies/limits.yaml:31:19
//!   │           operator: AnyOf
//!   │                     ^^^^^ did you mean `AnyIn`?
//! ```
//!
//! Lines that are too long for a screen are shown around the place; characters that would move the
//! cursor are replaced, so that a file cannot disturb the terminal.

use std::fmt;

use unicode_width::UnicodeWidthChar;

use ephor_document::locate::Position;

/// The widest source line that is shown whole, in characters.
const WIDEST: usize = 160;
/// Characters shown before the place in a wider one.
const BEFORE: usize = 60;

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Something is not done because of it.
    Error,
    /// It is done, but probably not what was meant.
    Warning,
}

/// A message about a user's file.
#[derive(Clone, Debug)]
pub struct Diagnostic<'a> {
    /// How grave it is.
    pub severity: Severity,
    /// What is wrong, in the user's terms; lower case, no final stop.
    pub message: String,
    /// The file's name, `-` for standard input.
    pub file: Option<&'a str>,
    /// The line of the file on which `text` begins, from 1; 0 where no part of the file is meant.
    pub first_line: usize,
    /// The text in which `place` counts lines.
    pub text: &'a str,
    /// Where in `text`.
    pub place: Option<Position>,
    /// What to write instead.
    pub hint: Option<String>,
}

impl<'a> Diagnostic<'a> {
    /// An error without a place.
    pub fn error(message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            file: None,
            first_line: 1,
            text: "",
            place: None,
            hint: None,
        }
    }

    /// A warning without a place.
    pub fn warning(message: impl Into<String>) -> Self {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(message) }
    }

    /// In this file; `text` is the document that begins on `first_line`.
    pub fn in_file(self, file: &'a str, text: &'a str, first_line: usize) -> Self {
        Diagnostic { file: Some(file), text, first_line, ..self }
    }

    /// At this place of the document.
    pub fn at(self, place: Option<Position>) -> Self {
        Diagnostic { place, ..self }
    }

    /// With this advice.
    pub fn hint(self, hint: Option<String>) -> Self {
        Diagnostic { hint, ..self }
    }
}

impl fmt::Display for Diagnostic<'_> {
    /// Writes the message and, where they are known, the file, the source line and the hint; every
    /// line ends with a newline.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        writeln!(f, "{word}: {}", self.message)?;
        f.write_str(&self.frame())
    }
}

impl Diagnostic<'_> {
    /// Everything but the message: the file, the source line with the place marked, the hint.
    pub fn frame(&self) -> String {
        let mut out = String::new();
        let _ = self.write_frame(&mut out);
        out
    }

    fn write_frame(&self, f: &mut impl fmt::Write) -> fmt::Result {
        let marked = self.place.and_then(|p| Some((p, self.text.lines().nth(p.line.checked_sub(1)?)?)));
        if let Some(file) = self.file {
            match self.place {
                Some(p) => {
                    writeln!(f, "  ┌ {file}:{}:{}", self.first_line + p.line.saturating_sub(1), p.col)?
                }
                None if self.first_line == 0 => writeln!(f, "  ┌ {file}")?,
                None => writeln!(f, "  ┌ {file}:{}", self.first_line)?,
            }
        }
        match (marked, &self.hint) {
            (Some((place, line)), hint) => {
                let (shown, indent, carets) = excerpt(line, place);
                writeln!(f, "  │ {shown}")?;
                let carets = "^".repeat(carets);
                let space = if hint.is_some() { " " } else { "" };
                let hint = hint.as_deref().unwrap_or("");
                writeln!(f, "  │ {:indent$}{carets}{space}{hint}", "")
            }
            (None, Some(hint)) => writeln!(f, "  = {hint}"),
            (None, None) => Ok(()),
        }
    }
}

/// The part of a line to show, the display columns before the place and those of the place.
fn excerpt(line: &str, place: Position) -> (String, usize, usize) {
    let at = place.col.saturating_sub(1);
    let from = if line.chars().count() > WIDEST { at.saturating_sub(BEFORE) } else { 0 };
    let mut shown = String::new();
    let (mut indent, mut carets) = (0, 0);
    if from > 0 {
        shown.push('…');
        indent += 1;
    }
    for (i, c) in line.chars().enumerate().skip(from).take(WIDEST) {
        let c = match c {
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            c => c,
        };
        let width = c.width().unwrap_or(0);
        if i < at {
            indent += width;
        } else if i < at + place.len {
            carets += width;
        }
        shown.push(c);
    }
    if line.chars().count() > from + WIDEST {
        shown.push('…');
    }
    (shown, indent, carets.max(1))
}

#[cfg(test)]
mod tests {
    use super::Diagnostic;
    use ephor_document::locate::{Position, locate};
    use ephor_value::place::PathPart;
    use ephor_value::suggest::did_you_mean;

    #[test]
    fn an_error_shows_its_place_and_what_to_write_instead() {
        let text = "spec:\n    operator: AnyOf\n";
        let path = [PathPart::Key("spec".into()), PathPart::Key("operator".into())];
        let shown = Diagnostic::error("unknown operator `AnyOf`")
            .in_file("policies/limits.yaml", text, 30)
            .at(locate(text, &path))
            .hint(did_you_mean("AnyOf", &["AllIn", "AnyIn", "In"]).map(|w| format!("did you mean `{w}`?")))
            .to_string();
        let expected = "\
error: unknown operator `AnyOf`
  ┌ policies/limits.yaml:31:15
  │     operator: AnyOf
  │               ^^^^^ did you mean `AnyIn`?
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_message_without_a_place_stays_short() {
        assert_eq!(Diagnostic::warning("nothing to do").to_string(), "warning: nothing to do\n");
        let shown = Diagnostic::error("bad").in_file("a.yaml", "", 3).hint(Some("try b".into())).to_string();
        assert_eq!(shown, "error: bad\n  ┌ a.yaml:3\n  = try b\n");
    }

    #[test]
    fn long_and_odd_lines_are_shown_around_the_place() {
        let line = format!("{}日\t\u{1b}X{}", "a".repeat(300), "b".repeat(300));
        let shown = Diagnostic::error("x")
            .in_file("f", &line, 1)
            .at(Some(Position { line: 1, col: 301, len: 1 }))
            .to_string();
        assert!(shown.contains(&format!("  │ {}^^\n", " ".repeat(61))), "{shown}");
        assert!(!shown.contains('\u{1b}') && shown.contains("…"));
        let outside = Diagnostic::error("x").at(Some(Position { line: 9, col: 1, len: 1 })).to_string();
        assert_eq!(outside, "error: x\n");
    }

    #[test]
    fn only_near_words_are_suggested() {
        assert_eq!(did_you_mean("anyin", &["AllIn", "AnyIn"]), Some("AnyIn"));
        assert_eq!(did_you_mean("validte", &["mutate", "validate"]), Some("validate"));
        assert_eq!(did_you_mean("zzz", &["mutate", "validate"]), None);
        assert_eq!(did_you_mean("", &["mutate"]), None);
    }
}
