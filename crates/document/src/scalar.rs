//! What a YAML scalar means: the typing rules of YAML 1.1 as Kyverno 1.19.1's decoder applies them.
//!
//! In: the text of a scalar, its tag, whether it was written plain. Out: a [`Scalar`]. Plain text
//! is looked up among the words for null, booleans and special floats first (`y`, `off`, `~`,
//! `.inf`), then read as an integer (decimal, `0x`, `0b`, `0o`, leading `0` octal, `_` anywhere),
//! then as a float; everything else, dates included, is text. A tag such as `!!int` makes a quoted
//! scalar typed and refuses text of another type. Tags that are not of YAML leave the text alone.

use super::yaml_error::YamlError;
use ephor_value::bytes::{decode_base64, lossy};
use ephor_value::number::parse_float;

/// The meaning of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    /// The text itself.
    Text,
    /// The text is base64 of the value.
    Binary,
}

impl Scalar {
    fn tag(self) -> &'static str {
        match self {
            Scalar::Null => "!!null",
            Scalar::Bool(_) => "!!bool",
            Scalar::Int(_) | Scalar::UInt(_) => "!!int",
            Scalar::Float(_) => "!!float",
            Scalar::Text | Scalar::Binary => "!!str",
        }
    }
}

/// The prefix that the tags of YAML itself share.
const YAML_TAG: &str = "tag:yaml.org,2002:";

/// The meaning of `text` under an explicit tag; `plain` says that it was written without quotes.
///
/// # Errors
/// The text has another type than the tag says.
pub(super) fn resolve(text: &str, tag: Option<&str>, plain: bool) -> Result<Scalar, YamlError> {
    let Some(tag) = tag.filter(|t| !t.is_empty()) else {
        return Ok(if plain { resolve_plain(text) } else { Scalar::Text });
    };
    let Some(short) = tag.strip_prefix(YAML_TAG) else { return Ok(Scalar::Text) };
    let found = match short {
        "binary" => return Ok(Scalar::Binary),
        "bool" | "int" | "float" | "null" => resolve_plain(text),
        "timestamp" => {
            let found = resolve_plain(text);
            if found == Scalar::Text && is_timestamp(text) {
                return Ok(Scalar::Text);
            }
            found
        }
        _ => return Ok(Scalar::Text),
    };
    match (short, found) {
        ("bool", Scalar::Bool(_)) | ("null", Scalar::Null) | ("float", Scalar::Float(_)) => Ok(found),
        ("int", Scalar::Int(_) | Scalar::UInt(_)) => Ok(found),
        ("float", Scalar::Int(i)) => Ok(Scalar::Float(i as f64)),
        _ => Err(YamlError::Tag { found: found.tag(), text: text.into(), tag: short.into() }),
    }
}

/// The meaning of an untagged plain scalar.
pub(super) fn resolve_plain(text: &str) -> Scalar {
    let Some(&first) = text.as_bytes().first() else { return Scalar::Null };
    match first {
        b'0'..=b'9' => number(text).unwrap_or(Scalar::Text),
        b'+' | b'-' => special_float(text).or_else(|| number(text)).unwrap_or(Scalar::Text),
        b'.' => special_float(text).or_else(|| parse_float(text).map(Scalar::Float)).unwrap_or(Scalar::Text),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        _ => Scalar::Text,
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text,
    }
}

fn special_float(text: &str) -> Option<Scalar> {
    Some(Scalar::Float(match text {
        ".nan" | ".NaN" | ".NAN" => f64::NAN,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => f64::INFINITY,
        "-.inf" | "-.Inf" | "-.INF" => f64::NEG_INFINITY,
        _ => return None,
    }))
}

fn number(text: &str) -> Option<Scalar> {
    // Most texts that begin with a digit are image tags, addresses or quantities: leave early.
    if !text
        .bytes()
        .all(|b| b.is_ascii_hexdigit() || matches!(b, b'+' | b'-' | b'.' | b'_' | b'x' | b'X' | b'o' | b'O'))
    {
        return None;
    }
    let cleaned;
    let plain = if text.contains('_') {
        cleaned = text.replace('_', "");
        cleaned.as_str()
    } else {
        text
    };
    if let Some(int) = integer(plain) {
        return Some(int);
    }
    if is_float(plain) { parse_float(plain).map(Scalar::Float) } else { None }
}

