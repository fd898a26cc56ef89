//! How a text is written in YAML: plain, quoted or as a literal block.
//!
//! In: a text, the printer's style, whether it is a key. Out: a [`Notation`]. A text is plain when
//! it would be read back as text (the typing rules of YAML 1.1, old booleans and base-60 numbers
//! included) and none of its characters means something where it stands.

use std::fmt::Write;

use super::Style;
use crate::reads_as_text;

/// A way to write a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    Plain,
    Single,
    Double,
    Literal,
}

/// What the characters of a text forbid.
#[derive(Default)]
struct Marks {
    /// Something that YAML reads as an indicator.
    indicators: bool,
    breaks: bool,
    tabs: bool,
    unprintable: bool,
    leading_blank: bool,
    trailing_space: bool,
    trailing_break: bool,
    break_space: bool,
    space_break: bool,
}

pub(super) fn notation(text: &str, style: Style, simple_key: bool) -> Notation {
    if text.is_empty() {
        return Notation::Double;
    }
    if is_plainly_plain(text.as_bytes()) {
        return Notation::Plain;
    }
    let mut marks = look(text);
    if style != Style::Object {
        // The older printer takes a tab for an unprintable character.
        marks.unprintable |= marks.tabs;
    }
    let single_allowed = !(marks.break_space || marks.space_break || marks.tabs || marks.unprintable);
    if text.contains('\n') {
        // The reference writes a block that begins with a tab, which no reader accepts.
        let unreadable = text.starts_with('\t');
        let block_allowed = !(marks.trailing_space || marks.space_break || marks.unprintable || unreadable);
        return if block_allowed && !simple_key { Notation::Literal } else { Notation::Double };
    }
    // As a key it would mean that other entries are taken in.
    if text == "<<" || !reads_as_text(text) {
        return Notation::Double;
    }
    let plain_allowed = !(marks.indicators
        || marks.breaks
        || marks.leading_blank
        || marks.trailing_space
        || marks.trailing_break)
        && single_allowed;
    match (plain_allowed, single_allowed) {
        (true, _) => Notation::Plain,
        (false, true) => Notation::Single,
        (false, false) => Notation::Double,
    }
}

/// The usual case, decided without a closer look: a name that begins with a letter and is too long
/// for one of the words that YAML takes for something else.
fn is_plainly_plain(text: &[u8]) -> bool {
    text.len() > 5
        && text.first().is_some_and(u8::is_ascii_alphabetic)
        && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
}

fn look(text: &str) -> Marks {
    let mut marks =
        Marks { indicators: text.starts_with("---") || text.starts_with("..."), ..Marks::default() };
    let (mut previous_space, mut previous_break, mut preceded) = (false, false, true);
    let mut chars = text.chars().peekable();
    let mut first = true;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let followed = next.is_none_or(|n| n == ' ' || n == '\t');
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '.' | '/' => {}
            '#' if first || preceded => marks.indicators = true,
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`'
                if first =>
            {
                marks.indicators = true;
            }
            '?' | '-' if first && followed => marks.indicators = true,
            ':' if followed => marks.indicators = true,
            '\t' => marks.tabs = true,
            c if !is_printable(c) => marks.unprintable = true,
            _ => {}
        }
        if c == ' ' {
            marks.leading_blank |= first;
            marks.trailing_space |= next.is_none();
            marks.break_space |= previous_break;
            (previous_space, previous_break) = (true, false);
        } else if is_break(c) {
            marks.breaks = true;
            marks.leading_blank |= first;
            marks.trailing_break |= next.is_none();
            marks.space_break |= previous_space;
            (previous_space, previous_break) = (false, true);
        } else {
            (previous_space, previous_break) = (false, false);
        }
        preceded = c == ' ' || c == '\t' || is_break(c);
        first = false;
    }
    marks
}

/// What the printers take for a line break.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a text has a line break.
pub(super) fn has_break(text: &str) -> bool {
    text.contains(is_break)
}

/// Characters above U+FFFF count as unprintable.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

/// The letter of a character's escape in double quotes, `\0` for a numeric one; `None` when the
/// character stands for itself.
pub(super) fn escape(c: char) -> Option<char> {
    Some(match c {
        '"' => '"',
        '\\' => '\\',
        '\0' => '0',
        '\x07' => 'a',
        '\x08' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\x0b' => 'v',
        '\x0c' => 'f',
        '\r' => 'r',
        '\x1b' => 'e',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        c if is_printable(c) => return None,
        _ => '\0',
    })
}

/// Appends the escape of a character; see [`escape`].
pub(super) fn write_escape(out: &mut String, c: char, code: char) {
    let n = c as u32;
    let _ = match (code, n) {
        ('\0', 0..=0xff) => write!(out, "\\x{n:02X}"),
        ('\0', 0x100..=0xffff) => write!(out, "\\u{n:04X}"),
        ('\0', _) => write!(out, "\\U{n:08X}"),
        _ => write!(out, "\\{code}"),
    };
}
