//! `format`: texts with clauses.

use std::fmt::Write;

use super::call::{Call, CallResult, fault, success};
use super::convert::{double_text, duration_text, timestamp_text};
use crate::limits;
use ephor_value::number::{float_plain, strconv};
use ephor_value::quote::quote;
use ephor_value::{Fault, Object, Value, stack};

/// A scalar as texts of errors show it.
pub fn plain(v: &Value) -> String {
    match v {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::UInt(u) => u.to_string(),
        Value::Float(f) => double_text(*f),
        Value::Str(s) => s.to_string(),
        other => other.cel_type().into(),
    }
}

/// Why a pattern and its arguments make no text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The pattern ends behind a `%`.
    #[error("unexpected end of string")]
    End,
    /// There are fewer arguments than clauses.
    #[error("index {0} out of range")]
    Index(usize),
    /// A clause that is none.
    #[error("could not parse formatting clause: {0}")]
    Clause(#[from] ClauseError),
    /// An argument that its clause does not take.
    #[error("error during formatting: {0}")]
    Argument(#[from] ArgumentError),
    /// A text that is too long.
    #[error(transparent)]
    Limit(#[from] Fault),
}

/// Why a clause is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClauseError {
    /// The precision does not end.
    #[error("error while parsing precision: could not find end of precision specifier")]
    PrecisionEnd,
    /// The precision is no number, in the words of Go's `strconv`.
    #[error("error while parsing precision: error while converting precision to integer: {0}")]
    Precision(Box<str>),
    /// A letter that is not known; its first byte.
    #[error("unrecognized formatting clause \"{0}\"")]
    Verb(char),
}

/// Why a clause does not take an argument.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// It takes other types.
    #[error("{takes}, was given {found}")]
    Type {
        /// What it takes.
        takes: &'static str,
        /// The type of the argument.
        found: Box<str>,
    },
    /// Bytes that are no text.
    #[error(
        "could not convert argument {} to string",
        quote("invalid UTF-8 in bytes, cannot convert to string")
    )]
    Bytes,
    /// A value of a type that has no text.
    #[error("no formatting function for {0}")]
    NoText(Box<str>),
    /// A key of a type that has no text.
    #[error("no formatting function for map key of type {0}")]
    NoKeyText(Box<str>),
}

pub(crate) type Text = Result<String, ArgumentError>;

pub(crate) fn format(call: &Call<'_>) -> CallResult {
    let (pattern, args) = (call.text(0)?, call.arg(1).as_list()?);
    match filled(pattern, args, written) {
        Ok(text) => success(text),
        Err(e) => fault(e.to_string()),
    }
}

/// The text of a pattern and its arguments, which `write` writes.
pub fn filled(
    pattern: &str,
    args: &[Value],
    write: fn(&Clause, &Value) -> Text,
) -> Result<String, FormatError> {
    let mut out = String::new();
    let mut at = 0;
    let mut used = 0;
    while let Some(step) = pattern.get(at..).and_then(|rest| rest.find('%')) {
        out.push_str(pattern.get(at..at + step).unwrap_or_default());
        at += step + 1;
        let rest = pattern.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return Err(FormatError::End);
        }
        if rest.starts_with('%') {
            out.push('%');
            at += 1;
            continue;
        }
        let Some(arg) = args.get(used) else { return Err(FormatError::Index(used)) };
        used += 1;
        let (len, clause) = clause(rest)?;
        at += len;
        limits::printable(arg)?;
        out.push_str(&write(&clause, arg)?);
        limits::text_of(out.len())?;
    }
    out.push_str(pattern.get(at..).unwrap_or_default());
    Ok(out)
}

/// A clause.
pub struct Clause {
    verb: char,
    precision: Option<usize>,
}

impl Clause {
    /// Its letter.
    pub fn verb(&self) -> char {
        self.verb
    }

    /// The number of decimal places that it sets.
    pub fn places(&self) -> Option<usize> {
        self.precision
    }

    /// Whether it is for doubles.
    pub fn takes_doubles(&self) -> bool {
        matches!(self.verb, 'f' | 'e')
    }
}

