//! Differences of two texts, line by line.
//!
//! In: what was expected and what came out. Out: all changed lines with three lines around them;
//! missing ones begin with `-` and are red, unexpected ones with `+` and are green.

use similar::{ChangeTag, TextDiff};

const RED: &str = "\u{1b}[31m";
const GREEN: &str = "\u{1b}[32m";
const PLAIN: &str = "\u{1b}[0m";

/// How many equal lines are shown around changed ones.
const AROUND: usize = 3;

/// The legend that goes with a diff.
pub fn legend() -> String {
    format!("{RED}- only in expected{PLAIN}, {GREEN}+ only in actual{PLAIN}")
}

/// The differences, coloured; see [`without_colour`].
pub fn lines(expected: &str, got: &str) -> String {
    let diff = TextDiff::from_lines(expected, got);
    let mut out = String::new();
    for (i, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if i > 0 {
            out.push_str("...\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            match change.tag() {
                ChangeTag::Equal => out.push_str(&format!("  {line}\n")),
                ChangeTag::Delete => out.push_str(&format!("{RED}- {line}{PLAIN}\n")),
                ChangeTag::Insert => out.push_str(&format!("{GREEN}+ {line}{PLAIN}\n")),
            }
        }
    }
    out.trim_end_matches('\n').to_owned()
}

/// The differences as a unified diff of a file, which `patch` and `git apply` take.
pub fn unified(name: &str, before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let (from, to) = (format!("a/{name}"), format!("b/{name}"));
    diff.unified_diff().context_radius(AROUND).header(&from, &to).to_string()
}

/// A text without the codes of colours.
pub fn without_colour(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, tail)| tail);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_diff_names_the_file_and_the_lines() {
        let shown = unified("x.yaml", "a\nb\n", "a\nc\n");
        assert_eq!(shown, "--- a/x.yaml\n+++ b/x.yaml\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }

    #[test]
    fn changed_lines_stand_among_a_few_equal_ones() {
        let text = "a\nb\nc\nd\ne\nf\n";
        let shown = without_colour(&lines(text, &text.replace("e\n", "x\n")));
        assert_eq!(shown, "  b\n  c\n  d\n- e\n+ x\n  f");
    }
}
