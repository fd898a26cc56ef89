use crate::fixture::{CEL_POLICY, POD, POLICY, fixture, with};

fn offered(text: &str) -> Vec<String> {
    fixture(&[("p.yaml", text)]).labels()
}

/// Whether all of some labels are offered, and what is.
fn has(text: &str, wanted: &[&str]) {
    let labels = offered(text);
    for label in wanted {
        assert!(labels.iter().any(|l| l == label), "{label} of {labels:?}");
    }
}

#[test]
fn keys_are_those_of_the_schema_that_are_not_there_yet() {
    let text = with(POLICY, "    validate:\n", "    ‖\n    validate:\n");
    has(&text, &["preconditions", "mutate", "exclude"]);
    let labels = offered(&text);
    assert!(!labels.iter().any(|l| l == "match" || l == "validate"), "{labels:?}");
    let typed = with(POLICY, "      failureAction: Enforce\n", "      fail‖\n");
    assert!(offered(&typed).contains(&"failureAction".to_string()));
}

#[test]
fn fields_of_patterns_are_those_of_the_kinds_of_the_rule() {
    has(
        &with(POLICY, "          containers:\n", "          con‖\n          containers:\n"),
        &["hostNetwork"],
    );
    has(
        &with(POLICY, "          - image: \"!*:latest\"\n", "          - image: x\n            ‖\n"),
        &["imagePullPolicy", "securityContext"],
    );
}

#[test]
fn values_are_those_that_the_schema_lists() {
    assert_eq!(offered(&with(POLICY, "failureAction: Enforce", "failureAction: ‖")), ["Audit", "Enforce"]);
    has(&with(POLICY, "kinds: [Pod]", "kinds: [Po‖]"), &["Pod", "PodTemplate"]);
    has(&with(POLICY, "kinds: [Pod]", "kinds:\n          - Depl‖"), &["Deployment"]);
    has("apiVersion: kyverno.io/v1\nkind: Cluster‖", &["ClusterPolicy", "ClusterCleanupPolicy"]);
    has("kind: Deployment\napiVersion: ‖", &["apps/v1"]);
    let condition = "    preconditions:\n      all:\n      - key: x\n        operator: ‖\n    validate:\n";
    has(&with(POLICY, "    validate:\n", condition), &["AnyIn", "GreaterThan"]);
}

#[test]
fn variables_have_the_fields_of_the_request() {
    let message = |typed: &str| with(POLICY, "\"{{ tags.data.x }} pin\"", typed);
    has(&message("\"{{ request.‖\""), &["object", "operation", "userInfo"]);
    has(&message("\"{{ request.object.spec.cont‖ }}\""), &["containers"]);
    has(&message("\"{{ ta‖ }}\""), &["tags"]);
    has(&message("\"{{ to_u‖"), &["to_upper"]);
    assert!(offered(&message("\"a }} reque‖\"")).is_empty());
}

#[test]
fn expressions_have_the_fields_of_the_objects_and_the_variables_of_the_policy() {
    let typed = |expression: &str| with(CEL_POLICY, "variables.count > 1", expression);
    has(&typed("object.spec.repl‖"), &["replicas"]);
    has(&typed("variables.‖"), &["count"]);
    has(&typed("has(object.spec.template.spec.con‖"), &["containers"]);
    has(&typed("object.spec.template.spec.containers.all(c, c.ima‖"), &["image", "imagePullPolicy"]);
    has(&typed(">-\n      object.metadata.name.starts‖"), &["startsWith"]);
    has(&typed("obj‖"), &["object"]);
    let item = fixture(&[("p.yaml", &typed("'a'.startsW‖"))]).completed().remove(0);
    assert_eq!(item.insert, "startsWith(");
    assert!(item.detail.is_some_and(|detail| detail.contains("string.startsWith(string) bool")));
}

#[test]
fn manifests_have_the_fields_of_their_kind() {
    has(&with(POD, "    image: nginx:latest\n", "    ‖\n"), &["image", "resources"]);
    has(&with(POD, "spec:\n", "spec:\n  hostNetwork: ‖\n"), &["true", "false"]);
}

#[test]
fn tests_name_policies_rules_and_files() {
    let test = |typed: &str| {
        let text = format!("apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {{name: t}}\n{typed}");
        fixture(&[("a/kyverno-test.yaml", &text), ("a/p.yaml", POLICY), ("pod.yaml", POD)]).labels()
    };
    assert_eq!(test("policies:\n- ‖"), ["p.yaml"]);
    assert_eq!(test("policies: [p.yaml]\nresources: [‖"), ["../pod.yaml"]);
    assert_eq!(test("results:\n- policy: ‖"), ["no-latest"]);
    assert_eq!(test("results:\n- policy: no-latest\n  rule: ‖"), ["tag"]);
    assert_eq!(test("results:\n- result: ‖"), ["pass", "fail", "warn", "error", "skip"]);
}

#[test]
fn every_byte_of_a_policy_can_be_completed() {
    for text in [POLICY, CEL_POLICY, POD] {
        let mut fixture = fixture(&[("p.yaml", text)]);
        for offset in 0..=text.len() {
            fixture.offset = offset;
            fixture.completed();
            fixture.workspace.hover("p.yaml", offset);
            fixture.workspace.definitions("p.yaml", offset);
        }
    }
}