/// The clause behind a `%` and its length.
///
/// # Errors
/// What is wrong with it.
pub fn clause(rest: &str) -> Result<(usize, Clause), ClauseError> {
    let mut at = 0;
    let mut precision = None;
    if let Some(digits) = rest.strip_prefix('.') {
        let len = digits.bytes().take_while(u8::is_ascii_digit).count();
        let text = digits.get(..len).unwrap_or_default();
        if len == digits.len() {
            return Err(ClauseError::PrecisionEnd);
        }
        let number = strconv("Atoi", text);
        let number = number.map_err(|error| ClauseError::Precision(error.to_string().into()))?;
        let n = usize::try_from(number).unwrap_or_default();
        precision = Some(n);
        at = 1 + len;
    }
    let verb = rest.get(at..).and_then(|r| r.chars().next()).unwrap_or('\0');
    if !matches!(verb, 's' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o') {
        // Only the first byte of it is shown.
        let byte = rest.as_bytes().get(at).copied().map_or('\0', char::from);
        return Err(ClauseError::Verb(byte));
    }
    Ok((at + verb.len_utf8(), Clause { verb, precision }))
}

/// The arguments that a clause takes, by the names of their types; `None` when it takes this one.
pub fn refusal(clause: &Clause, type_name: &str) -> Option<ArgumentError> {
    let (fits, takes): (&[&str], &str) = match clause.verb {
        's' => (
            &[
                "string",
                "bool",
                "bytes",
                "int",
                "uint",
                "double",
                "map",
                "list",
                "type",
                "google.protobuf.Duration",
                "google.protobuf.Timestamp",
                "null_type",
            ],
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
        ),
        'd' => (&["int", "uint"], "decimal clause can only be used on integers"),
        'f' => (&["double"], "fixed-point clause can only be used on doubles"),
        'e' => (&["double"], "scientific clause can only be used on doubles"),
        'b' => (&["int", "uint", "bool"], "only integers and bools can be formatted as binary"),
        'o' => (&["int", "uint"], "octal clause can only be used on integers"),
        _ => (
            &["int", "uint", "string", "bytes"],
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
    };
    (!fits.contains(&type_name)).then(|| ArgumentError::Type { takes, found: type_name.into() })
}

/// An argument as a clause wants it.
pub fn written(clause: &Clause, v: &Value) -> Text {
    // Texts stand for the doubles that no literal writes.
    let special = match (clause.verb, v) {
        ('f' | 'e', Value::Str(s)) => match &**s {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    if let Some(f) = special {
        let places = clause.precision.unwrap_or(6);
        return Ok(if clause.verb == 'e' { scientific(f, places) } else { grouped(f, places) });
    }
    if let Some(error) = refusal(clause, v.cel_type()) {
        return Err(error);
    }
    let mut out = String::new();
    match (clause.verb, v) {
        ('s' | 'd', v) => text_of(&mut out, v, false)?,
        ('f', Value::Float(f)) => out = grouped(*f, clause.precision.unwrap_or(6)),
        ('e', Value::Float(f)) => out = scientific(*f, clause.precision.unwrap_or(6)),
        ('b', Value::Bool(b)) => out.push(if *b { '1' } else { '0' }),
        ('x' | 'X', Value::Str(s)) => hex(&mut out, s.as_bytes(), clause.verb),
        ('x' | 'X', Value::Bytes(b)) => hex(&mut out, b, clause.verb),
        (verb, Value::Int(i)) => {
            if *i < 0 {
                out.push('-');
            }
            based(&mut out, i.unsigned_abs(), verb);
        }
        (verb, Value::UInt(u)) => based(&mut out, *u, verb),
        _ => {}
    }
    Ok(out)
}

fn hex(out: &mut String, bytes: &[u8], verb: char) {
    for b in bytes {
        let _ = if verb == 'X' { write!(out, "{b:02X}") } else { write!(out, "{b:02x}") };
    }
}

fn based(out: &mut String, n: u64, verb: char) {
    let _ = match verb {
        'b' => write!(out, "{n:b}"),
        'o' => write!(out, "{n:o}"),
        'X' => write!(out, "{n:X}"),
        _ => write!(out, "{n:x}"),
    };
}

/// A value as `%s` shows it; inside of others texts stand in quotation marks.
///
/// # Errors
/// What nothing inside of others can be.
fn text_of(out: &mut String, v: &Value, inside: bool) -> Result<(), ArgumentError> {
    match v {
        Value::Str(s) if inside => {
            out.push_str(&quote(s));
        }
        Value::Bytes(b) => {
            let text = std::str::from_utf8(b).map_err(|_| ArgumentError::Bytes)?;
            let _ = if inside { write!(out, "b{}", quote(text)) } else { write!(out, "{text}") };
        }
        Value::Float(f) if inside && f.is_finite() => {
            let _ = write!(out, "{f:.6}");
        }
        Value::Float(f) if inside => {
            let _ = write!(out, "\"{}\"", double_text(*f));
        }
        Value::Duration(d) if inside => {
            let _ = write!(out, "duration(\"{}\")", duration_text(*d));
        }
        Value::Duration(d) => out.push_str(&duration_text(*d)),
        Value::Timestamp(t) if inside => {
            let _ = write!(out, "timestamp(\"{}\")", timestamp_text(t));
        }
        Value::Timestamp(t) => out.push_str(&timestamp_text(t)),
        Value::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                stack::deep(|| text_of(out, item, true))?;
            }
            out.push(']');
        }
        Value::Map(m) => {
            let entries: Vec<(Value, Value)> =
                m.iter().map(|(k, v)| (Value::Str(k.clone()), v.clone())).collect();
            entries_of(out, &entries)?;
        }
        Value::Object(o) => match &**o {
            Object::Type(name) => out.push_str(name),
            Object::Keyed(entries) => entries_of(out, entries)?,
            other => return Err(ArgumentError::NoText(other.type_name().into())),
        },
        other => out.push_str(&plain(other)),
    }
    Ok(())
}

/// Entries in the order of their printed keys.
fn entries_of(out: &mut String, entries: &[(Value, Value)]) -> Result<(), ArgumentError> {
    let mut shown: Vec<(String, &Value)> = Vec::with_capacity(entries.len());
    for (k, v) in entries {
        if !matches!(k, Value::Str(_) | Value::Bool(_) | Value::Int(_) | Value::UInt(_)) {
            return Err(ArgumentError::NoKeyText(k.cel_type().into()));
        }
        let mut key = String::new();
        text_of(&mut key, k, true)?;
        shown.push((key, v));
    }
    shown.sort_by(|a, b| a.0.cmp(&b.0));
    out.push('{');
    for (i, (key, value)) in shown.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        let _ = write!(out, "{key}:");
        stack::deep(|| text_of(out, value, true))?;
    }
    out.push('}');
    Ok(())
}

