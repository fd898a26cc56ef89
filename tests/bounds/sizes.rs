//! Results that would take all memory.

use ephor_admission::admit::Deadline;
use ephor_engine::Status;
use ephor_policies::{Engine, PolicySet};

use super::{answer, cluster_policy, config_map, gate, refusal, validating_policy};

fn big() -> String {
    config_map(&format!(r#"{{"x": "{}", "y": "b"}}"#, "a".repeat(250_000)))
}

#[test]
fn texts_of_cel_that_grow_without_end_are_errors() {
    for expression in [
        "object.data.x.replace('a', object.data.x) == ''",
        "object.data.x.split('').join(object.data.x) == ''",
        "object.data.x.split('').map(c, object.data.x.replace('a', 'bb')).size() == 1",
        "object.data.x.replace('', object.data.x) == ''",
        "('%s'.format([object.data.x.split('').map(c, object.data.x)])).size() == 1",
        // Nothing absorbs it.
        "object.data.x.replace('a', object.data.x) == '' || true",
        "[1].exists(i, object.data.x.replace('a', object.data.x) == '') || [1].all(i, i == 1)",
    ] {
        let (_, text) =
            refusal(&validating_policy(&[], expression), &big()).unwrap_or_else(|| panic!("{expression}"));
        assert!(
            text.contains("result is too large") || text.contains("cost limit exceeded"),
            "{expression}: {text}"
        );
    }
}

#[test]
fn values_that_hold_the_same_part_again_and_again_are_not_written_out() {
    let mut variables = vec![("v0".to_string(), "[object.data.y]".to_string())];
    for n in 1..40 {
        let before = format!("variables.v{}", n - 1);
        variables.push((format!("v{n}"), format!("[{before}, {before}, {before}]")));
    }
    for expression in ["'%s'.format([variables.v39]) == ''", "json.marshal(variables.v39) == ''"] {
        let text = refusal(&validating_policy(&variables, expression), &big()).expect(expression).1;
        assert!(text.contains("result is too large"), "{expression}: {text}");
    }
}

#[test]
fn texts_of_jmespath_that_grow_without_end_are_errors_that_nothing_absorbs() {
    for key in [
        "replace_all(request.object.data.x, 'a', request.object.data.x)",
        "join(request.object.data.x, split(request.object.data.x, ''))",
        "regex_replace_all('a', request.object.data.x, request.object.data.x)",
        "replace_all(request.object.data.x, 'a', request.object.data.x) || 'x'",
        "split(request.object.data.x, '')[*].[replace_all(@, 'a', 'b'), $.request] | length(@) | to_string(@)",
    ] {
        for loop_of in [
            "",
            "  foreach:\n  - list: \"[`1`]\"\n    preconditions: {any: [{key: \"KEY\", operator: Equals, value: x}]}\n",
        ] {
            let key = key.replace("$.request", "request");
            let condition = format!("{{any: [{{key: \"{{{{ {key} }}}}\", operator: Equals, value: x}}]}}");
            let rest = match loop_of {
                "" => format!(
                    "validate:\n  failureAction: Enforce\n  message: m\n  deny: {{conditions: {condition}}}"
                ),
                text => format!(
                    "validate:\n  failureAction: Enforce\n  message: m\n{}    deny: {{conditions: {{any: [{{key: a, operator: Equals, value: b}}]}}}}",
                    text.replace("KEY", &format!("{{{{ {key} }}}}"))
                ),
            };
            let refused = refusal(&cluster_policy("Fail", &rest), &big());
            if key.contains("length(@)") {
                continue;
            }
            let text = refused.unwrap_or_else(|| panic!("{rest}")).1;
            assert!(text.contains("result is too large"), "{key}: {text}");
        }
    }
}

#[test]
fn many_texts_of_one_rule_count_together() {
    let entries: Vec<String> = (0..2000)
        .map(|i| {
            format!("- {{name: c{i}, variable: {{value: \"{{{{ to_upper(request.object.data.x) }}}}\"}}}}")
        })
        .collect();
    let used: Vec<String> = (0..2000).map(|i| format!("{{{{ length(c{i}) }}}}")).collect();
    let rest = format!(
        "context:\n{}\nvalidate:\n  failureAction: Enforce\n  message: m\n  deny: {{conditions: {{any: [{{key: \"{}\", operator: Equals, value: x}}]}}}}",
        entries.join("\n"),
        used.join(" ")
    );
    let text = refusal(&cluster_policy("Fail", &rest), &big()).expect("a refusal").1;
    assert!(text.contains("result is too large"), "{text}");
}

#[test]
fn a_rule_of_a_policy_that_fails_open_is_reported_as_an_error() {
    let rest = "validate:\n  failureAction: Enforce\n  message: m\n  deny: {conditions: {any: [{key: \"{{ replace_all(request.object.data.x, 'a', request.object.data.x) || 'x' }}\", operator: Equals, value: y}]}}";
    let (decision, _) =
        answer(&gate(&cluster_policy("Ignore", rest)), "/validate", &big(), &Deadline::never());
    assert!(decision.answer.denial.is_none());
    let results: Vec<String> =
        decision.outcomes.results().map(|(_, r)| format!("{:?} {}", r.status, r.message)).collect();
    assert!(
        results.len() == 1 && results[0].starts_with("Error") && results[0].contains("result is too large"),
        "{results:?}"
    );
}

#[test]
fn a_rule_about_images_that_exceeds_a_bound_leaves_the_others_their_results() {
    let rule = |name: &str, key: &str| {
        format!(
            "  - name: {name}\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    \
             preconditions: {{all: [{{key: \"{key}\", operator: Equals, value: y}}]}}\n    \
             verifyImages: [{{imageReferences: ['*'], mutateDigest: false, verifyDigest: false, required: false}}]\n"
        )
    };
    let x = "request.object.metadata.annotations.x";
    let rules = rule("small", "x") + &rule("big", &format!("{{{{ replace_all({x}, 'a', {x}) || 'x' }}}}"));
    let policies = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n{rules}"
    );
    let pod = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: a, annotations: {{x: {}}}}}, \
         spec: {{containers: [{{name: a, image: nginx}}]}}}}",
        "a".repeat(250_000)
    );
    let outcome = Engine::new(PolicySet::from_yaml(&policies).unwrap()).check_yaml(&pod).unwrap();
    let incoming = outcome.policies.iter().find(|p| p.incoming).expect("results about images");
    let found: Vec<(&str, Status)> = incoming.rules.iter().map(|r| (&*r.rule, r.status)).collect();
    assert_eq!(found, [("small", Status::Skip), ("big", Status::Error)]);
    assert!(incoming.rules[1].message.contains("result is too large"), "{}", incoming.rules[1].message);
}

