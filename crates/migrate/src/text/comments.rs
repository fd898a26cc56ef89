//! Comments that would be lost.
//!
//! In: the text of a file and the one that takes its place. Out: the comments that stand in the old
//! one alone, with their lines. Comments above policies, in metadata and in rules move to what
//! takes their place; all others stand above the policy, with the line of the old file, so that
//! none is lost.

use std::collections::HashMap;

use ephor_document::comments::{Comment, comments};

/// The comments of the old text that the new one does not have, as often as they are missing there.
/// Those without a letter or digit separate others, and are none.
pub fn missing<'t>(old: &'t str, new: &str) -> Vec<Comment<'t>> {
    let mut there: HashMap<&str, usize> = HashMap::new();
    for comment in comments(new) {
        *there.entry(comment.text).or_default() += 1;
    }
    let is_missing = |comment: &Comment<'_>| match there.get_mut(comment.text) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let says_something = |comment: &Comment<'_>| comment.text.contains(char::is_alphanumeric);
    comments(old).into_iter().filter(says_something).filter(is_missing).collect()
}

/// A comment as a line of its own, with the place where it stood.
pub fn moved(file: &str, comment: Comment<'_>) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    format!("# {name}:{}: {}\n", comment.line, comment.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_missing_as_often_as_it_is_written_less() {
        let old = "# a\na: 1 # b\n# -----\n# a\n";
        let missing = |new: &str| missing(old, new).iter().map(|c| (c.line, c.text)).collect::<Vec<_>>();
        assert_eq!(missing("# a\n"), [(2, "b"), (4, "a")]);
        assert_eq!(missing("x: 1 ## b\n# a\n#a\n"), []);
    }
}