fn special(f: f64) -> Option<&'static str> {
    match f {
        f if f.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// The formatter reads no more digits once a number is larger than a million; what it then writes
/// is its complaint.
const MAX_DIGITS: usize = 10_000_009;
const TOO_LARGE: &str = "%!(NOVERB)";

/// Fixed point with thousands parted. There are at least as many places as the last eight bits of
/// the precision say, and at most as many as its last sixteen do; where these are negative, as many
/// as distinguish the number from its neighbours.
fn grouped(f: f64, precision: usize) -> String {
    if precision > MAX_DIGITS {
        return TOO_LARGE.into();
    }
    if let Some(text) = special(f) {
        return text.into();
    }
    let (least, most) = (precision % 256, i16::from_le_bytes([precision as u8, (precision >> 8) as u8]));
    let text = match usize::try_from(most) {
        Ok(most) => format!("{:.*}", most, f.abs()),
        Err(_) => float_plain(f.abs()),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = format!("{:0<least$}", fraction.trim_end_matches('0'));
    let mut out = String::new();
    // Zero has no sign, numbers that only look like it keep theirs.
    if f < 0.0 {
        out.push('-');
    }
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(&fraction);
    }
    out
}

/// Six digits and a power of ten. The precision is the least width, of which the last sixteen bits
/// count (Kyverno 1.19.1's behaviour).
fn scientific(f: f64, width: usize) -> String {
    if width > MAX_DIGITS {
        return TOO_LARGE.into();
    }
    let width = width % 65_536;
    if let Some(text) = special(f) {
        return format!("{text:>width$}");
    }
    let f = if f == 0.0 { 0.0 } else { f };
    let text = format!("{f:.6e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ("⁻", digits),
        None => ("", exponent),
    };
    let padded = format!("{digits:0>2}");
    let raised: String =
        padded.chars().filter_map(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10)? as usize)).collect();
    let text = format!("{mantissa}×10{sign}{raised}");
    format!("{text:>width$}")
}
