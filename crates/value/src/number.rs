//! Numbers as text, the way the reference's language prints and reads them.

use std::num::{IntErrorKind, ParseIntError};

use super::quote::quote;

/// Which exponents switch from plain to exponent notation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `%v`: exponent below -4 or from 6 on, `e+06`.
    G,
    /// JSON: exponent below -6 or from 21 on, `e+21`, `e-7`.
    Json,
    /// Always plain.
    Plain,
    /// `%E`, shortest digits: `1.5E+00`.
    E,
}

/// A double the way `%v` prints it: shortest digits, exponent form below 1e-4 and from 1e6 on.
pub fn float_v(f: f64) -> String {
    format(f, Style::G)
}

/// A double as JSON text. NaN and infinities, which JSON has not, print as [`float_v`] does.
pub fn float_json(f: f64) -> String {
    format(f, Style::Json)
}

/// A double in plain decimal notation with the shortest digits that identify it.
pub fn float_plain(f: f64) -> String {
    format(f, Style::Plain)
}

/// A double in exponent form with the shortest digits (`1.5E+00`), as patterns see it.
pub fn float_e(f: f64) -> String {
    format(f, Style::E)
}

/// A double with six decimals (`2.500000`).
pub fn float_f6(f: f64) -> String {
    match non_finite(f) {
        Some(s) => s.to_string(),
        None => format!("{f:.6}"),
    }
}

fn non_finite(f: f64) -> Option<&'static str> {
    if f.is_nan() {
        Some("NaN")
    } else if f == f64::INFINITY {
        Some("+Inf")
    } else if f == f64::NEG_INFINITY {
        Some("-Inf")
    } else {
        None
    }
}

fn format(f: f64, style: Style) -> String {
    if let Some(s) = non_finite(f) {
        return s.to_string();
    }
    // `{:e}` gives the shortest digits that read back as the same number: `-1.25e-7`.
    let sci = format!("{f:e}");
    let (mantissa, exp) = sci.split_once('e').unwrap_or((&sci, "0"));
    let exp: i32 = exp.parse().unwrap_or(0);
    let exponent_form = match style {
        Style::G => f != 0.0 && !(-4..6).contains(&exp),
        Style::Json => f != 0.0 && !(-6..21).contains(&exp),
        Style::Plain => false,
        Style::E => true,
    };
    if !exponent_form {
        return plain(mantissa, exp);
    }
    let sign = if exp < 0 { '-' } else { '+' };
    match style {
        Style::Json => format!("{mantissa}e{sign}{}", exp.abs()),
        Style::E => format!("{mantissa}E{sign}{:02}", exp.abs()),
        _ => format!("{mantissa}e{sign}{:02}", exp.abs()),
    }
}

fn plain(mantissa: &str, exp: i32) -> String {
    let (sign, digits) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits: String = digits.chars().filter(|c| *c != '.').collect();
    let point = exp + 1;
    let mut out = String::from(sign);
    if point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
        out.push_str(&digits);
    } else {
        let point = point as usize;
        for (i, c) in digits.chars().enumerate() {
            if i == point {
                out.push('.');
            }
            out.push(c);
        }
        out.extend(std::iter::repeat_n('0', point.saturating_sub(digits.len())));
    }
    out
}

