//! Variables in data that name themselves, or each other.

use std::time::Duration;

use ephor_admission::admit::Deadline;

use super::{answer, cluster_policy, config_map, gate, refusal};

const NOTE: &str = "{{request.object.data.note}}";

fn deny(key: &str) -> String {
    let rest = format!(
        "validate:\n  failureAction: Enforce\n  message: nope\n  deny: {{conditions: {{any: [{{key: \"{key}\", operator: NotEquals, value: ok}}]}}}}"
    );
    cluster_policy("Fail", &rest)
}

fn note(text: &str) -> String {
    config_map(&format!(r#"{{"note": "{text}"}}"#))
}

/// The text of the refusal, which comes quickly.
fn refused_at_once(policy: &str, object: &str) -> String {
    let gate = gate(policy);
    // What is prepared at the first use is not measured.
    answer(&gate, "/validate", &config_map(r#"{"note": "ok"}"#), &Deadline::never());
    let (decision, took) = answer(&gate, "/validate", object, &Deadline::never());
    // Tests are not optimised, and run side by side.
    assert!(took < Duration::from_secs(2), "{took:?}");
    decision.answer.denial.expect("a refusal").message
}

#[test]
fn a_variable_whose_value_holds_it_twice_is_an_error() {
    for key in [format!("x {NOTE}"), format!("{NOTE} x {NOTE}"), format!("{NOTE}{NOTE}")] {
        for value in [
            format!("{NOTE}{NOTE}"),
            NOTE.to_string(),
            format!("{NOTE} and {NOTE}"),
            "{{ request.object.data.note }}".into(),
        ] {
            let text = refused_at_once(&deny(&key), &note(&value));
            assert!(text.contains("the variable expands to itself"), "{key} {value}: {text}");
        }
    }
}

#[test]
fn variables_whose_values_hold_each_other_are_an_error() {
    let [a, b] = ["{{request.object.data.note}}", "{{request.object.data.other}}"];
    for (times, text) in [
        (1, "expand to themselves"),
        (2, "expands to itself"),
        (5, "expands to itself"),
        (1000, "expands to itself"),
    ] {
        let object = config_map(&format!(
            r#"{{"note": "{}", "other": "{}"}}"#,
            format!("{b} ").repeat(times),
            format!("{a} ").repeat(times)
        ));
        let denial = refused_at_once(&deny(&format!("x {a}")), &object);
        assert!(denial.contains(text), "{times}: {denial}");
    }
}

#[test]
fn an_object_that_holds_its_own_variable_is_an_error() {
    let policy = deny("{{ request.object.data }}");
    let whole = "{{ request.object.data }}";
    let many: Vec<String> = (0..40).map(|i| format!(r#""k{i}": "{whole}""#)).collect();
    let object = config_map(&format!("{{{}}}", many.join(", ")));
    let text = refused_at_once(&policy, &object);
    assert!(text.contains("the variable expands to itself"), "{text}");
    let [left, right] = ["{{ request.object.data.left }}", "{{ request.object.data.right }}"];
    let list = |of: &str| format!("[{}]", vec![format!("\"{of}\""); 40].join(", "));
    let object = config_map(&format!(r#"{{"left": {}, "right": {}}}"#, list(right), list(left)));
    let text = refused_at_once(&deny("{{ request.object.data.left }}"), &object);
    assert!(text.contains("expand"), "{text}");
}

#[test]
fn no_loop_precondition_or_message_forgives_a_variable_that_expands_to_itself() {
    let object = config_map(r#"{"note": "{{element}}{{element}}", "ok": "ok"}"#);
    let of = |rest: &str| {
        cluster_policy(
            "Fail",
            &format!(
                "validate:\n  failureAction: Enforce\n  message: \"m {NOTE}\"\n  foreach:\n  - list: \"values(request.object.data)\"\n    {rest}"
            ),
        )
    };
    let conditions = "{any: [{key: \"x {{element}}\", operator: Equals, value: y}]}";
    let text = refused_at_once(
        &of(&format!("preconditions: {conditions}\n    deny: {{conditions: {conditions}}}")),
        &object,
    );
    assert!(text.contains("the variable expands to itself"), "{text}");
    let text = refused_at_once(&of(&format!("deny: {{conditions: {conditions}}}")), &object);
    assert!(text.contains("the variable expands to itself"), "{text}");
    let with_default =
        "context: [{name: c, variable: {value: \"x {{element}}\", jmesPath: \"@\", default: y}}]";
    let text = refused_at_once(
        &of(&format!(
            "{with_default}\n    deny: {{conditions: {{any: [{{key: \"{{{{c}}}}\", operator: Equals, value: z}}]}}}}"
        )),
        &object,
    );
    assert!(text.contains("the variable expands to itself"), "{text}");
}

#[test]
fn patterns_and_changes_with_such_variables_are_errors() {
    let object = note(&format!("{NOTE}{NOTE}"));
    let pattern = "validate:\n  failureAction: Enforce\n  message: m\n  pattern: {data: {note: \"x{{request.object.data.note}}\"}}";
    let text = refused_at_once(&cluster_policy("Fail", pattern), &object);
    assert!(text.contains("the variable expands to itself"), "{text}");
    for change in [
        "patchStrategicMerge: {data: {other: \"x {{request.object.data.note}}\"}}",
        "patchesJson6902: '[{op: add, path: /data/other, value: \"x {{request.object.data.note}}\"}]'",
        "foreach: [{list: \"values(request.object.data)\", patchStrategicMerge: {data: {other: \"x {{element}} {{request.object.data.note}}\"}}}]",
    ] {
        let gate = gate(&cluster_policy("Fail", &format!("mutate:\n  {change}")));
        let (decision, took) = answer(&gate, "/mutate", &object, &Deadline::never());
        assert!(took < Duration::from_secs(2), "{change}: {took:?}");
        let text = decision.answer.denial.expect("a refusal").message;
        assert!(text.contains("the variable expands to itself"), "{change}: {text}");
    }
}

#[test]
fn values_that_hold_other_variables_are_filled_in() {
    let object = |other: &str| {
        config_map(&format!(
            r#"{{"note": "{{{{request.object.data.middle}}}}{{{{request.object.data.middle}}}}", "middle": "<{{{{request.object.data.last}}}}>", "last": "{other}"}}"#
        ))
    };
    let policy = deny(NOTE)
        .replace("value: ok", "value: \"<k><k>\"")
        .replace(NOTE, &format!(" {NOTE}"))
        .replace("\"<k>", "\" <k>");
    assert_eq!(refusal(&policy, &object("k")), None);
    assert!(refusal(&policy, &object("l")).is_some());
}
