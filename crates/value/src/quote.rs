//! Text in quotes the way Kyverno 1.19.1's messages show it (`%q`): `"a\tb\u200b"`.
//!
//! In: any text. Out: the text between double quotes, with `\"`, `\\`, the usual control escapes,
//! and `\xNN`, `\uNNNN` or `\UNNNNNNNN` for what is not printable. Printable is every letter, mark,
//! number, punctuation, symbol and the ASCII space.

use std::fmt::Write;
use std::sync::LazyLock;

use regex::Regex;

static PRINTABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$").ok());

/// `text` in double quotes.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        if c == '"' {
            out.push('\\');
            out.push('"');
        } else {
            push_escaped(&mut out, c);
        }
    }
    out.push('"');
    out
}

/// `c` in single quotes.
pub fn quote_char(c: char) -> String {
    let mut out = String::from("'");
    if c == '\'' {
        out.push_str("\\'");
    } else {
        push_escaped(&mut out, c);
    }
    out.push('\'');
    out
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        ' '..='~' => out.push(c),
        '\0'..='\x7f' => {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        }
        _ if is_printable(c) => out.push(c),
        '\u{80}'..='\u{ffff}' => {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        _ => {
            let _ = write!(out, "\\U{:08x}", u32::from(c));
        }
    }
}

fn is_printable(c: char) -> bool {
    PRINTABLE.as_ref().is_some_and(|r| r.is_match(c.encode_utf8(&mut [0; 4])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_printable_characters_stay() {
        assert_eq!(
            quote("a\"b\\\té\u{200b}\u{7f}'\u{1f600}\u{a0}"),
            "\"a\\\"b\\\\\\té\\u200b\\x7f'\u{1f600}\\u00a0\""
        );
        assert_eq!(quote_char('\''), "'\\''");
        assert_eq!(quote_char('"'), "'\"'");
    }
}
