//! Tests of texts, labels and users as CEL.
//!
//! In: wildcards and selectors of filters. Out: expressions as people write them: `==` and `in`
//! before `startsWith`, that before `matches`.

use ephor_ir::matcher::{Requirement, Selector, SetOperator, Subject};
use ephor_value::wildcard::Wildcard;

/// A text as a literal.
pub fn literal(text: &str) -> String {
    let mut out = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// A list of literals.
pub fn literals<T: AsRef<str>>(texts: &[T]) -> String {
    let all: Vec<String> = texts.iter().map(|text| literal(text.as_ref())).collect();
    format!("[{}]", all.join(", "))
}

/// Alternatives; those that are conjunctions need no brackets.
pub fn any(all: &[String]) -> String {
    match all {
        [] => "false".into(),
        [one] => one.clone(),
        several => several.join(" || "),
    }
}

/// What must hold together.
pub fn all(all: &[String]) -> String {
    match all {
        [] => "true".into(),
        [one] => one.clone(),
        several => several.iter().map(|one| in_brackets_of_and(one)).collect::<Vec<_>>().join(" && "),
    }
}

/// What must not hold.
pub fn not(expression: &str) -> String {
    let inner = expression.strip_prefix('!');
    match inner {
        Some(inner) if is_atom(inner) => inner.into(),
        _ if is_atom(expression) => format!("!{expression}"),
        _ => negated_comparison(expression).unwrap_or_else(|| format!("!({expression})")),
    }
}

/// `a == b` → `a != b`, where it is nothing more.
fn negated_comparison(expression: &str) -> Option<String> {
    let (left, right) = expression.split_once(" == ")?;
    let is_simple = |side: &str| !side.contains([' ', '?']) || is_literal(side);
    let left_is = is_simple(left) || is_atom(left);
    (left_is && is_simple(right)).then(|| format!("{left} != {right}"))
}

fn is_literal(text: &str) -> bool {
    text.len() > 1
        && text.starts_with('\'')
        && text.ends_with('\'')
        && !text.get(1..text.len() - 1).unwrap_or_default().contains('\'')
}

/// Whether an expression is a chain of selections and calls, so that `!` before it means all of it.
fn is_atom(expression: &str) -> bool {
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut escaped = false;
    for c in expression.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '\'' => in_text = !in_text,
            _ if in_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => return false,
            _ => {}
        }
    }
    !expression.starts_with('!')
}

fn in_brackets_of_and(expression: &str) -> String {
    if is_atom(expression) || !has_or(expression) { expression.into() } else { format!("({expression})") }
}

/// Whether `||` or a condition with `?` stands outside of all brackets.
fn has_or(expression: &str) -> bool {
    let mut depth = 0_usize;
    let mut in_text = false;
    let mut before = ' ';
    for c in expression.chars() {
        match c {
            '\'' if before != '\\' => in_text = !in_text,
            _ if in_text => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            '?' if depth == 0 && before == ' ' => return true,
            _ => {}
        }
        before = c;
    }
    false
}

/// Whether a text matches one of several wildcards.
pub fn matches_any(text: &str, wildcards: &[Wildcard]) -> String {
    let exact: Vec<&str> = wildcards.iter().filter(|w| !w.is_wild()).map(|w| &**w.pattern()).collect();
    let mut tests = Vec::new();
    match exact.as_slice() {
        [] => {}
        [one] => tests.push(format!("{text} == {}", literal(one))),
        several => tests.push(format!("{text} in {}", literals(several))),
    }
    tests.extend(wildcards.iter().filter(|w| w.is_wild()).map(|w| matches(text, w)));
    any(&tests)
}

/// Whether a text matches a wildcard.
pub fn matches(text: &str, wildcard: &Wildcard) -> String {
    let pattern = &**wildcard.pattern();
    let inner = pattern.trim_matches('*');
    let is_plain = !inner.contains(['*', '?']);
    match (is_plain, pattern.starts_with('*'), pattern.ends_with('*')) {
        _ if !wildcard.is_wild() => format!("{text} == {}", literal(pattern)),
        (true, _, _) if inner.is_empty() => "true".into(),
        (true, true, true) => format!("{text}.contains({})", literal(inner)),
        (true, true, false) => format!("{text}.endsWith({})", literal(inner)),
        (true, false, _) => format!("{text}.startsWith({})", literal(inner)),
        _ if pattern == "?*" || pattern == "*?" => format!("{text} != ''"),
        _ => format!("{text}.matches({})", literal(&regex(pattern))),
    }
}

/// The regular expression of a wildcard.
pub fn regex(pattern: &str) -> String {
    let mut out = String::from("^(?s)");
    for c in pattern.chars() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            c if "\\.+()|[]{}^$".contains(c) => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.push('$');
    out
}

/// Whether the labels of an object, `object.metadata.?labels`, are selected.
pub fn selects(labels: &str, selector: &Selector) -> Vec<String> {
    let mut out = Vec::new();
    for (key, value) in &selector.labels {
        let (key, value) = (Wildcard::new(key.clone()), Wildcard::new(value.clone()));
        out.push(has_entry(labels, &key, &value));
    }
    out.extend(selector.expressions.iter().map(|one| requires(labels, one)));
    out
}

