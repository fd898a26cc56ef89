//! Wildcards on texts → the shortest test that says the same.
//!
//! In: a wildcard pattern. Out: `==`, `startsWith`, `endsWith`, `contains`, a test for nothing, or
//! a regular expression.

use ephor_value::wildcard::has_wildcard;

use crate::cel::build::{all, any, boolean, call, equals, method, not, text, texts};
use crate::cel::is_same;
use ephor_cel::ast::{Kind, Node};

/// Whether a text matches a wildcard pattern.
pub fn matches(value: &Node, pattern: &str) -> Node {
    if !has_wildcard(pattern) {
        return equals(value.clone(), text(pattern));
    }
    if pattern.chars().all(|c| c == '*') {
        return boolean(true);
    }
    let with = |name: &str, part: &str| method(value.clone(), name, vec![text(part)]);
    let parts: Vec<&str> = pattern.split('*').collect();
    match &parts[..] {
        // At least this many characters.
        ["?", ""] | ["", "?"] => return call("_!=_", vec![value.clone(), text("")]),
        [head, "?"] | [head, "?", ""] if !head.contains('?') && !head.is_empty() => {
            return all(vec![with("startsWith", head), not(equals(value.clone(), text(head)))]);
        }
        ["?", tail] | ["", "?", tail] if !tail.contains('?') && !tail.is_empty() => {
            return all(vec![with("endsWith", tail), not(equals(value.clone(), text(tail)))]);
        }
        _ => {}
    }
    if !pattern.contains('?') {
        match &parts[..] {
            [head, ""] => return with("startsWith", head),
            ["", tail] => return with("endsWith", tail),
            ["", middle, ""] => return with("contains", middle),
            [head, tail] if !overlap(head, tail) => {
                return all(vec![with("startsWith", head), with("endsWith", tail)]);
            }
            _ => {}
        }
    }
    if let Some(prefix) = pattern.strip_suffix("?*").filter(|prefix| !has_wildcard(prefix)) {
        return all(vec![with("startsWith", prefix), not(equals(value.clone(), text(prefix)))]);
    }
    method(value.clone(), "matches", vec![text(&regex(pattern))])
}

/// Whether some text begins with one and ends with the other, and is shorter than both.
fn overlap(head: &str, tail: &str) -> bool {
    (1..=head.len().min(tail.len()))
        .any(|n| head.get(head.len() - n..).is_some_and(|end| tail.starts_with(end)))
}

/// The regular expression of a wildcard pattern.
pub fn regex(pattern: &str) -> String {
    let mut out = String::from("^");
    let mut is_any = false;
    for c in pattern.chars() {
        match c {
            '*' => {
                out.push_str(".*");
                is_any = true;
            }
            '?' => {
                out.push('.');
                is_any = true;
            }
            c if r"\.+()[]{}^$|/".contains(c) && c != '/' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push('$');
    // A dot is no line break otherwise.
    if is_any { format!("(?s){out}") } else { out }
}

/// Whether a text matches one of several patterns, or is one of some texts: what has no wildcards
/// is a list.
pub fn matches_any(value: &Node, patterns: &[&str], literal: &[&str]) -> Node {
    let (wild, mut plain): (Vec<&str>, Vec<&str>) = patterns.iter().partition(|p| has_wildcard(p));
    plain.extend(literal);
    let mut terms = Vec::new();
    match &plain[..] {
        [] => {}
        [one] => terms.push(equals(value.clone(), text(one))),
        plain => terms.push(call("@in", vec![value.clone(), texts(plain.iter().copied())])),
    }
    terms.extend(wild.iter().map(|pattern| matches(value, pattern)));
    any(terms)
}

/// Either of two tests; of one value with two texts: one list.
pub fn either(one: Node, other: Node) -> Node {
    if let (Kind::Call { function: a, args: first, .. }, Kind::Call { function: b, args: second, .. }) =
        (&one.kind, &other.kind)
        && &**a == "_==_"
        && a == b
        && let ([value, Node { kind: Kind::Const(x), .. }], [same, Node { kind: Kind::Const(y), .. }]) =
            (&**first, &**second)
        && let (Some(x), Some(y), true) = (x.as_str(), y.as_str(), is_same(value, same))
    {
        return call("@in", vec![value.clone(), texts([x, y].into_iter())]);
    }
    any(vec![one, other])
}

/// The text that a wildcard pattern is without its wildcards.
pub fn literal(pattern: &str) -> String {
    pattern.replace('*', "").replace('?', "x")
}

/// What a duration looks like.
pub const DURATION: &str = r"^[-+]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// What a number looks like.
pub const NUMBER: &str = r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$";
