//! The extension for regular expressions: `regex.replace`, `regex.extract`, `regex.extractAll`.
//!
//! In: a text, a pattern, and what takes the place of matches, in which `\1` stands for the first
//! group. Out: the text, what matched, or why pattern or replacement are none.

use std::rc::Rc;

use super::call::{Call, CallResult, fault, success};
use crate::limits;
use crate::regex::{self, Compiled};
use ephor_value::quote::quote;
use ephor_value::{Fault, Object, Value};

/// The text and the compiled pattern.
fn pattern<'v>(call: &Call<'v>) -> Option<(&'v str, Result<Rc<Compiled>, Fault>)> {
    let (text, pattern) = (call.text(0)?, call.text(1)?);
    let compiled = regex::compiled(pattern).map_err(|error| Fault::new(error.to_string()));
    Some((text, regex::searchable(pattern, text).and(compiled)))
}

/// The same with at most one group.
fn with_one_group<'v>(call: &Call<'v>) -> Option<(&'v str, Result<Rc<Compiled>, Fault>)> {
    let (text, compiled) = pattern(call)?;
    let compiled = compiled.and_then(|compiled| match compiled.regex.captures_len() {
        0..=2 => Ok(compiled),
        _ => Err(Fault::new(format!(
            "regular expression has more than one capturing group: {}",
            quote(call.text(1).unwrap_or_default())
        ))),
    });
    Some((text, compiled))
}

/// The group of a match, or all of it; nothing for a group without text.
fn found<'t>(captures: &::regex::Captures<'t>) -> Option<&'t str> {
    match captures.len() {
        1 => captures.get(0).map(|m| m.as_str()),
        _ => captures.get(1).map(|m| m.as_str()).filter(|text| !text.is_empty()),
    }
}

pub fn extract(call: &Call<'_>) -> CallResult {
    let (text, compiled) = with_one_group(call)?;
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(e) => return Some(Err(e)),
    };
    let found = compiled.regex.captures(text).as_ref().and_then(found).map(Value::from);
    Some(Ok(Value::object(Object::Optional(found))))
}

pub fn extract_all(call: &Call<'_>) -> CallResult {
    let (text, compiled) = with_one_group(call)?;
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(e) => return Some(Err(e)),
    };
    let all = compiled.regex.captures_iter(text).filter_map(|c| found(&c).map(Value::from));
    Some(Ok(Value::list(all.collect())))
}

pub fn replace(call: &Call<'_>) -> CallResult {
    let by = call.text(2)?;
    let most = match call.args.get(3).map(|a| &**a) {
        None => usize::MAX,
        Some(Value::Int(0)) => return success(call.text(0)?),
        Some(Value::Int(n)) if *n > i64::from(i32::MAX) => return fault("integer overflow"),
        Some(Value::Int(n)) => usize::try_from(*n).unwrap_or(usize::MAX),
        Some(_) => return None,
    };
    let (text, compiled) = pattern(call)?;
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(e) => return Some(Err(e)),
    };
    let mut out = String::new();
    let mut end = 0;
    for captures in compiled.regex.captures_iter(text).take(most) {
        let Some(whole) = captures.get(0) else { continue };
        out.push_str(text.get(end..whole.start()).unwrap_or_default());
        if let Err(why) = write(&mut out, by, &captures) {
            return fault(why.to_string());
        }
        if let Err(fault) = limits::text_of(out.len()) {
            return Some(Err(fault));
        }
        end = whole.end();
    }
    out.push_str(text.get(end..).unwrap_or_default());
    success(out)
}

/// Why a text cannot take the place of matches.
#[derive(Debug, thiserror::Error)]
enum ReplacementError {
    #[error("invalid replacement string: '{0}' \\ not allowed at end")]
    TrailingBackslash(Box<str>),
    #[error("invalid replacement string: '{0}' \\ must be followed by a digit or \\")]
    Escape(Box<str>),
    #[error("replacement string references group {group} but regex has only {groups} group(s)")]
    Group { group: usize, groups: usize },
    #[error(transparent)]
    Limit(#[from] Fault),
}

/// Writes what takes the place of a match.
fn write(out: &mut String, by: &str, captures: &::regex::Captures<'_>) -> Result<(), ReplacementError> {
    let mut signs = by.chars();
    while let Some(sign) = signs.next() {
        if sign != '\\' {
            out.push(sign);
            continue;
        }
        match signs.next() {
            None => return Err(ReplacementError::TrailingBackslash(by.into())),
            Some('\\') => out.push('\\'),
            Some(next) => {
                let Some(group) = next.to_digit(10).and_then(|d| usize::try_from(d).ok()) else {
                    return Err(ReplacementError::Escape(by.into()));
                };
                let groups = captures.len() - 1;
                if group > groups {
                    return Err(ReplacementError::Group { group, groups });
                }
                out.push_str(captures.get(group).map_or("", |m| m.as_str()));
                limits::text_of(out.len())?;
            }
        }
    }
    Ok(())
}
