//! Comparing a scalar with a leaf of a pattern, which a trace shows.
//!
//! The pattern's kind decides which comparison applies; a missing value counts as null. The
//! semantics' source is `docs/semantics/patterns.md`.

use ephor_ir::pattern::Leaf;
use ephor_value::Value;

/// Whether `value` matches the leaf. Lists are the caller's business: inside of one nothing but
/// scalars matches.
pub fn matches(leaf: &Leaf, value: &Value) -> bool {
    super::trace::note(leaf);
    leaf.matches(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_document::yaml_value;

    #[track_caller]
    fn check(pattern: &str, matched: &[&str], unmatched: &[&str]) {
        let leaf = Leaf::new(yaml_value(pattern).unwrap());
        for value in matched {
            assert!(matches(&leaf, &yaml_value(value).unwrap()), "{pattern} on {value}");
        }
        for value in unmatched {
            assert!(!matches(&leaf, &yaml_value(value).unwrap()), "{pattern} on {value}");
        }
    }

    #[test]
    fn patterns_that_are_no_strings_match_their_own_value_in_any_writing() {
        check("true", &["true"], &["false", "'true'", "1", "null"]);
        check("5", &["5", "'5'", "5.0"], &["6", "'5.0'", "5.5", "true", "null"]);
        check("2.5", &["2.5", "'2.5'"], &["2", "'2,5'"]);
        check("2.0", &["2", "2.0", "'2'"], &["3"]);
        check("null", &["null", "''", "0", "false", "0.0"], &["x", "1", "true", "[]", "{}"]);
    }

    #[test]
    fn a_bar_separates_alternatives_and_an_ampersand_parts_that_all_must_match() {
        check("'a | b'", &["a", "b", "'a | b'"], &["c", "ab"]);
        check("'>=2 & <5'", &["2", "4"], &["1", "5"]);
        check("'!a & !b | a*'", &["c", "abc", "a"], &["b"]);
    }

    #[test]
    fn operators_compare_durations_then_quantities_then_texts() {
        check("'<1h'", &["59m", "1m30s"], &["60m", "2h"]);
        check("'>=1Gi'", &["1Gi", "2048Mi", "2000000000"], &["1G", "1023Mi"]);
        check("'!5'", &["6", "null", "x"], &["5", "'5.0'", "5000m"]);
        check("'5'", &["5", "'5'", "5000m"], &["6"]);
        check("'!x*'", &["b", "1"], &["xb", "x", "null"]);
        check("'>x'", &[], &["z", "x"]);
    }

    #[test]
    fn nothing_counts_as_zero_for_measures_and_matches_no_text() {
        check("'<1'", &["null", "0"], &["1"]);
        check("'<1h'", &["null"], &[]);
        check("'*'", &["x", "''", "1", "true"], &["null"]);
        check("'!x'", &[], &["null"]);
    }

    #[test]
    fn ranges_hold_their_ends_and_negated_ones_do_not() {
        check("1-5", &["1", "3", "5"], &["0", "6", "x"]);
        check("'1!-5'", &["0", "6"], &["1", "3", "5"]);
        check("100Mi-1Gi", &["100Mi", "512Mi", "1Gi"], &["99Mi", "1025Mi"]);
        // With anything else around it is a text.
        check("a1-5", &["a1-5"], &["3"]);
    }

    #[test]
    fn wildcards_are_any_run_and_any_one_character() {
        check("'a*c?'", &["abcd", "acx"], &["ac", "bacx"]);
        check("'?*'", &["x"], &["''"]);
        check("'1*'", &["10", "'12'"], &["2"]);
    }

    #[test]
    fn lists_and_objects_match_no_scalar() {
        for pattern in ["x", "'*'", "1", "null", "true"] {
            check(pattern, &[], &["[x]", "{x: 1}"]);
        }
    }
}
