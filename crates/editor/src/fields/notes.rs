//! One sentence about each field of policies.

use std::collections::HashMap;
use std::sync::OnceLock;

use ephor_value::place::{PathPart, dotted};

/// A line a field: its name, or the end of its path; two blanks; the sentence.
const TABLE: &str = include_str!("notes.txt");

/// What a field is for, by the longest end of its path in the table; `at` is its path, or that of
/// the mapping around it.
pub(super) fn note(at: &[PathPart], name: &str) -> Option<&'static str> {
    static NOTES: OnceLock<HashMap<&'static str, &'static str>> = OnceLock::new();
    let notes = NOTES.get_or_init(|| TABLE.lines().filter_map(|line| line.split_once("  ")).collect());
    let is_own = matches!(at.last(), Some(PathPart::Key(key)) if &**key == name);
    let keys: Vec<PathPart> = at.iter().filter(|part| matches!(part, PathPart::Key(_))).cloned().collect();
    let mut path = dotted(&keys);
    if !is_own {
        path = format!("{path}.{name}");
    }
    let mut rest = path.as_str();
    loop {
        if let Some(note) = notes.get(rest) {
            return Some(note);
        }
        rest = rest.split_once('.')?.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_value::place::parse;

    #[test]
    fn the_longest_end_of_a_path_counts() {
        let at = |path: &str| {
            let path = parse(path);
            let Some(PathPart::Key(name)) = path.last() else { return None };
            note(&path, name)
        };
        assert!(at("spec.rules[0].validate.message").is_some());
        assert_ne!(at("spec.rules[0].context[0].name"), at("spec.rules[0].name"));
        assert_eq!(at("spec.x"), None);
    }

    #[test]
    fn a_line_has_a_field_and_a_sentence() {
        let mut fields = std::collections::BTreeSet::new();
        for line in TABLE.lines() {
            let (field, text) = line.split_once("  ").unwrap();
            assert!(fields.insert(field), "{field} is there twice");
            assert!(text.ends_with('.') && text.starts_with(char::is_uppercase), "{line}");
        }
    }
}