/// Reads a double in Go's syntax: optional sign, decimal or hexadecimal digits (hexadecimal needs a
/// `p` exponent), `_` between digits, `inf`, `infinity` or `nan` in any case. `None` when the text
/// is anything else or the value is out of range.
pub fn parse_float(text: &str) -> Option<f64> {
    let (neg, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = body.to_ascii_lowercase();
    let magnitude = match lower.as_str() {
        "inf" | "infinity" => f64::INFINITY,
        "nan" => return Some(f64::NAN),
        _ => {
            let clean = strip_underscores(&lower)?;
            let v = match clean.strip_prefix("0x") {
                Some(hex) => parse_hex_float(hex)?,
                None => parse_decimal(&clean)?,
            };
            if v.is_infinite() {
                return None;
            }
            v
        }
    };
    Some(if neg { -magnitude } else { magnitude })
}

/// `_` may stand only between digits (or after the `0x` prefix).
fn strip_underscores(s: &str) -> Option<std::borrow::Cow<'_, str>> {
    if !s.contains('_') {
        return Some(s.into());
    }
    let (prefix, rest, hex) = match s.strip_prefix("0x") {
        Some(r) => ("0x", r, true),
        None => ("", s, false),
    };
    let mut out = String::from(prefix);
    let mut before_is_digit = hex;
    let mut chars = rest.chars().peekable();
    let is_digit = |c: char| if hex { c.is_ascii_hexdigit() } else { c.is_ascii_digit() };
    while let Some(c) = chars.next() {
        if c == '_' {
            if !before_is_digit || !chars.peek().copied().is_some_and(is_digit) {
                return None;
            }
            before_is_digit = false;
            continue;
        }
        before_is_digit = is_digit(c);
        out.push(c);
    }
    Some(out.into())
}

fn parse_decimal(s: &str) -> Option<f64> {
    let first = s.bytes().next()?;
    if !(first.is_ascii_digit() || first == b'.') {
        return None;
    }
    s.parse().ok()
}

fn parse_hex_float(s: &str) -> Option<f64> {
    let (mantissa, exp) = s.split_once('p')?;
    let digits_ok = |e: &str| !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit());
    let exp_digits = exp.strip_prefix(['+', '-']).unwrap_or(exp);
    if !digits_ok(exp_digits) {
        return None;
    }
    let mut exp: i64 = exp.parse().ok()?;
    let (int, frac) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if int.is_empty() && frac.is_empty() {
        return None;
    }
    let mut acc: u64 = 0;
    let mut sticky = false;
    for (i, c) in int.chars().chain(frac.chars()).enumerate() {
        let d = u64::from(c.to_digit(16)?);
        let in_fraction = i >= int.len();
        if acc >> 59 == 0 {
            acc = (acc << 4) | d;
            if in_fraction {
                exp = exp.checked_sub(4)?;
            }
        } else {
            sticky |= d != 0;
            if !in_fraction {
                exp = exp.checked_add(4)?;
            }
        }
    }
    if sticky {
        acc |= 1;
    }
    let exp = i32::try_from(exp.clamp(-5000, 5000)).ok()?;
    Some(scale(acc as f64, exp))
}

/// `m × 2^exp` in steps that neither overflow nor underflow on the way.
fn scale(mut m: f64, mut exp: i32) -> f64 {
    while exp > 1000 {
        m *= 2f64.powi(1000);
        exp -= 1000;
    }
    while exp < -1000 {
        m *= 2f64.powi(-1000);
        exp += 1000;
    }
    m * 2f64.powi(exp)
}

/// Reads a base-10 signed 64-bit integer: optional sign and digits, nothing else.
pub fn parse_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// The integer that [`parse_int`] reads.
///
/// # Errors
/// What `function` of Go's `strconv` reports of the text. It reads from the left, without the sign,
/// and stops at the digit that 64 bits have no room for.
pub fn strconv(function: &'static str, text: &str) -> Result<i64, NumberError> {
    parse_int(text).ok_or_else(|| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        let is_read = |e: ParseIntError| *e.kind() == IntErrorKind::PosOverflow;
        let is_number = !digits.starts_with('+') && digits.parse::<u64>().map_or_else(is_read, |_| true);
        let why = if is_number { NumberReason::Range } else { NumberReason::Syntax };
        NumberError { function, text: text.into(), why }
    })
}

/// A text is no integer of 64 bits, in the words of Go's `strconv`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {}: {why}", quote(.text))]
pub struct NumberError {
    /// The function of `strconv` that the text names.
    pub function: &'static str,
    /// What was read.
    pub text: Box<str>,
    /// Why it is none.
    pub why: NumberReason,
}

/// Why a text is no integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberReason {
    /// It is no number at all.
    #[error("invalid syntax")]
    Syntax,
    /// 64 bits have no room for it.
    #[error("value out of range")]
    Range,
}
