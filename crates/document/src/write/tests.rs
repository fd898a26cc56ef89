#![allow(clippy::unwrap_used)]

use super::{Style, to_string};
use crate::json;

fn report(text: &str) -> String {
    to_string(&json::parse(text).unwrap(), Style::Report)
}

fn object(text: &str) -> String {
    to_string(&json::parse(text).unwrap(), Style::Object)
}

#[test]
fn reports_put_sequences_in_the_column_of_their_key() {
    assert_eq!(
        report(r#"{"b": [{"x": 1, "a": []}, [1, [2]]], "a": {"c": null, "d": {}}}"#),
        "a:\n  c: null\n  d: {}\nb:\n- a: []\n  x: 1\n- - 1\n  - - 2\n"
    );
}

#[test]
fn objects_indent_sequences_and_keep_to_multiples_of_four() {
    assert_eq!(
        object(r#"{"spec": {"c": [{"a": 1, "b": ["x"], "m": {"k": 1}}, [1]]}}"#),
        "spec:\n    c:\n        - a: 1\n          b:\n            - x\n          m:\n            k: 1\n        - - 1\n"
    );
}

#[test]
fn text_is_quoted_only_where_it_must_be() {
    for (text, printed) in [
        ("a b", "a b"),
        ("y", "\"y\""),
        ("2024-01-02", "\"2024-01-02\""),
        ("1:30", "\"1:30\""),
        ("", "\"\""),
        ("~", "\"~\""),
        ("a: b", "'a: b'"),
        ("a #b", "'a #b'"),
        ("*x", "'*x'"),
        (" x", "' x'"),
        ("it's", "it's"),
        ("a\tb", "\"a\\tb\""),
        ("😀", "\"\\U0001F600\""),
        ("a\nb", "|-\n    a\n    b"),
        ("a\n", "|\n    a"),
    ] {
        let json = serde_json::to_string(&serde_json::json!({ "k": text })).unwrap();
        assert_eq!(object(&json).trim_end(), format!("k: {printed}"), "{text:?}");
    }
}

#[test]
fn reports_fold_long_text_after_column_eighty() {
    let message = "validation error: label team is needed. rule team-label failed at path /metadata/labels/";
    assert_eq!(
        report(&format!(r#"{{"results": [{{"message": "{message}"}}]}}"#)),
        "results:\n- message: 'validation error: label team is needed. rule team-label failed at path\n    /metadata/labels/'\n"
    );
    assert!(!object(&format!(r#"{{"m": "{message}"}}"#)).contains("path\n"));
}

#[test]
fn long_keys_are_written_after_a_question_mark() {
    let key = "k".repeat(129);
    assert_eq!(report(&format!(r#"{{"{key}": 1}}"#)), format!("? {key}\n: 1\n"));
}

#[test]
fn whole_numbers_print_without_exponent() {
    assert_eq!(
        report("[1.0, 1e6, 1e21, 0.000001, 123456789.5]"),
        "- 1\n- 1000000\n- 1e+21\n- 1e-06\n- 1.234567895e+08\n"
    );
}

#[test]
fn keys_stand_in_natural_order() {
    assert_eq!(report(r#"{"a10": 1, "a2": 1, "a": 1, "B": 1, "_": 1}"#), "_: 1\nB: 1\na: 1\na2: 1\na10: 1\n");
}
