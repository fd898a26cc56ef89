//! Durations in Go's syntax (`1h30m`, `-1.5h`, `250ms`), the only duration parser of the program.
//!
//! In: text. Out: signed 64-bit nanoseconds, or the reference's error text; and back.
//!
//! Optional sign, then `0` or one or more decimal numbers each with a unit `ns us µs μs ms s m h`;
//! any order, repeats allowed; digits beyond a nanosecond are dropped; no days, no spaces.

use std::fmt::Write;

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
const LIMIT: u64 = 1 << 63;

/// Why a text is no duration, with the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DurationError {
    /// No number where one belongs, or more than 64 bits have room for.
    #[error("time: invalid duration {}", quote(.0.as_bytes()))]
    Invalid(Box<str>),
    /// A number without a unit.
    #[error("time: missing unit in duration {}", quote(.0.as_bytes()))]
    MissingUnit(Box<str>),
    /// A number with something else than a unit.
    #[error("time: unknown unit {} in duration {}", quote(.unit.as_bytes()), quote(.text.as_bytes()))]
    UnknownUnit {
        /// What follows the number.
        unit: Box<str>,
        /// The whole text.
        text: Box<str>,
    },
}

/// Why a text is no duration, before the text is copied.
enum DurationReason<'a> {
    Invalid,
    MissingUnit,
    UnknownUnit(&'a str),
}

/// Reads a duration as nanoseconds.
///
/// # Errors
/// The reference's text: `time: invalid duration "x"` (also for overflow), `time: missing unit in
/// duration "5"` or `time: unknown unit "d" in duration "1d"`.
pub fn parse(text: &str) -> Result<i64, DurationError> {
    read(text).map_err(|bad| match bad {
        DurationReason::Invalid => DurationError::Invalid(text.into()),
        DurationReason::MissingUnit => DurationError::MissingUnit(text.into()),
        DurationReason::UnknownUnit(unit) => {
            DurationError::UnknownUnit { unit: unit.into(), text: text.into() }
        }
    })
}

/// Reads a duration as nanoseconds without the cost of an error.
pub fn parse_ok(text: &str) -> Option<i64> {
    read(text).ok()
}

fn read(text: &str) -> Result<i64, DurationReason<'_>> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(DurationReason::Invalid);
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (int, after_int) = split(rest, |b| b.is_ascii_digit());
        let (frac, after) = match after_int.strip_prefix('.') {
            Some(r) => split(r, |b| b.is_ascii_digit()),
            None => ("", after_int),
        };
        if int.is_empty() && frac.is_empty() {
            return Err(DurationReason::Invalid);
        }
        let whole = leading_int(int).ok_or(DurationReason::Invalid)?;
        let (unit_text, next) = split(after, |b| b != b'.' && !b.is_ascii_digit());
        if unit_text.is_empty() {
            return Err(DurationReason::MissingUnit);
        }
        let unit = unit(unit_text).ok_or(DurationReason::UnknownUnit(unit_text))?;
        if whole > LIMIT / unit {
            return Err(DurationReason::Invalid);
        }
        let (f, scale) = leading_fraction(frac);
        // A double keeps fractions of an hour exact to the nanosecond; the cast drops the rest.
        let fraction = if f > 0 { (f as f64 * (unit as f64 / scale)) as u64 } else { 0 };
        total = (whole * unit)
            .checked_add(fraction)
            .filter(|v| *v <= LIMIT)
            .and_then(|v| total.checked_add(v))
            .filter(|v| *v <= LIMIT)
            .ok_or(DurationReason::Invalid)?;
        rest = next;
    }
    if negative {
        return Ok(0i64.wrapping_sub_unsigned(total));
    }
    i64::try_from(total).map_err(|_| DurationReason::Invalid)
}

fn split(s: &str, keep: impl Fn(u8) -> bool) -> (&str, &str) {
    // The stop byte is ASCII, so the cut is on a character boundary.
    s.split_at(s.bytes().take_while(|b| keep(*b)).count())
}

