//! Functions of strings.
//!
//! Case mapping is per code point (`ß` has no capital), as in the reference; everything that
//! counts, counts code points.

use super::args::{FunctionResult, cut, failure, list, number, text, value};
use super::{Arg, Context, limits};
use ephor_value::{Value, print, wildcard};

pub(super) fn compare(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(Value::Int(text(args, 0).cmp(text(args, 1)) as i64))
}

pub(super) fn equal_fold(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let same = text(args, 0).chars().map(fold).eq(text(args, 1).chars().map(fold));
    Ok(Value::Bool(same))
}

/// One representative of the characters that differ only in case. The dotted and dotless i of
/// Turkish fold to nothing else.
fn fold(c: char) -> char {
    match c {
        'İ' | 'ı' => c,
        _ => lower(upper(c)),
    }
}

/// The simple upper case of one character.
pub fn upper(c: char) -> char {
    match c {
        // These have a capital of several characters, but a single title-case form.
        '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
            char::from_u32(u32::from(c) + 8).unwrap_or(c)
        }
        '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(u32::from(c) + 9).unwrap_or(c),
        _ => single(c, c.to_uppercase()),
    }
}

/// The simple lower case of one character.
pub fn lower(c: char) -> char {
    if c == 'İ' { 'i' } else { single(c, c.to_lowercase()) }
}

fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

pub(super) fn to_upper(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(text(args, 0).chars().map(upper).collect::<String>().into())
}

pub(super) fn to_lower(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(text(args, 0).chars().map(lower).collect::<String>().into())
}

pub(super) fn replace(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let count = usize::try_from(cut(number(args, 3))).unwrap_or(usize::MAX);
    replace_first(text(args, 0), text(args, 1), text(args, 2), count)
}

pub(super) fn replace_all(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    replace_first(text(args, 0), text(args, 1), text(args, 2), usize::MAX)
}

/// Replaces up to `count` occurrences. The empty text occurs before each character and at the end.
fn replace_first(s: &str, old: &str, new: &str, count: usize) -> FunctionResult {
    let found = s.matches(old).take(count).count();
    limits::text_of(limits::replaced(s.len(), found, old.len(), new.len()))?;
    Ok(s.replacen(old, new, count).into())
}

pub(super) fn trim(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let set: foldhash::HashSet<char> = text(args, 1).chars().collect();
    Ok(text(args, 0).trim_matches(|c| set.contains(&c)).into())
}

pub(super) fn trim_prefix(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let s = text(args, 0);
    Ok(s.strip_prefix(text(args, 1)).unwrap_or(s).into())
}

pub(super) fn split(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (s, separator) = (text(args, 0), text(args, 1));
    let count = if separator.is_empty() { s.chars().count() } else { s.matches(separator).count() };
    limits::items_of(count)?;
    let parts = if separator.is_empty() {
        s.chars().map(|c| Value::from(&*c.encode_utf8(&mut [0; 4]))).collect()
    } else {
        s.split(separator).map(Value::from).collect()
    };
    Ok(Value::list(parts))
}

pub(super) fn truncate(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let s = text(args, 0);
    let length = usize::try_from(cut(number(args, 1))).unwrap_or(0);
    let end = s.char_indices().nth(length).map_or(s.len(), |(i, _)| i);
    Ok(s.get(..end).unwrap_or_default().into())
}

pub(super) fn to_boolean(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let s = text(args, 0);
    match s.chars().map(lower).collect::<String>().as_str() {
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        _ => Err(failure(
            "to_boolean",
            format_args!("lowercase argument must be 'true' or 'false' (provided: '{s}')"),
        )),
    }
}

pub(super) fn path_canonicalize(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let path = text(args, 0);
    if path.is_empty() {
        return Ok("".into());
    }
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| *p != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            _ => parts.push(part),
        }
    }
    let clean = parts.join("/");
    Ok(match (rooted, clean.is_empty()) {
        (true, _) => format!("/{clean}").into(),
        (false, true) => ".".into(),
        (false, false) => clean.into(),
    })
}

pub(super) fn starts_with(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(Value::Bool(text(args, 0).starts_with(text(args, 1))))
}

pub(super) fn ends_with(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(Value::Bool(text(args, 0).ends_with(text(args, 1))))
}

pub(super) fn join(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let parts: Vec<&str> = list(args, 1).iter().filter_map(Value::as_str).collect();
    let separators = text(args, 0).len().saturating_mul(parts.len());
    limits::text_of(parts.iter().fold(separators, |n, part| n.saturating_add(part.len())))?;
    Ok(parts.join(text(args, 0)).into())
}

pub(super) fn pattern_match(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(Value::Bool(wildcard::matches(text(args, 0), &text_or_number(args, 1))))
}

/// The text of a string or number argument; a number shows the digits of a 32-bit float.
pub(super) fn text_or_number(args: &[Arg<'_>], i: usize) -> String {
    match value(args, i) {
        Value::Float(f) => number_text(*f),
        Value::Str(s) => s.to_string(),
        other => print::display(other),
    }
}

/// A number in plain notation with the shortest digits that identify it as a 32-bit float.
pub(super) fn number_text(f: f64) -> String {
    let narrow = f as f32;
    if narrow.is_infinite() {
        return if narrow > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    narrow.to_string()
}