/// Whether an optional map has an entry whose key and value match.
pub fn has_entry(map: &str, key: &Wildcard, value: &Wildcard) -> String {
    if key.is_wild() {
        let k = matches("k", key);
        let v = matches(&format!("{map}[?k].orValue('')"), value);
        let both: Vec<String> = [k, v].into_iter().filter(|test| test != "true").collect();
        return format!("{map}.orValue({{}}).exists(k, {})", all(&both));
    }
    let found = format!("{map}[?{}]", literal(key.pattern()));
    match (&**value.pattern(), value.is_wild()) {
        ("", _) => format!("{found} == optional.of('')"),
        ("*", _) => format!("{found}.hasValue()"),
        (_, true) if value.matches("") => {
            format!("{found}.hasValue() && {}", matches(&format!("{found}.orValue('')"), value))
        }
        _ => matches(&format!("{found}.orValue('')"), value),
    }
}

fn requires(labels: &str, requirement: &Requirement) -> String {
    let found = format!("{labels}[?{}]", literal(&requirement.key));
    let has_empty = requirement.values.iter().any(|value| value.is_empty());
    let is_one_of = || {
        let values: Vec<Wildcard> =
            requirement.values.iter().map(|v| Wildcard::new(v.clone())).filter(|w| !w.is_wild()).collect();
        let test = matches_any(&format!("{found}.orValue('')"), &values);
        if has_empty { format!("{found}.hasValue() && {test}") } else { test }
    };
    match requirement.operator {
        SetOperator::In => is_one_of(),
        SetOperator::NotIn => not(&is_one_of()),
        SetOperator::Exists => format!("{found}.hasValue()"),
        SetOperator::DoesNotExist => format!("!{found}.hasValue()"),
    }
}

/// Whether the user of a request is one of the subjects.
pub fn is_user(subjects: &[Subject]) -> String {
    let names = |is_wanted: &dyn Fn(&str) -> bool| -> Vec<Wildcard> {
        subjects.iter().filter(|s| is_wanted(&s.kind)).map(|s| s.name.clone()).collect()
    };
    let users = names(&|kind| kind == "User" || kind == "ServiceAccount");
    let groups = names(&|kind| kind == "Group");
    let mut tests = Vec::new();
    if !users.is_empty() {
        tests.push(matches_any("request.userInfo.?username.orValue('')", &users));
    }
    match groups.as_slice() {
        [] => {}
        [one] if !one.is_wild() => {
            tests.push(format!("{} in request.userInfo.?groups.orValue([])", literal(one.pattern())));
        }
        several => tests.push(format!(
            "request.userInfo.?groups.orValue([]).exists(group, {})",
            matches_any("group", several)
        )),
    }
    any(&tests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(patterns: &[&str]) -> String {
        let all: Vec<Wildcard> = patterns.iter().map(|p| Wildcard::new(*p)).collect();
        matches_any("x", &all)
    }

    #[test]
    fn wildcards_become_the_plainest_test_there_is() {
        assert_eq!(of(&["a"]), "x == 'a'");
        assert_eq!(of(&["a", "b", "c-*"]), "x in ['a', 'b'] || x.startsWith('c-')");
        assert_eq!(of(&["*a"]), "x.endsWith('a')");
        assert_eq!(of(&["*a*"]), "x.contains('a')");
        assert_eq!(of(&["?*"]), "x != ''");
        assert_eq!(of(&["a*.b"]), "x.matches('^(?s)a.*\\\\.b$')");
    }

    #[test]
    fn negation_needs_no_brackets_around_a_call_or_a_comparison() {
        assert_eq!(not("x.startsWith('a b')"), "!x.startsWith('a b')");
        assert_eq!(not("x == 'a'"), "x != 'a'");
        assert_eq!(not("!x.y"), "x.y");
        assert_eq!(not("x == 'a' || y"), "!(x == 'a' || y)");
        assert_eq!(not("x in ['a', 'b']"), "!(x in ['a', 'b'])");
    }

    #[test]
    fn alternatives_stand_in_brackets_where_all_must_hold() {
        assert_eq!(all(&["a || b".into(), "c == 'd || e'".into()]), "(a || b) && c == 'd || e'");
    }

    #[test]
    fn labels_are_looked_up_without_a_guard_that_can_fail() {
        let labels = vec![("app".into(), "a".into()), ("b".into(), "*".into())];
        let selector = Selector::new(labels, Vec::new(), true);
        assert_eq!(
            selects("object.metadata.?labels", &selector),
            [
                "object.metadata.?labels[?'app'].orValue('') == 'a'",
                "object.metadata.?labels[?'b'].hasValue()"
            ]
        );
    }

    #[test]
    fn users_groups_and_service_accounts_are_one_test() {
        let subject = |kind: &str, name: &str| Subject { kind: kind.into(), name: Wildcard::new(name) };
        assert_eq!(
            is_user(&[subject("User", "a"), subject("Group", "g")]),
            "request.userInfo.?username.orValue('') == 'a' || 'g' in request.userInfo.?groups.orValue([])"
        );
    }
}