#[test]
fn patterns_that_data_build_take_space_once() {
    let rest = "validate:\n  failureAction: Enforce\n  message: m\n  pattern: {data: {w: \"{{ request.object.data.x }}\"}}";
    let lists = (0..100).fold("\"b\"".to_string(), |inner, _| format!(r#"[{{"a": {inner}}}]"#));
    let labels =
        (0..50).fold("\"b\"".to_string(), |inner, _| format!(r#"{{"metadata": {{"labels": {inner}}}}}"#));
    for deep in [lists, labels] {
        let policy = cluster_policy("Fail", rest);
        assert_eq!(refusal(&policy, &config_map(&format!(r#"{{"x": {deep}, "w": {deep}}}"#))), None);
        assert!(refusal(&policy, &config_map(&format!(r#"{{"x": {deep}, "w": "c"}}"#))).is_some());
    }
}

#[test]
fn lists_that_data_lay_over_objects_are_cleaned_in_one_pass() {
    let rest = "mutate: {patchStrategicMerge: {data: {z: \"{{ request.object.data.x }}\"}}}";
    let items = vec!["1"; 100_000].join(",");
    let gate = gate(&cluster_policy("Fail", rest));
    let start = super::usage::Clock::thread();
    answer(&gate, "/mutate", &config_map(&format!(r#"{{"x": [{items}]}}"#)), &Deadline::never());
    assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
}

#[test]
fn macros_in_macros_take_space_and_time_that_can_be_had() {
    let nested = |before: &str, inside: &str, behind: &str| {
        format!("{}{inside}{} == [1]", before.repeat(60), behind.repeat(60))
    };
    for expression in [
        nested("cel.bind(v, ", "[1]", ", v)"),
        nested("cel.bind(v, [1], ", "v", ")"),
        nested("[1].map(v, ", "1", ")"),
        nested("[1].filter(v, ", "true", ".size() == 1)"),
        nested("[1].exists_one(v, ", "true", ")"),
        nested("[[1]].sortBy(v, ", "1", ".size())"),
        nested("", "optional.of([1])", ".optMap(v, v)"),
        nested("", "optional.of([1])", ".optFlatMap(v, optional.of(v))"),
        nested("optional.of([1]).optMap(v, ", "v", ").value()"),
        nested("{1: 1}.transformMap(k, v, ", "v", ")"),
        nested("[", "1", "]"),
        // Types in types.
        format!(
            "cel.bind(v0, 1, {}v29{}) == [1]",
            (1..30).map(|n| format!("cel.bind(v{n}, {{v{0}: v{0}}}, ", n - 1)).collect::<String>(),
            ")".repeat(29)
        ),
    ] {
        let start = std::time::Instant::now();
        let gate = super::any_gate(&validating_policy(&[], &expression));
        answer(&gate, "/validate", &config_map(r#"{"y": "b"}"#), &Deadline::never());
        assert!(start.elapsed().as_secs() < 60, "{:?}: {expression}", start.elapsed());
    }
}