/// An integer with its base prefix; `None` when it is none or has more than 64 bits.
fn integer(text: &str) -> Option<Scalar> {
    let (sign, body) = match text.as_bytes().first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (0, text),
    };
    let (base, digits) = match body.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, body.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, body.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, body.get(2..)?),
        [b'0', _, ..] => (8, body.get(1..)?),
        _ => (10, body),
    };
    if !digits.chars().all(|c| c.is_digit(base)) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    match sign {
        -1 => 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int),
        _ => match i64::try_from(magnitude) {
            Ok(i) => Some(Scalar::Int(i)),
            // A sign keeps Kyverno from trying an unsigned number.
            Err(_) if sign == 0 => Some(Scalar::UInt(magnitude)),
            Err(_) => None,
        },
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let digits = |s: &mut &[u8]| {
        let n = s.iter().take_while(|b| b.is_ascii_digit()).count();
        *s = s.get(n..).unwrap_or(&[]);
        n
    };
    let mut rest = text.as_bytes();
    if let [b'+' | b'-', tail @ ..] = rest {
        rest = tail;
    }
    let whole = digits(&mut rest);
    if let [b'.', tail @ ..] = rest {
        rest = tail;
        let fraction = digits(&mut rest);
        if whole == 0 && fraction == 0 {
            return false;
        }
    } else if whole == 0 {
        return false;
    }
    if let [b'e' | b'E', tail @ ..] = rest {
        rest = tail;
        if let [b'+' | b'-', tail @ ..] = rest {
            rest = tail;
        }
        if digits(&mut rest) == 0 {
            return false;
        }
    }
    rest.is_empty()
}

/// Whether `text` has the shape of a YAML 1.1 date or time, which only `!!timestamp` reads.
pub(super) fn is_timestamp(text: &str) -> bool {
    let date = text.split(['T', 't', ' ']).next().unwrap_or("");
    let mut parts = date.split('-');
    let part = |p: Option<&str>, lens: std::ops::RangeInclusive<usize>, max: u32| {
        p.is_some_and(|p| {
            lens.contains(&p.len())
                && p.bytes().all(|b| b.is_ascii_digit())
                && p.parse::<u32>().is_ok_and(|n| n <= max)
        })
    };
    let ok =
        part(parts.next(), 4..=4, 9999) && part(parts.next(), 1..=2, 12) && part(parts.next(), 1..=2, 31);
    if !ok || parts.next().is_some() {
        return false;
    }
    let time = text.get(date.len()..).unwrap_or("").trim_start_matches(['T', 't', ' ']);
    if time.is_empty() {
        return date.len() == text.len();
    }
    let mut clock = time.split(':');
    part(clock.next(), 1..=2, 23) && part(clock.next(), 1..=2, 59) && clock.next().is_some()
}

/// Whether untagged plain `text` is text for readers of YAML 1.1, 1.2 and their in-betweens.
pub(super) fn reads_as_text(text: &str) -> bool {
    match text.as_bytes().first() {
        None => false,
        Some(b'0'..=b'9' | b'+' | b'-') => {
            resolve_plain(text) == Scalar::Text && !is_timestamp(text) && !is_base60(text)
        }
        Some(_) => resolve_plain(text) == Scalar::Text,
    }
}

/// `[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?`
fn is_base60(text: &str) -> bool {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let Some((first, rest)) = body.split_once(':') else { return false };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let (rest, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    first.starts_with(|c: char| c.is_ascii_digit())
        && digits(first)
        && digits(fraction)
        && rest.split(':').all(|p| match p.as_bytes() {
            [d] => d.is_ascii_digit(),
            [t, d] => matches!(t, b'0'..=b'5') && d.is_ascii_digit(),
            _ => false,
        })
}

/// The bytes of base64 text, as text.
pub(super) fn decode_binary(text: &str) -> Option<String> {
    decode_base64(text.as_bytes()).ok().map(|bytes| lossy(&bytes))
}
