//! Which objects look like a pattern: `docs/semantics/patterns.md`, rule by rule.

use super::*;
use ephor_document::yaml_value;

/// `pass`, `skip: TEXT`, `fail PATH` or `fail` where no path is shown.
fn verdict(pattern: &str, object: &str) -> String {
    let pattern = ephor_pattern::lower(&yaml_value(pattern).unwrap()).unwrap();
    match run(&pattern, &yaml_value(object).unwrap()) {
        Outcome::Pass => "pass".into(),
        Outcome::Skip(why) => format!("skip: {}", why.text()),
        Outcome::Fail { path, .. } => format!("fail {path}").trim().into(),
    }
}

fn text(pattern: &str, object: &str) -> String {
    let pattern = ephor_pattern::lower(&yaml_value(pattern).unwrap()).unwrap();
    match run(&pattern, &yaml_value(object).unwrap()) {
        Outcome::Pass => panic!("it passes"),
        Outcome::Skip(why) | Outcome::Fail { why, .. } => why.text(),
    }
}

#[track_caller]
fn check_all(rows: &[(&str, &str, &str)]) {
    for (pattern, object, expected) in rows {
        assert_eq!(verdict(pattern, object), *expected, "{pattern} on {object}");
    }
}

#[test]
fn a_missing_key_compares_as_null() {
    check_all(&[
        ("{a: null}", "{}", "pass"),
        ("{a: null}", "{a: ''}", "pass"),
        ("{a: null}", "{a: 0}", "pass"),
        ("{a: null}", "{a: false}", "pass"),
        ("{a: null}", "{a: x}", "fail /a/"),
        ("{a: x}", "{}", "fail /a/"),
        // As a quantity, nothing is 0.
        ("{a: '<1'}", "{}", "pass"),
        ("{a: '!5'}", "{}", "pass"),
        ("{a: '>1'}", "{}", "fail /a/"),
        ("{a: '!x'}", "{}", "fail /a/"),
        ("{a: {b: null}}", "{}", "fail /a/"),
    ]);
}

#[test]
fn a_star_means_there_and_not_null() {
    check_all(&[
        ("{a: '*'}", "{a: ''}", "pass"),
        ("{a: '*'}", "{a: {b: 1}}", "pass"),
        ("{a: '*'}", "{a: []}", "pass"),
        ("{a: '*'}", "{a: null}", "fail /"),
        ("{a: '*'}", "{}", "fail /"),
        ("{a: '?*'}", "{a: ''}", "fail /a/"),
        ("{a: '?*'}", "{a: x}", "pass"),
    ]);
    assert_eq!(text("{b: {a: '*'}}", "{b: {}}"), "/b//a not found");
}

#[test]
fn a_list_matches_a_scalar_when_every_item_does() {
    check_all(&[
        ("{a: x}", "{a: [x, x]}", "pass"),
        ("{a: x}", "{a: [x, o]}", "fail /a/"),
        ("{a: x}", "{a: []}", "pass"),
        ("{a: x}", "{a: {x: 1}}", "fail /a/"),
        // Lists inside of lists are no scalars.
        ("{a: x}", "{a: [[x]]}", "fail /a/"),
    ]);
}

#[test]
fn the_first_item_of_a_pattern_list_decides_how_it_is_compared() {
    check_all(&[
        // Objects and scalars: every item of the value; further items are not read.
        ("{a: [{b: 1}]}", "{a: [{b: 1}, {b: 1}]}", "pass"),
        ("{a: [{b: 1}]}", "{a: [{b: 1}, {b: 2}]}", "fail /a/1/b/"),
        ("{a: [{b: 1}, {b: 2}]}", "{a: [{b: 1}]}", "pass"),
        ("{a: ['x*']}", "{a: [x1, x2]}", "pass"),
        ("{a: ['x*', o]}", "{a: [x1, o]}", "fail /a/"),
        ("{a: [{b: 1}]}", "{a: []}", "pass"),
        // Lists: position by position; the value may be longer.
        ("{a: [[1], [2]]}", "{a: [[1], [2], [3]]}", "pass"),
        ("{a: [[1], [2]]}", "{a: [[2], [1]]}", "fail /a/0/"),
        ("{a: [[1], [2]]}", "{a: [[1]]}", "fail"),
        // Nothing matches an empty list, and only lists match lists.
        ("{a: []}", "{a: []}", "fail /a/"),
        ("{a: [x]}", "{a: x}", "fail /a/"),
        ("{a: [{b: 1}]}", "{a: {b: 1}}", "fail /a/"),
        ("{a: [{b: 1}]}", "{a: [1]}", "fail /a/0/"),
    ]);
}

#[test]
fn a_condition_that_is_not_met_skips_the_pattern() {
    check_all(&[
        ("{(a): x, b: 1}", "{a: x, b: 1}", "pass"),
        ("{(a): x, b: 1}", "{a: x, b: 2}", "fail /b/"),
        (
            "{(a): x, b: 1}",
            "{a: o, b: 2}",
            "skip: conditional anchor mismatch: resource value 'o' does not match 'x' at path /a/",
        ),
        (
            "{(a): x, b: 1}",
            "{b: 1}",
            "skip: conditional anchor mismatch: conditional anchor key doesn't exist in the resource",
        ),
    ]);
}

