//! Escapes and character classes.
//!
//! In: the pattern from the place on where one may begin. Out: its translation and the rest,
//! nothing when none begins there, or Go's error.

use std::fmt::Write;

use super::cursor::{consumed, next_char};
use super::{ErrorCode, RegexError};

/// The character of an escape.
pub(super) fn escaped_char(s: &str) -> Result<(u32, &str), RegexError> {
    let Some((c, mut rest)) = s.get(1..).and_then(next_char) else {
        return Err(RegexError::new(ErrorCode::TrailingBackslash, ""));
    };
    let octal = |s: &str| s.bytes().next().filter(|b| matches!(b, b'0'..=b'7')).map(|b| u32::from(b - b'0'));
    match c {
        '0'..='7' if c == '0' || octal(rest).is_some() => {
            let mut code = u32::from(c) - u32::from('0');
            for _ in 0..2 {
                if let Some(digit) = octal(rest) {
                    code = code * 8 + digit;
                    rest = rest.get(1..).unwrap_or_default();
                }
            }
            return Ok((code, rest));
        }
        'x' => {
            if let Some(code) = hex_escape(&mut rest) {
                return Ok((code, rest));
            }
        }
        'a' => return Ok((7, rest)),
        'f' => return Ok((0xc, rest)),
        'n' => return Ok((0xa, rest)),
        'r' => return Ok((0xd, rest)),
        't' => return Ok((9, rest)),
        'v' => return Ok((0xb, rest)),
        _ if c.is_ascii() && !c.is_ascii_alphanumeric() => return Ok((u32::from(c), rest)),
        _ => {}
    }
    Err(RegexError::new(ErrorCode::Escape, consumed(s, rest)))
}

/// The code after `\x`; `rest` moves as far as was read, also on failure.
fn hex_escape(rest: &mut &str) -> Option<u32> {
    let (first, r) = next_char(rest)?;
    *rest = r;
    if first != '{' {
        let (second, r) = next_char(rest)?;
        *rest = r;
        return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
    }
    let (mut code, mut digits) = (0u32, 0);
    loop {
        let (c, r) = next_char(rest)?;
        *rest = r;
        if c == '}' {
            return (digits > 0).then_some(code);
        }
        code = code * 16 + c.to_digit(16)?;
        if code > 0x10ffff {
            return None;
        }
        digits += 1;
    }
}

/// `\d`, `\s`, `\w` and their opposites, which are ASCII.
pub(super) fn perl_class(s: &str) -> Option<(&'static str, &str)> {
    let class = match s.as_bytes().get(..2)? {
        b"\\d" => "[0-9]",
        b"\\D" => "[^0-9]",
        b"\\s" => "[\\t\\n\\f\\r\\x{20}]",
        b"\\S" => "[^\\t\\n\\f\\r\\x{20}]",
        b"\\w" => "[0-9A-Za-z_]",
        b"\\W" => "[^0-9A-Za-z_]",
        _ => return None,
    };
    Some((class, s.get(2..)?))
}

/// `[:alpha:]` and its like within a class.
pub(super) fn named_class(s: &str) -> Result<Option<(String, &str)>, RegexError> {
    let Some(end) = s.strip_prefix("[:").and_then(|r| r.find(":]")) else { return Ok(None) };
    let (text, rest) = s.split_at(end + 4);
    let name = text.get(2..end + 2).unwrap_or_default();
    let (sign, name) = match name.strip_prefix('^') {
        Some(n) => ("^", n),
        None => ("", name),
    };
    let ranges = match name {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => "\\x{0}-\\x{7F}",
        "blank" => "\\t\\x{20}",
        "cntrl" => "\\x{0}-\\x{1F}\\x{7F}",
        "digit" => "0-9",
        "graph" => "\\x{21}-\\x{7E}",
        "lower" => "a-z",
        "print" => "\\x{20}-\\x{7E}",
        "punct" => "\\x{21}-\\x{2F}\\x{3A}-\\x{40}\\x{5B}-\\x{60}\\x{7B}-\\x{7E}",
        "space" => "\\t\\n\\x{B}\\f\\r\\x{20}",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return Err(RegexError::new(ErrorCode::CharRange, text)),
    };
    Ok(Some((format!("[{sign}{ranges}]"), rest)))
}

/// `\pL`, `\p{Greek}`, `\P{^Greek}`: general categories and scripts, nothing else.
pub(super) fn unicode_class(s: &str) -> Result<Option<(String, &str)>, RegexError> {
    let mut negative = match s.as_bytes().get(..2) {
        Some(b"\\p") => false,
        Some(b"\\P") => true,
        _ => return Ok(None),
    };
    let body = s.get(2..).unwrap_or_default();
    let (name, rest) = match body.strip_prefix('{') {
        Some(braced) => match braced.split_once('}') {
            Some(parts) => parts,
            None => return Err(RegexError::new(ErrorCode::CharRange, s)),
        },
        None => match next_char(body) {
            Some((_, rest)) => (consumed(body, rest), rest),
            None => ("", ""),
        },
    };
    let name = match name.strip_prefix('^') {
        Some(n) => {
            negative = !negative;
            n
        }
        None => name,
    };
    let class =
        unicode_property(name).ok_or_else(|| RegexError::new(ErrorCode::CharRange, consumed(s, rest)))?;
    Ok(Some((if negative { class.replacen("\\p", "\\P", 1) } else { class }, rest)))
}

/// The class of a category or script name in the `regex` crate's syntax.
fn unicode_property(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
    if name.is_empty() || !name.chars().all(plain) {
        return None;
    }
    let short: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric()).collect::<String>().to_ascii_lowercase();
    match short.as_str() {
        "any" => return Some("\\p{Any}".into()),
        "ascii" => return Some("\\p{ASCII}".into()),
        "assigned" => return Some("\\p{Assigned}".into()),
        _ => {}
    }
    let known = |class: &String| regex_syntax::parse(class).is_ok();
    let category = format!("\\p{{gc={short}}}");
    if known(&category) {
        return Some(category);
    }
    // The crate knows scripts by their four-letter codes too, which Go does not.
    const LONG_NAMES_OF_FOUR: [&str; 9] =
        ["ahom", "cham", "kawi", "lisu", "miao", "modi", "newa", "thai", "toto"];
    if short.len() == 4 && !LONG_NAMES_OF_FOUR.contains(&short.as_str()) {
        return None;
    }
    Some(format!("\\p{{sc={short}}}")).filter(known)
}

/// Appends a range of a class; surrogates, which no text holds, are left out.
pub(super) fn push_range(out: &mut String, low: u32, high: u32) {
    let low = if (0xd800..0xe000).contains(&low) { 0xe000 } else { low };
    let high = if (0xd800..0xe000).contains(&high) { 0xd7ff } else { high };
    if low <= high {
        let _ = write!(out, "\\x{{{low:X}}}-\\x{{{high:X}}}");
    }
}

pub(super) fn class_char<'a>(s: &'a str, whole: &str) -> Result<(u32, &'a str), RegexError> {
    if s.starts_with('\\') {
        return escaped_char(s);
    }
    let (c, rest) = next_char(s).ok_or_else(|| RegexError::new(ErrorCode::MissingBracket, whole))?;
    Ok((u32::from(c), rest))
}
