//! Literals: numbers, strings and byte strings.
//!
//! In: the text of a token. Out: its value, or cel-go's message.

use crate::syntax::lexer::Tok;
use ephor_value::Value;
use ephor_value::number::parse_float;

/// The value of a literal token; `negative` is a sign before a number.
///
/// # Errors
/// `invalid int literal` and the like.
pub fn value(kind: Tok, text: &str, negative: bool) -> Result<Value, &'static str> {
    match kind {
        Tok::Int => int(text, negative).map(Value::Int).ok_or("invalid int literal"),
        Tok::Uint => {
            let digits = text.trim_end_matches(['u', 'U']);
            let parsed = match digits.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            parsed.map(Value::UInt).map_err(|_| "invalid uint literal")
        }
        Tok::Float => {
            let parsed = parse_float(text).filter(|f| f.is_finite());
            parsed.map(|f| Value::Float(if negative { -f } else { f })).ok_or("invalid double literal")
        }
        Tok::Str => string(text).map(Value::from),
        Tok::Bytes => bytes(text).map(|b| Value::Bytes(b.into())),
        Tok::True => Ok(Value::Bool(true)),
        Tok::False => Ok(Value::Bool(false)),
        _ => Ok(Value::Null),
    }
}

fn int(text: &str, negative: bool) -> Option<i64> {
    let magnitude = match text.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// The inner text of a quoted one, and whether it is raw.
fn inner(text: &str) -> (String, bool) {
    let quoted = text.trim_start_matches(['b', 'B', 'r', 'R']);
    let prefix = text.len() - quoted.len();
    let raw = text.get(..prefix).unwrap_or_default().contains(['r', 'R']);
    let width = if quoted.starts_with("\"\"\"") || quoted.starts_with("'''") { 3 } else { 1 };
    let inner = quoted.get(width..quoted.len().saturating_sub(width)).unwrap_or_default();
    (inner.replace("\r\n", "\n").replace('\r', "\n"), raw)
}

const BAD: &str = "unable to unescape string";

enum Unit {
    Char(char),
    /// From a numeric escape: a code point in texts, a byte in byte strings.
    Number(u32),
}

fn units(inner: &str, in_bytes: bool) -> Result<Vec<Unit>, &'static str> {
    let mut out = Vec::with_capacity(inner.len());
    let mut chars = inner.chars();
    let number = |chars: &mut std::str::Chars<'_>, count: usize, radix: u32, start: u32| {
        let mut n = start;
        for _ in 0..count {
            let digit = chars.next().and_then(|c| c.to_digit(radix)).ok_or(BAD)?;
            n = n.checked_mul(radix).and_then(|n| n.checked_add(digit)).ok_or(BAD)?;
        }
        Ok::<u32, &'static str>(n)
    };
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(Unit::Char(c));
            continue;
        }
        let unit = match chars.next().ok_or(BAD)? {
            'a' => Unit::Char('\u{7}'),
            'b' => Unit::Char('\u{8}'),
            'f' => Unit::Char('\u{c}'),
            'n' => Unit::Char('\n'),
            'r' => Unit::Char('\r'),
            't' => Unit::Char('\t'),
            'v' => Unit::Char('\u{b}'),
            c @ ('\\' | '\'' | '"' | '`' | '?') => Unit::Char(c),
            'x' | 'X' => Unit::Number(number(&mut chars, 2, 16, 0)?),
            'u' | 'U' if in_bytes => return Err(BAD),
            'u' => code_point(number(&mut chars, 4, 16, 0)?)?,
            'U' => code_point(number(&mut chars, 8, 16, 0)?)?,
            c @ '0'..='3' => Unit::Number(number(&mut chars, 2, 8, c.to_digit(8).unwrap_or(0))?),
            _ => return Err(BAD),
        };
        out.push(unit);
    }
    Ok(out)
}

fn code_point(n: u32) -> Result<Unit, &'static str> {
    char::from_u32(n).map(Unit::Char).ok_or("invalid unicode code point")
}

fn string(text: &str) -> Result<String, &'static str> {
    let (inner, raw) = inner(text);
    if raw || !inner.contains('\\') {
        return Ok(inner);
    }
    let char_of = |unit| match unit {
        Unit::Char(c) => Ok(c),
        Unit::Number(n) => char::from_u32(n).ok_or("invalid unicode code point"),
    };
    units(&inner, false)?.into_iter().map(char_of).collect()
}

fn bytes(text: &str) -> Result<Vec<u8>, &'static str> {
    let (inner, raw) = inner(text);
    if raw {
        return Ok(inner.into_bytes());
    }
    let mut out = Vec::with_capacity(inner.len());
    for unit in units(&inner, true)? {
        match unit {
            Unit::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Unit::Number(n) => out.push(u8::try_from(n).map_err(|_| BAD)?),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_is_part_of_a_number_so_that_the_least_one_can_be_written() {
        assert_eq!(value(Tok::Int, "9223372036854775808", true), Ok(Value::Int(i64::MIN)));
        assert_eq!(value(Tok::Int, "9223372036854775808", false), Err("invalid int literal"));
        assert_eq!(value(Tok::Int, "0x8000000000000000", true), Ok(Value::Int(i64::MIN)));
        assert_eq!(value(Tok::Uint, "0xFFFFFFFFFFFFFFFFu", false), Ok(Value::UInt(u64::MAX)));
        assert_eq!(value(Tok::Uint, "18446744073709551616u", false), Err("invalid uint literal"));
        assert_eq!(value(Tok::Float, "1e400", false), Err("invalid double literal"));
        assert_eq!(value(Tok::Float, "2.5", true), Ok(Value::Float(-2.5)));
    }

    #[test]
    fn numeric_escapes_are_code_points_in_strings_and_bytes_in_byte_strings() {
        assert_eq!(value(Tok::Str, r"'\xe9\351'", false), Ok("éé".into()));
        let bytes = Value::Bytes(vec![0xe9, 0xe9, 0xc3, 0xa9].into());
        assert_eq!(value(Tok::Bytes, r"b'\xe9\351é'", false), Ok(bytes));
        assert_eq!(value(Tok::Bytes, r"b'\u00e9'", false), Err(BAD));
        assert_eq!(value(Tok::Str, r"'\ud800'", false), Err("invalid unicode code point"));
    }

    #[test]
    fn raw_strings_keep_their_backslashes() {
        assert_eq!(value(Tok::Str, r"r'\n'", false), Ok(r"\n".into()));
        assert_eq!(value(Tok::Bytes, r"bR'\x41'", false), Ok(Value::Bytes(br"\x41".as_slice().into())));
    }

    #[test]
    fn line_breaks_of_all_systems_are_one_character() {
        assert_eq!(value(Tok::Str, "'''a\r\nb\rc\n'''", false), Ok("a\nb\nc\n".into()));
    }
}