#[test]
fn items_that_skip_are_left_out_and_a_list_of_nothing_else_skips() {
    let pattern = "{a: [{(k): 'x*', v: 1}]}";
    check_all(&[
        (pattern, "{a: [{k: x1, v: 1}, {k: o, v: 2}]}", "pass"),
        (pattern, "{a: [{k: o, v: 2}, {k: x1, v: 2}]}", "fail /a/1/v/"),
        (pattern, "{a: []}", "pass"),
    ]);
    assert!(verdict(pattern, "{a: [{k: o}, {k: z}]}").starts_with("skip: conditional anchor mismatch: "));
}

#[test]
fn a_global_condition_skips_wherever_it_stands_but_only_when_its_key_is_there() {
    check_all(&[
        ("{a: {<(b): x}, c: 1}", "{a: {}, c: 1}", "pass"),
        ("{a: {<(b): x}, c: 1}", "{a: {b: x}, c: 1}", "pass"),
        (
            "{a: {<(b): x}, c: 1}",
            "{a: {b: o}, c: 2}",
            "skip: global anchor mismatch: resource value 'o' does not match 'x' at path /a/b/",
        ),
        // Keys below which an anchor stands are checked before the others.
        (
            "{a: 1, z: {<(b): x}}",
            "{a: 2, z: {b: o}}",
            "skip: global anchor mismatch: resource value 'o' does not match 'x' at path /z/b/",
        ),
    ]);
}

#[test]
fn an_equality_is_checked_only_when_its_key_is_there() {
    check_all(&[
        ("{=(a): x}", "{}", "pass"),
        ("{=(a): x}", "{a: x}", "pass"),
        ("{=(a): x}", "{a: o}", "fail /a/"),
        ("{=(a): {b: 1}}", "{a: {}}", "fail /a/b/"),
        ("{=(a): x}", "{a: null}", "fail /a/"),
    ]);
}

#[test]
fn a_negation_refuses_its_key_whatever_its_value() {
    check_all(&[
        ("{X(a): null}", "{}", "pass"),
        ("{X(a): x}", "{a: o}", "fail /a/"),
        ("{X(a): x}", "{a: null}", "fail /a/"),
    ]);
    assert_eq!(
        text("{s: {X(a): x}}", "{s: {a: 1}}"),
        "negation anchor matched in resource: /s/a/ is not allowed"
    );
}

#[test]
fn an_existence_wants_an_item_for_each_object_of_the_pattern() {
    check_all(&[
        ("{^(a): [{b: 1}]}", "{a: [{b: 2}, {b: 1}]}", "pass"),
        ("{^(a): [{b: 1}, {b: 2}]}", "{a: [{b: 2}, {b: 1}]}", "pass"),
        ("{^(a): [{b: 1}, {b: 3}]}", "{a: [{b: 2}, {b: 1}]}", "fail /a/"),
        ("{^(a): [{b: 1}]}", "{a: []}", "fail /a/"),
        ("{^(a): [{b: 1}]}", "{}", "pass"),
        ("{^(a): [{b: 1}]}", "{a: x}", "fail /a/"),
        ("{^(a): [x]}", "{a: [x]}", "fail /a/"),
        ("{^(a): x}", "{a: [x]}", "fail /a/"),
    ]);
}

#[test]
fn a_failure_after_an_anchor_that_was_never_met_has_no_path() {
    check_all(&[
        ("{c: [{(k): x}], b: 1}", "{c: [], b: 2}", "fail /b/"),
        ("{s: {^(a): [{b: 1}], c: 1}}", "{s: {c: 2}}", "fail"),
        ("{s: {^(a): [{b: 1}], c: 1}}", "{s: {a: [{b: 1}], c: 2}}", "fail /s/c/"),
        // Met in one item is met; a negation keeps its path all the same.
        ("{l: [{^(a): [{b: 1}], c: 1}]}", "{l: [{a: [{b: 1}], c: 1}, {c: 2}]}", "fail /l/1/c/"),
        ("{s: {^(a): [{b: 1}], X(c): 1}}", "{s: {c: 2}}", "fail /s/c/"),
    ]);
}

#[test]
fn anchored_keys_are_checked_first_and_a_raw_skip_hides_their_failures() {
    // `(z)` skips, `=(a)` fails before it: the failure counts.
    check_all(&[("{=(a): x, (z): x}", "{a: o, z: x}", "fail /a/")]);
    // Ascending by the full text: `(z)` comes before `=(a)` and its skip wins.
    assert!(verdict("{=(a): x, (z): x}", "{a: o, z: o}").starts_with("skip: "));
    // Plain keys are not evaluated when the object skips.
    assert!(verdict("{(z): x, a: 1}", "{a: 2, z: o}").starts_with("skip: "));
}

