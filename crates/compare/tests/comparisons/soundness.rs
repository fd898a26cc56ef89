//! Pairs of policies that differ on some object, and were once taken for the same.

use ephor_compare::Answer;
use ephor_value::Value;

use super::{checking, compared};

/// A ClusterPolicy for Pods that are created.
fn classic(check: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE]}}}}]}}\n    validate: {{message: m, failureAction: Enforce, {check}}}\n"
    )
}

/// One that denies by a condition.
fn deny(key: &str, operator: &str, value: &str) -> String {
    classic(&format!(
        "deny: {{conditions: {{all: [{{key: \"{{{{ {key} }}}}\", operator: {operator}, value: {value}}}]}}}}"
    ))
}

/// One that denies by a condition about each item of a list.
fn each(list: &str, key: &str, operator: &str, value: &str) -> String {
    classic(&format!(
        "foreach: [{{list: \"{list}\", deny: {{conditions: {{all: [{{key: \"{{{{ {key} }}}}\", operator: {operator}, value: {value}}}]}}}}}}]"
    ))
}

/// A policy in CEL for Pods that are created.
fn cel(expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  validationActions: [Deny]\n  autogen: {{podControllers: {{controllers: []}}}}\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  validations: [{{message: m, expression: \"{expression}\"}}]\n"
    )
}

fn not_proved(old: &str, new: &str) {
    for (old, new) in [(old, new), (new, old)] {
        let found = compared(old, new);
        let is_proved = matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_));
        assert!(!is_proved, "{:?}\n{old}\n{new}", found.answer);
    }
}

#[test]
fn lengths_in_lists_and_texts_and_next_to_each_other() {
    let containers = "length(request.object.spec.containers)";
    not_proved(&deny(containers, "AnyIn", "[3]"), &deny(containers, "AnyIn", "[4]"));
    not_proved(
        &deny(containers, "GreaterThan", "\"{{ length(request.object.spec.volumes || `[]`) }}\""),
        &deny("request.object.kind", "Equals", "none"),
    );
    not_proved(
        &deny(containers, "DurationGreaterThan", "2s"),
        &deny(containers, "DurationGreaterThan", "3s"),
    );
    let size = |test: &str| cel(&test.replace("SIZE", "size(object.spec.containers)"));
    not_proved(&size("SIZE in [1, 2, 3]"), &size("SIZE in [1, 2, 4]"));
    not_proved(&size("-SIZE > -3"), &size("-SIZE > -4"));
    not_proved(&size("!string(SIZE).startsWith('3')"), &size("!string(SIZE).startsWith('4')"));
    not_proved(&size("[2].all(m, SIZE <= m)"), &size("[3].all(m, SIZE <= m)"));
    not_proved(&size("[SIZE].all(n, n < 3)"), &size("[SIZE].all(n, n < 4)"));
    not_proved(&size("[true, true, true, false][SIZE]"), &size("[true, true, false, false][SIZE]"));
}

#[test]
fn items_that_loops_need_inside_of_their_items() {
    let command = |operator: &str| each("request.object.spec.containers", "element.command", operator, "z");
    not_proved(&command("AnyIn"), &command("AllIn"));
    not_proved(
        &cel(
            "object.spec.containers.all(c, !c.?command.orValue([]).exists(s, s == 'x' && c.command.exists(t, t == 'z')))",
        ),
        &cel("true"),
    );
    not_proved(
        &cel(
            "object.spec.containers.all(c, c.?volumeMounts.orValue([]).all(m, m.name in c.?env.orValue([]).map(e, e.name)))",
        ),
        &cel("object.spec.containers.all(c, size(c.?volumeMounts.orValue([])) == 0)"),
    );
}

#[test]
fn tests_of_the_items_of_lists_that_are_searched() {
    let names = |number: &str| {
        deny(
            &format!("request.object.spec.containers[?length(command || `[]`) > `{number}`].name"),
            "AnyIn",
            "[a]",
        )
    };
    not_proved(&names("2"), &names("3"));
    let images = |lists: &str| deny(&format!("request.object.spec.[{lists}][].image"), "AnyIn", "[q]");
    not_proved(&images("containers, initContainers"), &images("containers"));
}

#[test]
fn numbers_ranges_and_texts_that_no_constant_names() {
    let labels = deny(
        "request.object.metadata.labels.a || ''",
        "GreaterThan",
        "\"{{ request.object.metadata.labels.b || '' }}\"",
    );
    not_proved(&labels, &deny("request.object.kind", "Equals", "none"));
    let replicas = |range: &str| deny("request.object.spec.priority || `0`", "AnyIn", range);
    not_proved(&replicas("'5-7'"), &replicas("'6-7'"));
    not_proved(&cel("-object.spec.?priority.orValue(0) != -5"), &cel("true"));
    let names = |text: &str| deny("to_string(request.object.spec.containers[].name)", "Equals", text);
    not_proved(&names("'[\"a\",\"b\",\"c\"]'"), &names("'[\"a\",\"b\",\"d\"]'"));
    not_proved(
        &deny("request.operation", "AnyIn", "\"{{ request.object.spec.containers[].args[] || `[]` }}\""),
        &deny("request.object.kind", "Equals", "none"),
    );
}

#[test]
fn a_sum_with_a_text_that_a_condition_chooses_is_a_text_that_is_built() {
    // Only the label `yy` makes the first text, and no constant is `yy`.
    let label = "object.metadata.?labels.a.hasValue() ? object.metadata.labels.a : 'q'";
    let sum = |text: &str| format!("({label}) + 'x' != '{text}'");
    not_proved(&cel(&sum("yyx")), &cel(&sum("zzx")));
    // Where not every comparison is known, the sum itself is the reason.
    let lengths = "size(object.metadata.name) == size(object.metadata.namespace)";
    let [old, new] = ["yyx", "zzx"].map(|text| cel(&format!("{lengths} || {}", sum(text))));
    not_proved(&old, &new);
    let found = compared(&old, &new);
    assert!(
        matches!(&found.answer, Answer::Tested(why) if why.contains(&"a sum".into())),
        "{:?}",
        found.answer
    );
}

#[test]
fn texts_in_lists_of_patterns_are_classes() {
    let of = |pattern: &str| {
        checking("v1/ConfigMap", &format!("pattern: {{metadata: {{=(finalizers): ['{pattern}']}}}}"))
    };
    let found = compared(&of("a.b/c*"), &of("a.b/cd*"));
    assert!(matches!(found.answer, Answer::Differs), "{:?} {:?}", found.answer, found.reasons);
    let object = &found.differences.first().unwrap().object;
    let finalizers = object.at(&["metadata", "finalizers"]).and_then(Value::as_list).unwrap();
    let is_between = |text: &str| text.starts_with("a.b/c") && !text.starts_with("a.b/cd");
    assert!(finalizers.iter().filter_map(Value::as_str).any(is_between), "{object:?}");
    assert!(compared(&of("a.b/c*"), &of("a.b/c*")).answer.is_proved());
}
