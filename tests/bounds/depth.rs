//! Chains of variables, expressions, documents and objects that are deeper than stacks.

use ephor_admission::admit::Deadline;
use ephor_functions::Context;
use ephor_value::Value;

use super::{answer, any_gate, cluster_policy, config_map, on_a_small_stack, refusal, validating_policy};

fn chain(length: usize, first: &str) -> Vec<(String, String)> {
    let text = |n: usize| if n == 0 { first.to_string() } else { format!("variables.a{}", n - 1) };
    (0..length).map(|n| (format!("a{n}"), text(n))).collect()
}

#[test]
fn long_chains_of_variables_are_evaluated() {
    on_a_small_stack(|| {
        for length in [500, 1000, 5000] {
            let variables = chain(length, "object.data.y");
            let policy = validating_policy(&variables, &format!("variables.a{} == 'b'", length - 1));
            assert_eq!(refusal(&policy, &config_map("{\"y\": \"b\"}")), None, "{length}");
            let (_, text) = refusal(&policy, &config_map("{\"y\": \"c\"}")).expect("a refusal");
            assert!(text.ends_with("m"), "{length}: {text}");
        }
    });
}

#[test]
fn longer_chains_of_variables_than_can_be_evaluated_are_errors() {
    on_a_small_stack(|| {
        let variables = chain(20_100, "object.data.y");
        let policy = validating_policy(&variables, "variables.a20099 == 'b'");
        let (_, text) = refusal(&policy, &config_map("{\"y\": \"b\"}")).expect("a refusal");
        assert!(text.contains("variables read one another in a chain of more than 20000"), "{text}");
    });
}

#[test]
fn long_chains_of_context_entries_are_evaluated() {
    on_a_small_stack(|| {
        let length = 3000;
        let entry = |n: usize| match n {
            0 => "- {name: a0, variable: {value: \"{{request.object.data.y}}\"}}".to_string(),
            n => format!("- {{name: a{n}, variable: {{jmesPath: a{}}}}}", n - 1),
        };
        let entries: Vec<String> = (0..length).map(entry).collect();
        let rest = format!(
            "context:\n{}\nvalidate:\n  failureAction: Enforce\n  message: m\n  deny: {{conditions: {{any: [{{key: \"{{{{ a{} }}}}\", operator: NotEquals, value: b}}]}}}}",
            entries.join("\n"),
            length - 1
        );
        let policy = cluster_policy("Fail", &rest);
        assert_eq!(refusal(&policy, &config_map("{\"y\": \"b\"}")), None);
        assert!(refusal(&policy, &config_map("{\"y\": \"c\"}")).is_some());
    });
}

#[test]
fn the_highest_expressions_are_evaluated_on_a_small_stack() {
    on_a_small_stack(|| {
        let depth = 240;
        let texts = [
            format!("{}request.object.data.y{}", "(".repeat(depth), ")".repeat(depth)),
            format!("{}request.object.data.y{}", "not_null(".repeat(depth), ")".repeat(depth)),
            format!("{}request.object.data.y{}", "[".repeat(depth), "]".repeat(depth)),
            format!("{}request.object.data.y", "!".repeat(depth)),
            format!("request{}", "[*]".repeat(depth)),
            format!("request{}", "[?@]".repeat(120)),
            format!("request{}", " | @".repeat(depth)),
            format!("request{}", " || @".repeat(depth)),
            format!("{}request{}", "map(&".repeat(120), ", [`1`])".repeat(120)),
        ];
        for text in texts {
            let rest = format!(
                "validate:\n  failureAction: Enforce\n  message: m\n  deny: {{conditions: {{any: [{{key: \"{{{{ {text} }}}}\", operator: Equals, value: b}}]}}}}"
            );
            answer(
                &any_gate(&cluster_policy("Fail", &rest)),
                "/validate",
                &config_map("{\"y\": \"b\"}"),
                &Deadline::never(),
            );
        }
        for text in [
            format!("{}object.data.y{} == 'b'", "(".repeat(depth), ")".repeat(depth)),
            format!("{}true", "!".repeat(depth)),
            format!("{}1{} == []", "[".repeat(depth), "]".repeat(depth)),
            format!("{}1{} == {{}}", "{'a': ".repeat(120), "}".repeat(120)),
            format!("{}1{} == 1", "int(".repeat(120), ")".repeat(120)),
            format!("{}true{}", "[1].all(x, ".repeat(60), ")".repeat(60)),
            format!("{}[1]{} == []", "[1].map(x, ".repeat(60), ")".repeat(60)),
            format!("true{}", " && true".repeat(1000)),
            format!("{}true{}", "true ? ".repeat(100), " : false".repeat(100)),
            format!("1{} == 1", " + 1".repeat(200)),
        ] {
            let gate = any_gate(&validating_policy(&[], &text));
            answer(&gate, "/validate", &config_map("{\"y\": \"b\"}"), &Deadline::never());
        }
    });
}

/// Lists and objects in each other, with an integer at the bottom.
fn deep(levels: usize, bottom: i64) -> Value {
    (0..levels).fold(Value::Int(bottom), |v, level| match level % 2 {
        0 => Value::list(vec![v]),
        _ => Value::Map([("a".into(), v)].into_iter().collect()),
    })
}

/// Values that are not taken apart on the small stack: that is not what is tested here.
struct Undropped(Vec<Value>);

#[test]
fn deep_values_are_compared_converted_and_merged_on_a_small_stack() {
    const LEVELS: usize = 9_990;
    let mut values = Undropped(Vec::new());
    let (one, same, other) = (deep(LEVELS, 1), deep(LEVELS, 1), deep(LEVELS, 2));
    on_a_small_stack(|| {
        assert!(one.strict_eq(&same) && one.json_eq(&same) && one.cel_eq(&same));
        assert!(!one.strict_eq(&other) && !one.json_eq(&other) && !one.cel_eq(&other));
        assert!(!one.any_text(&|text| text.contains("{{")));
        let doubles = one.with_float_numbers();
        assert!(doubles.json_eq(&one) && !doubles.strict_eq(&one));
        let whole = |v: &Value| Value::Map([("k".into(), v.clone())].into_iter().collect());
        assert_eq!(ephor_patch::diff::diff(&whole(&one), &whole(&other)).len(), 1);
        let merged = ephor_patch::merge::merge(&whole(&one), &whole(&other)).unwrap();
        assert!(merged.json_eq(&whole(&other)));
        let plain = merged.with_plain_lists();
        let text = |f: &str, v: &Value| {
            let f = ephor_functions::find(f).unwrap();
            let arg = ephor_functions::Arg::Value(std::borrow::Cow::Borrowed(v));
            ephor_functions::call(f, &Context::default(), &[arg]).map(|_| ())
        };
        assert!(text("to_array", &one).is_ok());
        values.0.extend([doubles, merged, plain]);
    });
    let all: Vec<Value> = values.0.into_iter().chain([one, same, other]).collect();
    let large = std::thread::Builder::new().stack_size(256 << 20).spawn(move || drop(all));
    large.unwrap().join().unwrap();
}