#[test]
fn a_skip_from_below_counts_only_when_no_other_anchored_key_was_met() {
    let pattern = "{=(a): [{(k): x}], =(b): 1}";
    check_all(&[(pattern, "{a: [{k: o}], b: 1}", "pass"), (pattern, "{a: [{k: o}], b: 2}", "fail /b/")]);
    // A key that is not there counts as met.
    check_all(&[(pattern, "{a: [{k: o}]}", "pass")]);
    assert!(verdict("{=(a): [{(k): x}]}", "{a: [{k: o}]}").starts_with("skip: "));
}

#[test]
fn keys_of_labels_and_annotations_may_hold_wildcards_and_others_not() {
    check_all(&[
        ("{metadata: {labels: {'app*': '?*'}}}", "{metadata: {labels: {zone: a, app.x: b}}}", "pass"),
        (
            "{metadata: {labels: {'app*': b}}}",
            "{metadata: {labels: {app2: b, app1: a}}}",
            "fail /metadata/labels/app1/",
        ),
        (
            "{metadata: {labels: {'app*': b}}}",
            "{metadata: {labels: {zone: b}}}",
            "fail /metadata/labels/app*/",
        ),
        (
            "{metadata: {annotations: {=(a*): b}}}",
            "{metadata: {annotations: {ab: c}}}",
            "fail /metadata/annotations/ab/",
        ),
        ("{spec: {'a*': b}}", "{spec: {ab: b}}", "fail /spec/a*/"),
        ("{spec: {'a*': b}}", "{spec: {'a*': b}}", "pass"),
        // Entries that are no strings are left out.
        ("{metadata: {labels: {a: 1, 'b*': x}}}", "{metadata: {labels: {a: 2, b: x}}}", "pass"),
    ]);
}

#[test]
fn texts_of_failures_show_value_pattern_and_path() {
    for (pattern, object, expected) in [
        ("{a: {b: x}}", "{a: {b: 1}}", "resource value '1' does not match 'x' at path /a/b/"),
        (
            "{a: {b: x}}",
            "{a: 1}",
            "pattern and resource have different structures. Path: /a/. Expected map[string]interface {}, found int64",
        ),
        (
            "{a: [x]}",
            "{a: 1}",
            "validation rule failed at path /a/, resource does not satisfy the expected overlay pattern",
        ),
        ("{a: []}", "{a: [1]}", "pattern Array empty"),
        (
            "{a: [[1], [2]]}",
            "{a: [[1]]}",
            "validate Array failed, array length mismatch, resource Array len is 1 and pattern Array len is 2",
        ),
        ("{^(a): [{b: 1}]}", "{a: []}", "existence anchor validation failed at path /a/"),
    ] {
        assert_eq!(text(pattern, object), expected, "{pattern} on {object}");
    }
}

#[test]
fn doubles_from_a_million_on_are_printed_with_an_exponent() {
    let pattern = ephor_pattern::lower(&yaml_value("{a: 1}").unwrap()).unwrap();
    for (number, shown) in [("999999", "999999"), ("1000000", "1e+06")] {
        let object = yaml_value(&format!("{{a: {number}}}")).unwrap().with_float_numbers();
        let Outcome::Fail { why, .. } = run(&pattern, &object) else { panic!("{number}") };
        assert_eq!(why.text(), format!("resource value '{shown}' does not match '1' at path /a/"));
    }
}

mod laws {
    use proptest::prelude::*;

    use super::*;
    use ephor_value::Str;

    /// Documents without keys that are anchors or wildcards, and without lists that a pattern reads
    /// otherwise.
    fn documents() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i64>().prop_map(Value::Int),
            (-1e9..1e9).prop_map(Value::Float),
            "[ -~]{0,12}".prop_map(Value::from),
            r"[<>=!*?|&0-9.Mih-]{0,6}".prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(("[a-e]{1,2}", inner.clone()), 0..4).prop_map(|entries| {
                    Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k.as_str()), v)).collect())
                }),
                inner.prop_map(|item| Value::list(vec![item])),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_document_looks_like_itself(document in documents()) {
            let pattern = ephor_pattern::lower(&document).unwrap();
            prop_assert!(matches!(run(&pattern, &document), Outcome::Pass), "{document:?}");
        }

        #[test]
        fn keys_that_a_pattern_does_not_name_do_not_matter(document in documents(), more in documents()) {
            if let Value::Map(mut larger) = document.clone() {
                larger.insert("other", more);
                let pattern = ephor_pattern::lower(&document).unwrap();
                let larger = Value::Map(larger);
                prop_assert!(matches!(run(&pattern, &larger), Outcome::Pass), "{document:?}");
            }
        }

        #[test]
        fn a_condition_never_fails_a_document(document in documents(), object in documents()) {
            let condition: Map = [(Str::from("(a)"), document)].into_iter().collect();
            let pattern = ephor_pattern::lower(&Value::Map(condition)).unwrap();
            let object = Value::Map([(Str::from("a"), object)].into_iter().collect());
            let fails = matches!(run(&pattern, &object), Outcome::Fail { .. });
            prop_assert!(!fails);
        }
    }
}
