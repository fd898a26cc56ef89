//! What is tested at each field: constants reach the fields that they are compared with, all of
//! them.

use ephor_compare::{Answer, Universe};
use ephor_value::print::json;

use super::compared;

/// A policy of ConfigMaps that are created, with conditions on which it denies.
fn denying(conditions: &str) -> String {
    super::denying("ConfigMap", conditions)
}

fn condition(key: &str, operator: &str, value: &str) -> String {
    format!("{{key: \"{key}\", operator: {operator}, value: {value}}}")
}

/// A policy of the same objects in CEL.
fn requiring(expression: &str) -> String {
    super::requiring("configmaps", expression)
}

fn data(key: &str) -> String {
    format!("{{{{ request.object.data.{key} || '' }}}}")
}

#[track_caller]
fn is_proved(old: &str, new: &str) {
    let found = compared(old, new);
    let objects: Vec<String> = found.differences.iter().map(|d| json(&d.object)).collect();
    assert_eq!(found.answer, Answer::Proved, "{objects:?}");
}

/// The objects on which two policies differ.
#[track_caller]
fn differing(old: &str, new: &str) -> Vec<String> {
    let found = compared(old, new);
    assert_eq!(found.answer, Answer::Differs);
    found.differences.iter().map(|d| json(&d.object)).collect()
}

#[track_caller]
fn differ_in_clusters(old: &str, new: &str) {
    let found = compared(old, new);
    assert_eq!(found.answer, Answer::Differs, "{old} {new}");
    assert!(found.differences.iter().any(|one| one.universe == Universe::Cluster), "{old} {new}");
}

#[test]
fn an_operator_that_looks_into_a_list_takes_a_value_for_a_pattern() {
    let old = denying(&condition(&data("a"), "AnyIn", "[update, patch]"));
    let found = differing(&old, &requiring("!(object.?data.?a.orValue('') in ['update', 'patch'])"));
    assert!(found.iter().any(|object| object.contains(r#""a":"*""#)), "{found:?}");
    is_proved(&old, &requiring("!(object.?data.?a.orValue('') in ['update', 'patch', '*'])"));
}

#[test]
fn equality_takes_the_side_of_the_value_for_a_pattern() {
    let old = denying(&condition("update", "Equals", &format!("\"{}\"", data("a"))));
    let found = differing(&old, &requiring("object.?data.?a.orValue('') != 'update'"));
    assert!(found.iter().any(|object| object.contains(r#""a":"*""#)), "{found:?}");
    let old = denying(&condition(&data("a"), "Equals", "update"));
    is_proved(&old, &requiring("object.?data.?a.orValue('') != 'update'"));
}

#[test]
fn the_name_and_namespace_of_the_request_are_those_of_the_object() {
    let nothing = requiring("true");
    let of_name = denying(&condition("{{ request.name }}", "Equals", "special"));
    let found = differing(&of_name, &nothing);
    assert!(found.iter().any(|object| object.contains(r#""name":"special""#)), "{found:?}");
    let of_namespace = denying(&condition("{{ request.namespace }}", "Equals", "special"));
    let found = differing(&of_namespace, &nothing);
    assert!(found.iter().any(|object| object.contains(r#""namespace":"special""#)), "{found:?}");
}

#[test]
fn what_exceptions_test_is_tried() {
    let policy = denying(&condition(&data("a"), "Equals", "x"));
    let exception = "---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: default}
spec:
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  conditions: {any: [{key: \"{{ request.object.data.b || '' }}\", operator: Equals, value: allowed}]}
  exceptions: [{policyName: p, ruleNames: [r]}]
";
    let found = differing(&policy, &format!("{policy}{exception}"));
    assert!(found.iter().any(|object| object.contains(r#""b":"allowed""#)), "{found:?}");
}

#[test]
fn fields_that_are_compared_with_each_other_are_tried_with_equal_and_other_values() {
    let same = "object.?data.?a.orValue('') == object.?data.?b.orValue('')";
    is_proved(&requiring(same), &requiring(&format!("!({same}) ? false : true")));
    differing(&requiring(same), &requiring(&format!("{same} || object.?data.?a.orValue('') == 'x'")));
}

#[test]
fn constants_of_one_field_do_not_multiply_the_values_of_another() {
    let of = |key: &str| {
        let texts: Vec<String> = (0..12).map(|n| format!("'{key}-{n}*'")).collect();
        condition(&data(key), "AnyIn", &format!("[{}]", texts.join(", ")))
    };
    let rule = |first: &str, second: &str| {
        let all = format!("{}, {}", of(first), of(second));
        denying(&condition(&data("c"), "Equals", "x"))
            .replace("conditions: {any:", "conditions: {all:")
            .replace(&condition(&data("c"), "Equals", "x"), &all)
    };
    let found = compared(&rule("a", "b"), &rule("b", "a"));
    assert_eq!(found.answer, Answer::Proved);
    assert!(found.objects < 2_000, "{}", found.objects);
}

#[test]
fn without_a_schema_a_proof_is_relative_to_the_types_that_rules_look_for() {
    let pattern = |value: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [example.io/v1/Widget], operations: [CREATE]}}}}]}}\n    validate: {{message: m, pattern: {{spec: {{size: '{value}'}}}}}}\n"
        )
    };
    let found = compared(&pattern("a | b"), &pattern("b | a"));
    assert_eq!(found.answer, Answer::ProvedRelative(vec!["the types of fields of Widget".into()]));
    assert_eq!(compared(&pattern("a | b"), &pattern("a | c")).answer, Answer::Differs);
}

#[test]
fn an_object_that_is_there_and_not_empty_is_tried() {
    let denying = |field: &str, operation: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod], operations: [{operation}]}}}}]}}\n    validate: {{message: m, pattern: {{spec: {{X({field}): 'null'}}}}}}\n"
        )
    };
    for field in ["nodeSelector", "securityContext"] {
        let found = compared(&denying(field, "CREATE"), &denying(field, "UPDATE"));
        let of_creation = found.differences.iter().find(|one| one.environment.operation == "CREATE");
        assert!(of_creation.is_some_and(|one| one.universe == Universe::Cluster), "{field}");
    }
}

