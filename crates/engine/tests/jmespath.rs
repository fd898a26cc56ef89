//! JMESPath expressions: missing keys, projections and truth (`docs/expressions/jmespath.md`).

#![allow(clippy::unwrap_used, clippy::panic)]

use ephor_document::yaml_value;
use ephor_engine::eval::{Env, eval};
use ephor_functions::Context;
use ephor_value::{Value, print};

const DATA: &str = "
a: {b: 1, nil: null}
list: [{k: 1, s: [1, 2]}, {k: 2}, {s: [3]}, 7]
nested: [[1, [2]], 3, [4]]
object: {q: {k: 2}, p: {k: 1}}
text: abc
zero: 0
empty: ''
";

fn run(text: &str) -> Result<String, String> {
    let expr = ephor_jmespath::lower::lower(&ephor_jmespath::parse(text).unwrap());
    let (root, cx): (Value, _) = (yaml_value(DATA).unwrap().with_float_numbers(), Context::default());
    eval(&expr, Env::new(&root, &cx)).map(|v| print::json(&v)).map_err(|fault| fault.to_string())
}

#[track_caller]
fn gives(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(run(text).as_deref(), Ok(*expected), "{text}");
    }
}

#[track_caller]
fn lacks(key: &str, texts: &[&str]) {
    for text in texts {
        assert_eq!(run(text), Err(format!("Unknown key \"{key}\" in path")), "{text}");
    }
}

#[test]
fn a_key_that_an_object_lacks_is_a_fault_and_a_key_of_anything_else_is_null() {
    lacks("z", &["z", "a.z", "a.z.y", "z[0]", "a.b && z"]);
    gives(&[
        ("text.z", "null"),
        ("a.b.z", "null"),
        ("a.nil.z.y", "null"),
        ("list.z", "null"),
        ("a[0]", "null"),
    ]);
}

#[test]
fn pipes_choices_negations_comparisons_and_arguments_take_a_missing_key_for_null() {
    gives(&[
        ("z | @", "null"),
        ("@ | z", "null"),
        ("z || 'd'", "\"d\""),
        ("a.nil || z", "null"),
        ("z && 'd'", "null"),
        ("!z", "true"),
        ("z == a.nil", "true"),
        ("[z, a.b]", "[null,1]"),
        ("{k: z}", r#"{"k":null}"#),
        ("not_null(z, a.b)", "1"),
        ("type(z)", "\"null\""),
    ]);
}

#[test]
fn other_faults_pass_through_what_takes_a_missing_key_for_null() {
    for text in ["length(zero) || 'd'", "!length(zero)", "length(zero) | @", "[length(zero)]"] {
        assert!(run(text).is_err(), "{text}");
    }
    // Flattening and filters absorb every fault of their operand.
    gives(&[("length(zero)[]", "null"), ("length(zero)[?k]", "null"), ("length(zero).*", "null")]);
}

#[test]
fn projections_drop_nulls_and_items_whose_key_is_missing() {
    gives(&[
        ("list[*].k", "[1,2]"),
        ("list[*].s[0]", "[1,3]"),
        ("list[].s[]", "[1,2,3]"),
        ("list[?k].k", "[1,2]"),
        ("list[?k == `2`]", r#"[{"k":2}]"#),
        ("list[?z]", "[]"),
        ("list[*].z", "[]"),
        ("text[*]", "null"),
        ("z[*]", "null"),
        ("a.b[]", "null"),
    ]);
}

#[test]
fn flattening_takes_one_level_of_lists_away() {
    gives(&[("nested[]", "[1,[2],3,4]"), ("nested[][]", "[1,2,3,4]")]);
}

#[test]
fn values_of_objects_are_walked_in_ascending_order_of_their_keys() {
    gives(&[("object.*.k", "[1,2]"), ("object.* | [0].k", "1"), ("list.*", "null")]);
}

#[test]
fn a_pipe_ends_a_projection() {
    gives(&[("list[*].k | [0]", "1"), ("list[*].k[0]", "[]"), ("(list[*].k)[0]", "1")]);
}

#[test]
fn slices_count_from_both_ends_and_in_both_directions() {
    gives(&[
        ("nested[1:]", "[3,[4]]"),
        ("nested[:-1] | [1]", "3"),
        ("nested[::-1] | [0]", "[4]"),
        ("nested[5:]", "[]"),
        ("nested[-1]", "[4]"),
        ("nested[-4]", "null"),
        ("text[0:1]", "null"),
    ]);
    assert!(run("nested[::0]").is_err());
}

#[test]
fn null_false_and_what_is_empty_are_false_and_zero_is_true() {
    gives(&[
        ("zero && 'yes'", "\"yes\""),
        ("empty || 'no'", "\"no\""),
        ("`[]` || 'no'", "\"no\""),
        ("`{}` || 'no'", "\"no\""),
        ("`false` || 'no'", "\"no\""),
        ("!zero", "false"),
    ]);
}

#[test]
fn an_order_of_anything_but_numbers_is_null() {
    gives(&[
        ("a.b < `2`", "true"),
        ("'a' < 'b'", "null"),
        ("a.nil < `1`", "null"),
        ("'a' == 'a'", "true"),
        ("`[1, {\"a\": 2}]` == `[1, {\"a\": 2}]`", "true"),
        ("`1` == '1'", "false"),
    ]);
}

#[test]
fn several_selected_from_null_are_null() {
    gives(&[("a.nil.[b, c]", "null"), ("a.nil.{b: b}", "null"), ("a.nil.['x']", "null")]);
}

#[test]
fn an_unknown_function_fails_only_when_it_is_run() {
    gives(&[("a.b || nope(@)", "1")]);
    assert_eq!(run("nope(@)"), Err("unknown function: nope".to_string()));
    // Its arguments are evaluated first.
    assert_ne!(run("nope(length(zero))"), run("nope(@)"));
}
