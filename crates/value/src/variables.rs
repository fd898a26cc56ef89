//! Variables `{{ … }}` and references `$(…)` in texts.
//!
//! In: a text. Out: where variables and references are. Semantics: `docs/semantics/variables.md`;
//! resolving is the engine's work.
//!
//! - A variable is `{{`, any run of characters other than braces or one-level groups `{…}`, and
//!   `}}`. The opening is at the start of the text or after a character other than `\`.
//! - A reference is `$(`, one character (no line break), and characters other than the blank up to
//!   the last `)` of the run; the `$` is at the start of the text or after a character other than
//!   `\`.
//! - `{{@}}`-like uses, nesting and escapes are not the scanner's concern: an outer variable that
//!   holds another one is found once the inner one has been replaced.
//!
//! The scan is linear but for texts full of unclosed `{{`.

use std::ops::Range;

/// Where the variables of `text` are, braces included, from left to right.
///
/// A variable directly behind another one is not found in the same round, because the character
/// before an opening must not belong to a variable; see [`find_all_variables`].
pub fn find_variables(text: &str) -> Vec<Range<usize>> {
    find(text, |text, at| variable_at(text, at).map(Span::Found))
}

/// Where the references of `text` are, `$(` and `)` included, from left to right.
pub fn find_references(text: &str) -> Vec<Range<usize>> {
    find(text, reference_at)
}

/// The first variable at or after `from`, also one that stands directly behind another variable.
pub fn find_all_variables(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(step) = text.get(at..).and_then(|rest| rest.find("{{")) {
        let start = at + step;
        match variable_at(text, start).filter(|_| !is_escaped(text, start)) {
            Some(end) => {
                found.push(start..end);
                at = end;
            }
            None => at = start + 1,
        }
    }
    found
}

/// Whether `text` holds a variable.
pub fn is_variable(text: &str) -> bool {
    !find_variables(text).is_empty()
}

/// Whether `text` holds a reference.
pub fn is_reference(text: &str) -> bool {
    !find_references(text).is_empty()
}

/// The expression of a variable: its text without double braces, trimmed.
pub fn expression(variable: &str) -> String {
    variable.replace("{{", "").replace("}}", "").trim().to_owned()
}

/// What begins at a place.
enum Span {
    /// Something that ends here.
    Found(usize),
    /// Nothing, and nothing begins before this place either.
    NothingUntil(usize),
}

/// Goes over `text`; a find includes the character before it, which must not be part of the former.
fn find(text: &str, end_of: fn(&str, usize) -> Option<Span>) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut free = 0;
    for (at, c) in text.char_indices() {
        if at < free || !matches!(c, '{' | '$') {
            continue;
        }
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let opens = match before {
            None => true,
            Some(c) => c != '\\' && at - c.len_utf8() >= free,
        };
        match end_of(text, at).filter(|_| opens) {
            Some(Span::Found(end)) => {
                found.push(at..end);
                free = end;
            }
            Some(Span::NothingUntil(end)) => free = end,
            None => {}
        }
    }
    found
}

fn is_escaped(text: &str, at: usize) -> bool {
    text.get(..at).is_some_and(|head| head.ends_with('\\'))
}

/// The end of the `$(…)` that opens at `start`.
///
/// Inside, a `{` opens a group that must close before the next brace opens, and the first `}}`
/// outside a group closes the variable.
fn variable_at(text: &str, start: usize) -> Option<usize> {
    let inner = text.get(start..)?.strip_prefix("{{")?;
    let mut in_group = false;
    let mut chars = inner.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match (c, in_group) {
            ('{', false) => in_group = true,
            ('{', true) => return None,
            ('}', true) => in_group = false,
            ('}', false) => {
                return (chars.peek().map(|(_, c)| *c) == Some('}')).then_some(start + 2 + at + 2);
            }
            _ => {}
        }
    }
    None
}

/// The end of the `$(…)` that opens at `start`: greedy up to the last `)` before a blank.
fn reference_at(text: &str, start: usize) -> Option<Span> {
    let inner = text.get(start..)?.strip_prefix("$(")?;
    let first = inner.chars().next().filter(|c| *c != '\n')?;
    let rest = inner.get(first.len_utf8()..)?;
    let run = rest.split(' ').next()?;
    let from = start + 2 + first.len_utf8();
    Some(match run.rfind(')') {
        Some(close) => Span::Found(from + close + 1),
        None => Span::NothingUntil(from + run.len()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(text: &str) -> Vec<&str> {
        find_variables(text).into_iter().map(|r| &text[r]).collect()
    }

    fn references(text: &str) -> Vec<&str> {
        find_references(text).into_iter().map(|r| &text[r]).collect()
    }

    #[test]
    fn variables_are_double_braces_with_at_most_one_level_inside() {
        assert_eq!(variables("a {{ b }} c{{d}}"), ["{{ b }}", "{{d}}"]);
        assert_eq!(variables("{{ f({a: b}) }}"), ["{{ f({a: b}) }}"]);
        assert_eq!(variables("{{ f({a: {b: c}}) }}"), [] as [&str; 0]);
        assert_eq!(variables("{{ a.{{ b }} }}"), ["{{ b }}"]);
        assert_eq!(variables("\\{{ a }} {{ b"), [] as [&str; 0]);
        assert_eq!(variables("{{}}"), ["{{}}"]);
        assert_eq!(variables("é{{ a }}"), ["{{ a }}"]);
        assert_eq!(variables("{{{ a }}}"), ["{{{ a }}}"]);
    }

    #[test]
    fn a_variable_behind_another_one_waits_for_the_next_round() {
        assert_eq!(variables("{{ a }}{{ b }}"), ["{{ a }}"]);
        assert_eq!(find_all_variables("{{ a }}{{ b }}").len(), 2);
    }

    #[test]
    fn references_end_at_the_last_bracket_of_a_run() {
        assert_eq!(references("x $(./../a) y"), ["$(./../a)"]);
        assert_eq!(references("$(a)$(b)"), ["$(a)$(b)"]);
        assert_eq!(references("$(a) $(b)"), ["$(a)", "$(b)"]);
        assert_eq!(references("$() \\$(x) $(a b)"), [] as [&str; 0]);
        assert_eq!(references("$())"), ["$())"]);
        assert_eq!(references("$(a\nb)"), ["$(a\nb)"]);
    }

    #[test]
    fn an_expression_has_no_braces() {
        assert_eq!(expression("{{ a.b }}"), "a.b");
        assert_eq!(expression("{{}}"), "");
    }
}
