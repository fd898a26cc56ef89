//! The comments of a text, which values do not have.
//!
//! In: the text of a YAML stream. Out: each comment with its line, also those behind values and
//! above separators; a `#` in a quoted text or in a block is none. Where the text is not YAML, the
//! comments before that place are all.

use super::event::Scanner;

/// A comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment<'t> {
    /// The line, from 1.
    pub line: usize,
    /// What stands behind the `#`, without blanks around it.
    pub text: &'t str,
}

/// All comments of a text, in order.
pub fn comments(text: &str) -> Vec<Comment<'_>> {
    let mut scanner = Scanner::new(text);
    scanner.comments = Some(Vec::new());
    // After the end of the stream there is no token.
    while scanner.peek().is_ok() {
        scanner.skip_token();
    }
    let found = scanner.comments.unwrap_or_default().into_iter();
    found
        .map(|(at, text)| Comment { line: at.line as usize + 1, text: text.trim_start_matches('#').trim() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_wherever_they_stand_and_no_text_is_taken_for_one() {
        let text = "# head\n---\na: 1 # one\nb: '# no' # two\nc: |\n  # no\n  x#no\n# three\nd: [a, # four\n  b#no]\ne: # five\n  f: \"#\n    no\"\n--- # six\nx: |- # seven\n  # no\n## eight ##\n";
        let found: Vec<(usize, &str)> = comments(text).iter().map(|c| (c.line, c.text)).collect();
        let all = [
            (1, "head"),
            (3, "one"),
            (4, "two"),
            (8, "three"),
            (9, "four"),
            (11, "five"),
            (14, "six"),
            (15, "seven"),
            (17, "eight ##"),
        ];
        assert_eq!(found, all);
        assert_eq!(comments("a: 1 # one\nb: [\n"), [Comment { line: 1, text: "one" }]);
        assert!(comments("").is_empty());
    }
}