fn leading_int(digits: &str) -> Option<u64> {
    digits
        .bytes()
        .try_fold(0u64, |x, b| x.checked_mul(10)?.checked_add(u64::from(b - b'0')).filter(|x| *x <= LIMIT))
}

fn leading_fraction(digits: &str) -> (u64, f64) {
    let (mut x, mut scale) = (0u64, 1f64);
    for b in digits.bytes() {
        match x.checked_mul(10).and_then(|x| x.checked_add(u64::from(b - b'0'))) {
            Some(y) if x <= (LIMIT - 1) / 10 && y <= LIMIT => x = y,
            _ => break,
        }
        scale *= 10.0;
    }
    (x, scale)
}

fn unit(u: &str) -> Option<u64> {
    Some(match u {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// The canonical text: `0s`, one unit below a second (`1.5ms`), else `1h2m3.5s` with leading zero
/// units omitted and later ones present.
pub fn format(ns: i64) -> String {
    let abs = ns.unsigned_abs();
    let mut out = String::new();
    if abs == 0 {
        return "0s".into();
    }
    if ns < 0 {
        out.push('-');
    }
    if abs < 1_000_000_000 {
        let (unit, name) = match abs {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            _ => (1_000_000, "ms"),
        };
        push_decimal(&mut out, abs / unit, abs % unit, unit);
        out.push_str(name);
        return out;
    }
    let seconds = abs / 1_000_000_000;
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if h > 0 {
        let _ = write!(out, "{h}h");
    }
    if h > 0 || m > 0 {
        let _ = write!(out, "{m}m");
    }
    push_decimal(&mut out, s, abs % 1_000_000_000, 1_000_000_000);
    out.push('s');
    out
}

fn push_decimal(out: &mut String, whole: u64, part: u64, unit: u64) {
    let _ = write!(out, "{whole}");
    if part > 0 {
        let digits = format!("{:0width$}", part, width = unit.ilog10() as usize);
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

/// A text in quotes the way the reference's time errors show it: non-ASCII and control bytes as
/// `\xNN`.
pub(crate) fn quote(s: impl AsRef<[u8]>) -> String {
    let mut out = String::from("\"");
    for b in s.as_ref() {
        match *b {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(*b));
            }
            b' '..=0x7f => out.push(char::from(*b)),
            _ => {
                let _ = write!(out, "\\x{b:02x}");
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_printed_as_in_go() {
        for (text, ns, print) in [
            ("1h", 3600 * SECOND, "1h0m0s"),
            ("-1.5h", -5400 * SECOND, "-1h30m0s"),
            (".5s", SECOND / 2, "500ms"),
            ("1.s", SECOND, "1s"),
            ("0", 0, "0s"),
            ("+0", 0, "0s"),
            ("-0", 0, "0s"),
            ("2500ns", 2500, "2.5µs"),
            ("1µs1μs1us", 3000, "3µs"),
            ("-123456789ns", -123_456_789, "-123.456789ms"),
            ("11.25s", 11_250_000_000, "11.25s"),
            ("1h10s", 3610 * SECOND, "1h0m10s"),
            ("-2562047h47m16.854775808s", i64::MIN, "-2562047h47m16.854775808s"),
            ("0.1234567899s", 123_456_789, "123.456789ms"),
        ] {
            assert_eq!(parse(text), Ok(ns), "{text}");
            assert_eq!(format(ns), print);
        }
    }

    #[test]
    fn errors_have_the_text_of_the_reference() {
        for (text, error) in [
            ("", "time: invalid duration \"\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1h-1m", "time: unknown unit \"h-\" in duration \"1h-1m\""),
            (".s", "time: invalid duration \".s\""),
            ("é", "time: invalid duration \"\\xc3\\xa9\""),
            ("1é", "time: unknown unit \"\\xc3\\xa9\" in duration \"1\\xc3\\xa9\""),
            ("2562047h47m16.854775808s", "time: invalid duration \"2562047h47m16.854775808s\""),
            ("9999999999999999999999h", "time: invalid duration \"9999999999999999999999h\""),
        ] {
            assert_eq!(parse(text).map_err(|e| e.to_string()), Err(error.to_string()));
        }
    }
}
