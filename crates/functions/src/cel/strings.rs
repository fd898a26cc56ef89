//! Strings. Positions count characters.

use super::call::{Call, CallResult, fault, success};
use crate::{limits, regex};
use ephor_value::Value;

fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}

/// Where the character at a position begins; the end of the text behind its last one.
fn byte_of(text: &str, at: usize) -> usize {
    text.char_indices().nth(at).map_or(text.len(), |(i, _)| i)
}

/// The position of the character that begins at a byte.
fn position_of(text: &str, byte: usize) -> usize {
    text.get(..byte).map_or(0, |head| head.chars().count())
}

pub(super) fn out_of_range(at: i64) -> CallResult {
    fault(format!("index out of range: {at}"))
}

fn position(at: Option<usize>) -> CallResult {
    success(at.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1))
}

/// Two texts, for the functions that say nothing of other arguments.
fn two<'a>(call: &Call<'a>) -> Result<(&'a str, &'a str), CallResult> {
    match (call.text(0), call.text(1)) {
        (Some(a), Some(b)) => Ok((a, b)),
        _ => Err(fault("no such overload")),
    }
}

pub fn starts_with(call: &Call<'_>) -> CallResult {
    two(call).map_or_else(|e| e, |(a, b)| success(a.starts_with(b)))
}

pub fn ends_with(call: &Call<'_>) -> CallResult {
    two(call).map_or_else(|e| e, |(a, b)| success(a.ends_with(b)))
}

pub fn contains(call: &Call<'_>) -> CallResult {
    two(call).map_or_else(|e| e, |(a, b)| success(a.contains(b)))
}

pub fn matches(call: &Call<'_>) -> CallResult {
    let (text, pattern) = match two(call) {
        Ok(texts) => texts,
        Err(fault) => return fault,
    };
    if let Err(fault) = regex::searchable(pattern, text) {
        return Some(Err(fault));
    }
    match regex::compiled(pattern) {
        Ok(compiled) => success(compiled.regex.is_match(text)),
        Err(e) => fault(e.to_string()),
    }
}

pub fn char_at(call: &Call<'_>) -> CallResult {
    let (text, at) = (chars(call.text(0)?), call.int(1)?);
    match usize::try_from(at) {
        Ok(n) if n == text.len() => success(""),
        Ok(n) if n < text.len() => success(text.get(n).map(char::to_string).unwrap_or_default()),
        _ => out_of_range(at),
    }
}

pub fn index_of(call: &Call<'_>) -> CallResult {
    let (text, wanted) = (call.text(0)?, call.text(1)?);
    let start = if call.args.len() > 2 { call.int(2)? } else { 0 };
    let Ok(from) = usize::try_from(start) else { return out_of_range(start) };
    if wanted.is_empty() {
        let len = text.chars().count();
        let late = from > len && call.cx.cel_level.rules().bounds_empty_indices;
        return position(Some(if late { len } else { from }));
    }
    let from = byte_of(text, from);
    let found = text.get(from..).and_then(|rest| rest.find(wanted));
    position(found.map(|at| position_of(text, from + at)))
}

pub fn last_index_of(call: &Call<'_>) -> CallResult {
    let (text, wanted) = (call.text(0)?, call.text(1)?);
    if call.args.len() > 2 {
        let start = call.int(2)?;
        let Ok(from) = usize::try_from(start) else { return out_of_range(start) };
        let len = text.chars().count();
        if wanted.is_empty() {
            let most = if call.cx.cel_level.rules().bounds_empty_indices { len } else { from };
            return position(Some(from.min(most)));
        }
        if from >= len {
            return position(None);
        }
        let end = byte_of(text, from.saturating_add(wanted.chars().count()));
        let head = text.get(..end).unwrap_or_default();
        return position(head.rfind(wanted).map(|at| position_of(text, at)));
    }
    if wanted.is_empty() {
        return position(Some(text.chars().count()));
    }
    position(text.rfind(wanted).map(|at| position_of(text, at)))
}

pub fn lower_ascii(call: &Call<'_>) -> CallResult {
    success(call.text(0)?.to_ascii_lowercase())
}

pub fn upper_ascii(call: &Call<'_>) -> CallResult {
    success(call.text(0)?.to_ascii_uppercase())
}

fn limit(call: &Call<'_>, at: usize) -> Option<Option<usize>> {
    if call.args.len() <= at {
        return Some(None);
    }
    call.int(at).map(|n| usize::try_from(n).ok())
}

