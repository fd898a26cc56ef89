//! Replacing parts of a text where what is around them allows it.
//!
//! In: a text, a part of it, what to write instead, and a condition. Out: the text with each
//! occurrence replaced for which the condition holds. Occurrences do not overlap, as with
//! `str::replace`.

/// Replaces the occurrences of `from` for which `is_replaced` holds: it is given the text before
/// the occurrence, in which others may be replaced already, and the text behind it.
pub fn replace_where(text: &str, from: &str, to: &str, is_replaced: impl Fn(&str, &str) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for (start, found) in text.match_indices(from) {
        out.push_str(text.get(end..start).unwrap_or_default());
        end = start + found.len();
        let after = text.get(end..).unwrap_or_default();
        let written = if is_replaced(&out, after) { to } else { found };
        out.push_str(written);
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn occurrences_are_replaced_where_the_condition_holds() {
        let is_whole = |before: &str, after: &str| {
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
        };
        assert_eq!(replace_where("a, ab, ba, a", "a", "*", is_whole), "*, ab, ba, *");
        // What was replaced is before the next one as it is written now.
        assert_eq!(replace_where("-a-a", "-a", "*", is_whole), "**");
        assert_eq!(replace_where("é-a", "a", "ü", is_whole), "é-ü");
        assert_eq!(replace_where("", "a", "b", is_whole), "");
    }

    #[test]
    fn without_a_condition_it_is_the_replacement_of_the_standard_library() {
        for (text, from) in [("aaa", "aa"), ("abc", ""), ("x", "xy"), ("ab ab", "ab")] {
            assert_eq!(replace_where(text, from, "+", |_, _| true), text.replace(from, "+"));
            assert_eq!(replace_where(text, from, "+", |_, _| false), text);
        }
    }
}