#[test]
fn values_and_names_of_objects_without_a_schema_are_tried() {
    let deny = |key: &str, value: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [example.io/v1/Widget], operations: [CREATE]}}}}]}}\n    validate: {{message: m, deny: {{conditions: {{any: [{{key: \"{{{{ {key} }}}}\", operator: AnyIn, value: [{value}]}}]}}}}}}\n"
        )
    };
    for key in ["request.object.spec.map || `{}` | values(@)", "keys(request.object.spec)"] {
        assert_eq!(compared(&deny(key, "x"), &deny(key, "y")).answer, Answer::Differs, "{key}");
    }
}

#[test]
fn values_that_are_the_text_of_a_list_are_tried_where_operators_look_into_lists() {
    let old = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [ConfigMap], operations: [CREATE]}}]}\n    validate:\n      message: m\n      deny: {conditions: {any: [{key: x, operator: AnyIn, value: \"{{ request.object.metadata.annotations.a || '' }}\"}]}}\n";
    let new = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n  validationActions: [Audit]\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  validations:\n  - expression: \"!(object.metadata.?annotations[?'a'].orValue('') in ['x', '*'])\"\n";
    let found = compared(old, new);
    assert_eq!(found.answer, Answer::Differs, "{:?}", found.reasons);
    assert!(json(&found.differences[0].object).contains(r#"[\"x\"]"#), "{:?}", found.differences[0].object);
}

#[test]
fn the_name_of_a_namespace_is_followed_to_the_object_in_it() {
    for name in [
        "namespaceObject.metadata.name",
        "request.namespace",
        "object.metadata.namespace",
        "namespaceObject.metadata.labels['kubernetes.io/metadata.name']",
        "namespaceObject.metadata.?labels[?'kubernetes.io/metadata.name'].orValue('')",
    ] {
        let other_than = |value: &str| requiring(&format!("{name} != '{value}'"));
        differ_in_clusters(&other_than("default"), &requiring("false"));
        differ_in_clusters(&requiring("true"), &other_than("x"));
        differ_in_clusters(&requiring(&format!("!{name}.startsWith('x')")), &other_than("x"));
        is_proved(&other_than("default"), &requiring("request.namespace != 'default'"));
    }
    let any = "namespaceObject.metadata.labels.exists(k, namespaceObject.metadata.labels[k] == 'x')";
    differ_in_clusters(&requiring("true"), &requiring(&format!("!{any}")));
}

#[test]
fn what_denies_everything_differs_from_several_conditions_together() {
    let has = |label: &str| format!("object.metadata.?labels.?{label}.orValue('') != ''");
    let all: Vec<String> = ["a", "b", "c", "d"].map(has).into();
    differ_in_clusters(&requiring(&all.join(" && ")), &requiring("false"));
}

#[test]
fn below_a_part_that_may_be_absent_both_ways_of_reading_are_one() {
    const PART: &str = "object.spec.template.metadata";
    let of = |base: &str, rest: &str| super::requiring("deployments", &format!("{base}{rest}"));
    let either = |other: &str| format!("(has({PART}) ? {PART} : {other})");
    for rest in [
        ".?labels.?a.orValue('') != ''",
        ".?annotations.orValue({}).exists(key, key.contains('a') && key != 'ab')",
    ] {
        let found = compared(&of(&either("{}"), rest), &of("object.spec.template.?metadata", rest));
        assert_eq!((found.answer, found.objects), (Answer::Proved, 0), "{rest}");
        // Another object in its place is something else.
        let found =
            compared(&of(&either("object.metadata"), rest), &of("object.spec.template.?metadata", rest));
        assert_ne!(found.objects, 0, "{rest}");
    }
}