pub fn replace(call: &Call<'_>) -> CallResult {
    let (text, old, new) = (call.text(0)?, call.text(1)?, call.text(2)?);
    let limit = limit(call, 3)?.unwrap_or(usize::MAX);
    let found = text.matches(old).take(limit).count();
    if let Err(fault) = limits::text_of(limits::replaced(text.len(), found, old.len(), new.len())) {
        return Some(Err(fault));
    }
    success(text.replacen(old, new, limit))
}

pub fn split(call: &Call<'_>) -> CallResult {
    let (text, by) = (call.text(0)?, call.text(1)?);
    let limit = limit(call, 2)?;
    let count = if by.is_empty() { text.chars().count() } else { text.matches(by).count() };
    if let Err(fault) = limits::items_of(count.min(limit.unwrap_or(usize::MAX))) {
        return Some(Err(fault));
    }
    let parts: Vec<Value> = if by.is_empty() {
        by_chars(text, limit)
    } else {
        match limit {
            None => text.split(by).map(Value::from).collect(),
            Some(0) => Vec::new(),
            Some(n) => text.splitn(n, by).map(Value::from).collect(),
        }
    };
    Some(Ok(Value::list(parts)))
}

fn by_chars(text: &str, limit: Option<usize>) -> Vec<Value> {
    let count = text.chars().count();
    let n = limit.unwrap_or(count).min(count);
    if n == 0 {
        return Vec::new();
    }
    let mut at = 0;
    let mut out = Vec::with_capacity(n);
    for c in text.chars().take(n - 1) {
        out.push(Value::from(c.to_string()));
        at += c.len_utf8();
    }
    out.push(Value::from(text.get(at..).unwrap_or_default()));
    out
}

pub fn substring(call: &Call<'_>) -> CallResult {
    let (text, start) = (chars(call.text(0)?), call.int(1)?);
    let len = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let end = if call.args.len() > 2 { call.int(2)? } else { len };
    if call.args.len() > 2 && start > end {
        return fault(format!("invalid substring range. start: {start}, end: {end}"));
    }
    if start < 0 || start > len {
        return out_of_range(start);
    }
    if end < 0 || end > len {
        return out_of_range(end);
    }
    let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
    success(text.get(range).unwrap_or_default().iter().collect::<String>())
}

pub fn trim(call: &Call<'_>) -> CallResult {
    success(call.text(0)?.trim())
}

pub fn join(call: &Call<'_>) -> CallResult {
    let items = call.arg(0).as_list()?;
    let by = if call.args.len() > 1 { call.text(1)? } else { "" };
    if items.first().is_some_and(|first| first.as_str().is_none()) {
        return None;
    }
    let mut parts = Vec::with_capacity(items.len());
    for item in items {
        match item.as_str() {
            Some(s) => parts.push(s),
            None => return fault(format!("join: invalid input: {}", super::format::plain(item))),
        }
    }
    let separators = by.len().saturating_mul(parts.len());
    let length = parts.iter().fold(separators, |n, part| n.saturating_add(part.len()));
    if let Err(fault) = limits::text_of(length) {
        return Some(Err(fault));
    }
    success(parts.join(by))
}

pub fn quote(call: &Call<'_>) -> CallResult {
    let text = call.text(0)?;
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    success(out)
}

/// `find`, `findAll`
fn searched(call: &Call<'_>) -> Option<Result<std::rc::Rc<regex::Compiled>, ephor_value::Fault>> {
    let pattern = match two(call) {
        Ok((text, pattern)) => match regex::searchable(pattern, text) {
            Ok(()) => pattern,
            Err(fault) => return Some(Err(fault)),
        },
        Err(_) => return fault("no such overload"),
    };
    match regex::compiled(pattern) {
        Ok(compiled) => Some(Ok(compiled)),
        Err(e) => fault(format!("Illegal regex: {e}")),
    }
}

pub fn find(call: &Call<'_>) -> CallResult {
    let text = call.text(0).unwrap_or_default();
    match searched(call)? {
        Ok(compiled) => success(compiled.regex.find(text).map_or("", |m| m.as_str())),
        Err(e) => Some(Err(e)),
    }
}

pub fn find_all(call: &Call<'_>) -> CallResult {
    let text = call.text(0).unwrap_or_default();
    let Some(limit) = limit(call, 2) else { return fault("no such overload") };
    let limit = limit.unwrap_or(usize::MAX);
    match searched(call)? {
        Ok(compiled) => {
            let found = compiled.regex.find_iter(text).take(limit).map(|m| Value::from(m.as_str()));
            Some(Ok(Value::list(found.collect())))
        }
        Err(e) => Some(Err(e)),
    }
}
