//! Wildcard matching, the only one in the program.
//!
//! `*` stands for any run of characters including none, `?` for exactly one character (one Unicode
//! code point), everything else for itself. The whole text must match, case counts, there is no
//! escape and no character class. `""` matches only `""`.
//!
//! A [`Wildcard`] is compiled once; what it compiles to depends on its shape, so that the usual
//! forms (`*`, `app*`, `*:latest`, a literal) cost one comparison.

use serde::{Deserialize, Serialize};

use super::{Str, budget};

/// A compiled wildcard pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Str", into = "Str")]
pub struct Wildcard {
    pattern: Str,
    shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Shape {
    Literal,
    Any,
    Prefix,
    Suffix,
    Contains,
    General,
}

impl From<Str> for Wildcard {
    fn from(pattern: Str) -> Wildcard {
        Wildcard::new(pattern)
    }
}

impl From<Wildcard> for Str {
    fn from(wildcard: Wildcard) -> Str {
        wildcard.pattern
    }
}

impl Wildcard {
    /// Compiles `pattern`.
    pub fn new(pattern: impl Into<Str>) -> Self {
        let pattern = pattern.into();
        let shape = shape_of(&pattern);
        Wildcard { pattern, shape }
    }

    /// The pattern as written.
    pub fn pattern(&self) -> &Str {
        &self.pattern
    }

    /// Whether the pattern holds `*` or `?`.
    pub fn is_wild(&self) -> bool {
        !matches!(self.shape, Shape::Literal)
    }

    /// Whether the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        let p = &*self.pattern;
        match self.shape {
            // The empty pattern is the most frequent one, for subresources.
            Shape::Literal => p.len() == text.len() && (p.is_empty() || p == text),
            Shape::Any => true,
            Shape::Prefix => text.starts_with(p.trim_end_matches('*')),
            Shape::Suffix => text.ends_with(p.trim_start_matches('*')),
            Shape::Contains => text.contains(p.trim_matches('*')),
            Shape::General => general(p, text),
        }
    }
}

fn shape_of(p: &str) -> Shape {
    if !has_wildcard(p) {
        return Shape::Literal;
    }
    let inner = p.trim_matches('*');
    if inner.contains(['*', '?']) {
        return Shape::General;
    }
    match (inner.is_empty(), p.starts_with('*'), p.ends_with('*')) {
        (true, _, _) => Shape::Any,
        (false, true, true) => Shape::Contains,
        (false, true, false) => Shape::Suffix,
        _ => Shape::Prefix,
    }
}

/// Whether `text` holds `*` or `?`.
pub fn has_wildcard(text: &str) -> bool {
    text.bytes().any(|b| b == b'*' || b == b'?')
}

/// Whether the whole of `text` matches `pattern`; for patterns that are known only at run time.
pub fn matches(pattern: &str, text: &str) -> bool {
    if !has_wildcard(pattern) {
        return pattern == text;
    }
    general(pattern, text)
}

/// Greedy match with one point to go back to: linear for one `*`, at worst |pattern| × |text|.
fn general(pattern: &str, text: &str) -> bool {
    let (mut p, mut t) = (pattern, text);
    let mut back: Option<(&str, &str)> = None;
    loop {
        let mut pc = p.chars();
        match (pc.next(), t.chars().next()) {
            (Some('*'), _) => {
                p = pc.as_str();
                if p.is_empty() {
                    return true;
                }
                back = Some((p, t));
                continue;
            }
            (None, None) => return true,
            (Some(c), Some(d)) if c == '?' || c == d => {
                p = pc.as_str();
                t = &t[d.len_utf8()..];
                continue;
            }
            _ => {}
        }
        let Some((bp, bt)) = back else { return false };
        if budget::steps(1 + (bt.len() - t.len()) / 64).is_err() {
            return false;
        }
        let Some(d) = bt.chars().next() else { return false };
        let rest = &bt[d.len_utf8()..];
        p = bp;
        t = rest;
        back = Some((bp, rest));
    }
}
