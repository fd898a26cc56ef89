//! Regular expression functions.
//!
//! Patterns are Go's; [`super::go_syntax`] translates them. Compiled patterns are stored in a
//! bounded cache, because a policy matches the same few patterns on every resource.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, LazyLock, RwLock};

use regex::{Captures, Regex, RegexBuilder};

use super::args::{FunctionResult, failure, text};
use super::go_syntax::{Dialect, ErrorCode, RegexError, translate};
use super::strings::text_or_number;
use super::{Arg, Context, limits};
use ephor_value::{Fault, Value, budget};

/// Number of cached patterns; a full cache is emptied.
const CACHE_SIZE: usize = 1024;
/// Those among them that take more memory than [`SMALL`].
const LARGE_ONES: usize = 16;
/// Memory that most compiled patterns take at most, and searching for them.
const SMALL: usize = 256 << 10;
/// Memory that searching for the others takes.
const LARGE_DFA: usize = 2 << 20;
/// Memory that one compiled pattern may take. Go has no such bound: patterns with large counted
/// repeats are errors here that Kyverno takes.
const MAX_COMPILED: usize = 16 << 20;
/// Nesting after translation, which adds a level for each flagged piece.
const MAX_NESTING: u32 = 1000;

/// A compiled pattern.
#[derive(Debug)]
pub struct Compiled {
    /// The matcher; its groups have no names.
    pub regex: Regex,
    /// The name of each capture group in order.
    pub names: Vec<Option<String>>,
    /// Whether it takes more memory than most.
    large: bool,
}

/// Patterns may come from data: the cache is limited in number and in memory.
struct Patterns<P> {
    all: foldhash::HashMap<Box<str>, P>,
    large: usize,
}

impl<P> Default for Patterns<P> {
    fn default() -> Self {
        Patterns { all: foldhash::HashMap::default(), large: 0 }
    }
}

impl<P: Clone + std::ops::Deref<Target = Compiled>> Patterns<P> {
    fn get(&self, pattern: &str) -> Option<P> {
        self.all.get(pattern).cloned()
    }

    fn insert(&mut self, pattern: &str, compiled: &P) {
        if self.all.len() >= CACHE_SIZE || (compiled.large && self.large >= LARGE_ONES) {
            *self = Patterns::default();
        }
        self.large += usize::from(compiled.large);
        self.all.insert(pattern.into(), compiled.clone());
    }
}

static CACHE: LazyLock<RwLock<Patterns<Arc<Compiled>>>> = LazyLock::new(RwLock::default);

thread_local! {
    /// What this thread used: a matcher that threads share makes them wait for each other.
    static OWN: RefCell<Patterns<Rc<Compiled>>> = RefCell::default();
}

/// Compiles a Go pattern, or takes it from the cache.
///
/// # Errors
/// It is none, or takes too much memory.
pub fn compiled(pattern: &str) -> Result<Rc<Compiled>, RegexError> {
    if let Some(found) = OWN.with_borrow(|own| own.get(pattern)) {
        return Ok(found);
    }
    let Compiled { regex, names, large } = &*shared(pattern)?;
    let own = Rc::new(Compiled { regex: regex.clone(), names: names.clone(), large: *large });
    OWN.with_borrow_mut(|all| all.insert(pattern, &own));
    Ok(own)
}

/// How many bytes of a text times bytes of a pattern a search may take: at worst it reads each
/// pair. A search that could take more is a fault, not a blocked worker.
const MAX_PAIRS: usize = 1 << 29;

/// Whether a pattern may be searched in a text of this size.
///
/// # Errors
/// It may not: both are too long.
pub fn searchable(pattern: &str, text: &str) -> Result<(), Fault> {
    let pairs = pattern.len().saturating_mul(text.len());
    if pairs > MAX_PAIRS {
        return Err(budget::refuse("the regular expression is too long for such a text"));
    }
    budget::steps(pairs >> 12)
}

/// The same for all threads.
fn shared(pattern: &str) -> Result<Arc<Compiled>, RegexError> {
    if let Some(found) = CACHE.read().ok().and_then(|cache| cache.get(pattern)) {
        return Ok(found);
    }
    let made = Arc::new(compile(pattern)?);
    if let Ok(mut cache) = CACHE.write() {
        cache.insert(pattern, &made);
    }
    Ok(made)
}

/// Compiles a Go pattern for searching.
///
/// # Errors
/// As [`compiled`].
pub fn go_regex(pattern: &str) -> Result<Regex, RegexError> {
    compiled(pattern).map(|c| c.regex.clone())
}

