//! Texts of SARIF: messages that hold what users wrote, and names of rules.
//!
//! In: any text. Out: the same as a plain text message of SARIF 2.1.0, section 3.11: no control
//! characters besides line ends and tabs, and no embedded link, `[text](target)`, that the tool did
//! not mean. Viewers follow such links, so what stands in a manifest is no link.

use crate::formats::message::visible;

/// A text as a plain text message.
pub(crate) fn message_text(text: &str) -> String {
    let shown = visible(&text.replace("\r\n", "\n"), &['\n', '\t']);
    match shown.contains("](") {
        true => without_links(&shown),
        false => shown,
    }
}

/// Brackets that would be an embedded link have a backslash before them, and so has each backslash
/// right before these.
fn without_links(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut escaped = vec![false; chars.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, c) in chars.iter().enumerate() {
        match c {
            '[' => open.push(at),
            ']' => {
                let start = open.pop();
                if chars.get(at + 1) == Some(&'(') {
                    start.into_iter().chain([at]).for_each(|at| escape(&chars, &mut escaped, at));
                }
            }
            _ => {}
        }
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (c, is_escaped) in chars.iter().zip(escaped) {
        if is_escaped {
            out.push('\\');
        }
        out.push(*c);
    }
    out
}

fn escape(chars: &[char], escaped: &mut [bool], bracket: usize) {
    let backslashes = chars.iter().take(bracket).rev().take_while(|c| **c == '\\').count();
    for flag in escaped.iter_mut().take(bracket + 1).skip(bracket - backslashes) {
        *flag = true;
    }
}

/// A name for people: the words of an id, each with a capital, and never the id itself.
pub(super) fn friendly(id: &str) -> String {
    let capital = |word: &str| {
        let mut chars = word.chars();
        let first: String = chars.next().into_iter().flat_map(char::to_uppercase).collect();
        first + chars.as_str()
    };
    let name: String = id.split(|c: char| !c.is_alphanumeric()).map(capital).collect();
    if name == id || name.is_empty() { format!("Rule{name}") } else { name }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;

    #[test]
    fn link_syntax_of_a_message_is_escaped_and_other_brackets_stay() {
        for (text, expected) in [
            ("see [a](https://example.com)", r"see \[a\](https://example.com)"),
            ("rule failed at spec.containers[0].image", "rule failed at spec.containers[0].image"),
            ("list[0](x) and [b] (c)", r"list\[0\](x) and [b] (c)"),
            ("![i](x)[j](1)", r"!\[i\](x)\[j\](1)"),
            ("[a [b]](c)", r"\[a [b]\](c)"),
            ("](c)", r"\](c)"),
            // A backslash of the text does not take the escape's effect away.
            (r"[[a\](b)", r"[\[a\\\](b)"),
            (r"\[a](b) \d[0]", r"\\\[a\](b) \d[0]"),
        ] {
            assert_eq!(message_text(text), expected, "{text}");
        }
    }

    /// What the grammar of section 3.11.6 reads as an embedded link: `[`, text whose brackets and
    /// backslashes are escaped, `](`.
    fn has_link(text: &str) -> bool {
        let mut chars = text.chars().peekable();
        let mut is_open = false;
        while let Some(c) = chars.next() {
            match c {
                '\\' if matches!(chars.peek(), Some('[' | ']' | '\\')) => {
                    chars.next();
                }
                '[' => is_open = true,
                ']' if is_open && chars.peek() == Some(&'(') => return true,
                ']' => is_open = false,
                _ => {}
            }
        }
        false
    }

    #[test]
    fn no_text_of_brackets_and_backslashes_is_a_link_after_it_was_escaped() {
        let letters = ['[', ']', '(', '\\', 'a'];
        assert!(has_link("[a](a") && !has_link(r"\[a\](a"));
        for code in 0..letters.len().pow(7) {
            let text: String = (0..7).map(|i| letters[code / letters.len().pow(i) % letters.len()]).collect();
            assert!(!has_link(&message_text(&text)), "{text} -> {}", message_text(&text));
        }
    }

    #[test]
    fn control_characters_of_messages_are_replaced_and_lines_stay() {
        assert_eq!(
            message_text("a\u{1b}[31m\u{7}\u{9b}b\r\nc\td\r"),
            "a\u{fffd}[31m\u{fffd}\u{fffd}b\nc\td\u{fffd}"
        );
    }

    #[test]
    fn a_name_is_the_words_of_the_id_and_never_the_id() {
        for (id, name) in [
            ("one-name", "OneName"),
            ("many-tags/a", "ManyTagsA"),
            ("shop/no.root/check 1", "ShopNoRootCheck1"),
            ("1", "Rule1"),
            ("Above", "RuleAbove"),
            ("--", "Rule"),
            ("größe/äußer", "GrößeÄußer"),
        ] {
            assert_eq!(friendly(id), name);
        }
    }
}
