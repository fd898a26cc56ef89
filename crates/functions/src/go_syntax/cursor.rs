//! Steps through the text of a pattern.

/// The first character and what follows it.
pub(super) fn next_char(s: &str) -> Option<(char, &str)> {
    let mut chars = s.chars();
    chars.next().map(|c| (c, chars.as_str()))
}

/// The part of `from` that was read when `rest` remains.
pub(super) fn consumed<'a>(from: &'a str, rest: &str) -> &'a str {
    from.get(..from.len().saturating_sub(rest.len())).unwrap_or(from)
}