fn compile(pattern: &str) -> Result<Compiled, RegexError> {
    let translated = translate(pattern, Dialect::Perl)?;
    let mut builder = RegexBuilder::new(&translated.pattern);
    builder.nest_limit(MAX_NESTING);
    // Long ones take more memory than their length: these are not tried twice.
    let short = translated.pattern.len() <= SMALL / 16;
    let small = short.then(|| builder.size_limit(SMALL).dfa_size_limit(SMALL).build().ok()).flatten();
    let large = small.is_none();
    let regex = small
        .map_or_else(|| builder.size_limit(MAX_COMPILED).dfa_size_limit(LARGE_DFA).build(), Ok)
        .map_err(|_| RegexError::new(ErrorCode::Large, pattern))?;
    Ok(Compiled { regex, names: translated.names, large })
}

pub(super) fn regex_match(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let pattern = compiled(text(args, 0)).map_err(|error| Fault::new(error.to_string()))?;
    searchable(text(args, 0), text(args, 1))?;
    Ok(Value::Bool(pattern.regex.is_match(&text_or_number(args, 1))))
}

pub(super) fn regex_replace_all(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let pattern = compiled(text(args, 0)).map_err(|e| failure("regex_replace_all", e))?;
    searchable(text(args, 0), text(args, 1))?;
    let template = text_or_number(args, 2);
    replace(&pattern.regex, &text_or_number(args, 1), |out, captures| {
        expand(out, &template, captures, &pattern.names)
    })
}

pub(super) fn regex_replace_all_literal(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let pattern = compiled(text(args, 0)).map_err(|e| failure("regex_replace_all_literal", e))?;
    searchable(text(args, 0), text(args, 1))?;
    let replacement = text_or_number(args, 2);
    replace(&pattern.regex, &text_or_number(args, 1), |out, _| {
        out.push_str(&replacement);
        Ok(())
    })
}

/// Replaces every match by what `put` appends for it.
fn replace(
    regex: &Regex,
    source: &str,
    put: impl Fn(&mut String, &Captures<'_>) -> Result<(), Fault>,
) -> FunctionResult {
    let mut out = String::new();
    let mut done = 0;
    for captures in regex.captures_iter(source) {
        let Some(found) = captures.get(0) else { continue };
        out.push_str(source.get(done..found.start()).unwrap_or_default());
        put(&mut out, &captures)?;
        limits::text_of(out.len())?;
        done = found.end();
    }
    out.push_str(source.get(done..).unwrap_or_default());
    Ok(out.into())
}

/// Appends the template with its `$1`, `$name` and `${name}` filled in.
fn expand(
    out: &mut String,
    template: &str,
    captures: &Captures<'_>,
    names: &[Option<String>],
) -> Result<(), Fault> {
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after_dollars) = after.strip_prefix('$') {
            out.push('$');
            rest = after_dollars;
            continue;
        }
        match reference(after) {
            Some((name, after_name)) => {
                out.push_str(group(name, captures, names));
                limits::text_of(out.len())?;
                rest = after_name;
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Ok(())
}

/// The name after a `$` and what follows it.
fn reference(s: &str) -> Option<(&str, &str)> {
    let braced = s.strip_prefix('{');
    let body = braced.unwrap_or(s);
    let is_name = |c: char| c == '_' || c.is_alphabetic() || is_digit(c);
    let end = body.find(|c| !is_name(c)).unwrap_or(body.len());
    let (name, rest) = body.split_at(end);
    if name.is_empty() {
        return None;
    }
    let rest = if braced.is_some() { rest.strip_prefix('}')? } else { rest };
    Some((name, rest))
}

/// Decimal digits of any script, but not fractions and the like.
fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || !c.is_ascii() && c.is_numeric() && !c.is_alphabetic()
}

fn group<'t>(name: &str, captures: &Captures<'t>, names: &[Option<String>]) -> &'t str {
    let number = name.bytes().all(|b| b.is_ascii_digit()).then(|| name.parse::<usize>().ok());
    if let Some(number) = number {
        return number.and_then(|i| captures.get(i)).map_or("", |m| m.as_str());
    }
    let named = names.iter().enumerate().filter(|(_, n)| n.as_deref() == Some(name));
    named.into_iter().find_map(|(i, _)| captures.get(i + 1)).map_or("", |m| m.as_str())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_few_large_patterns_are_cached() {
        let patterns: Vec<String> =
            (0..2 * LARGE_ONES).map(|n| format!("{n}(?:[a-z0-9]{{40}}\\pL){{20}}")).collect();
        for pattern in &patterns {
            assert!(compiled(pattern).unwrap().large, "{pattern}");
            assert!(!compiled(&pattern.replace("{20}", "{1}").replace("\\pL", "x")).unwrap().large);
        }
        let of_own = |own: &Patterns<Rc<Compiled>>| own.all.values().filter(|p| p.large).count();
        assert!(OWN.with_borrow(of_own) <= LARGE_ONES);
        let shared = CACHE.read().unwrap().all.values().filter(|p| p.large).count();
        assert!(shared <= LARGE_ONES, "{shared}");
    }
}
