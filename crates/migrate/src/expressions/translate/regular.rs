//! Regular expressions: replacements.
//!
//! In: a replacement of JMESPath's `regex_replace_all`, which has groups as `$1`. Out: that of
//! CEL's `regex.replace`, which has them as `\1`. Both use RE2 and replace all matches. Semantics:
//! `docs/expressions/jmespath.md`, `docs/expressions/cel.md`.

/// A replacement as CEL writes it: `$1` and `${1}` are `\1`; none where a group has a name.
pub fn replacement(written: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(&before.replace('\\', "\\\\"));
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (group, after) = match (after.strip_prefix('$'), braced) {
            (Some(after), _) => {
                out.push('$');
                rest = after;
                continue;
            }
            (None, Some(found)) => found,
            (None, None) => after.split_at(after.find(|c| !is_word(c)).unwrap_or(after.len())),
        };
        // More digits are another group in CEL.
        let is_number = group.len() == 1 && group.chars().all(|c| c.is_ascii_digit());
        if !is_number || after.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        out.push_str(&format!("\\{group}"));
        rest = after;
    }
    out.push_str(&rest.replace('\\', "\\\\"));
    Some(out)
}

#[cfg(test)]
mod tests {
    use crate::expressions::translate::regular::replacement;

    #[test]
    fn groups_of_a_replacement_have_their_numbers_in_cel() {
        assert_eq!(replacement("a/$2").as_deref(), Some("a/\\2"));
        assert_eq!(replacement("${1}b$$").as_deref(), Some("\\1b$"));
        assert_eq!(replacement("$name"), None);
        assert_eq!(replacement("$1x"), None);
    }
}
