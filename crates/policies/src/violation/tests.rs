//! Violations of small policies, with the path of what decided.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::policy_set::PolicySet;
use ephor_engine::Profile;
use ephor_engine::request::Parts;
use ephor_value::place::dotted;

const POD: &str =
    "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {team: x}}, spec: {hostNetwork: true,
    containers: [{name: a, image: 'a:1'}, {name: b, image: 'b:latest'}]}}";

fn found(policy: &str) -> Vec<String> {
    let profile = Profile::cluster();
    let engine = Engine::new(PolicySet::from_yaml(policy).unwrap()).with_profile(profile);
    let object = ephor_document::yaml_value(POD).unwrap();
    let parts = Parts { object, ..Parts::default() };
    let request = Request::new(parts, profile, engine.functions()).unwrap();
    let found = violations(&engine, 0, &request);
    let text = |path: &Option<Path>| path.as_ref().map(|path| dotted(path)).unwrap_or_default();
    found.iter().map(|v| format!("{}: {} ({})", v.rule, text(&v.field), text(&v.decision))).collect()
}

fn classic(body: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    \
         match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {body}\n"
    )
}

#[test]
fn a_pattern_names_the_field_that_differs() {
    let policy = classic("{message: m, pattern: {spec: {containers: [{image: '!*:latest'}]}}}");
    assert_eq!(
        found(&policy),
        ["r: spec.containers[1].image (spec.rules[0].validate.pattern.spec.containers[1].image)"]
    );
}

#[test]
fn a_missing_field_has_the_path_at_which_it_is_missing() {
    let policy = classic("{message: m, pattern: {metadata: {labels: {owner: '?*'}}}}");
    assert_eq!(
        found(&policy),
        ["r: metadata.labels.owner (spec.rules[0].validate.pattern.metadata.labels.owner)"]
    );
}

#[test]
fn a_pattern_of_a_loop_names_the_field_of_its_element() {
    let of = |check: &str| {
        found(&classic(&format!(
            "{{message: m, foreach: [{{list: request.object.spec.containers, {check}}}]}}"
        )))
    };
    assert_eq!(
        of("pattern: {image: '!*:latest'}"),
        ["r: spec.containers[1].image (spec.rules[0].validate.foreach[0].pattern.image)"]
    );
    assert_eq!(
        of("anyPattern: [{image: '!*:latest'}, {name: 'x'}]"),
        ["r: spec.containers[1].name (spec.rules[0].validate.foreach[0].anyPattern[1].name)"]
    );
    assert_eq!(
        of("pattern: {resources: {limits: {memory: '?*'}}}"),
        ["r: spec.containers[0].resources (spec.rules[0].validate.foreach[0].pattern.resources)"]
    );
}

#[test]
fn an_expression_on_a_computed_list_names_the_part_that_its_item_came_from() {
    let policy = classic(
        "{cel: {variables: [{name: imgs, expression: 'object.spec.containers.map(c, c.image)'}], expressions: [{expression: \"variables.imgs.all(i, !i.endsWith(':latest'))\", message: m}]}}",
    );
    assert_eq!(
        found(&policy),
        ["r: spec.containers[1].image (spec.rules[0].validate.cel.expressions[0].expression)"]
    );
}

#[test]
fn an_expression_without_its_field_names_the_part_around_it() {
    let policy = classic("{cel: {expressions: [{expression: 'object.spec.hostPID == false', message: m}]}}");
    assert_eq!(found(&policy), ["r: spec.hostPID (spec.rules[0].validate.cel.expressions[0].expression)"]);
}

#[test]
fn a_deny_condition_names_the_field_of_its_key() {
    let policy = classic(
        "{message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.hostNetwork }}', operator: Equals, value: true}]}}}",
    );
    assert_eq!(found(&policy), ["r: spec.hostNetwork (spec.rules[0].validate.deny.conditions.any[0])"]);
}

#[test]
fn a_condition_on_what_is_computed_of_an_element_names_the_part_that_was_read() {
    let policy = classic(
        "{message: m, foreach: [{list: \"request.object.spec.containers[?image]\", deny: {conditions: {any: [{key: \"{{ length(element.image) }}\", operator: GreaterThan, value: 5}]}}}]}",
    );
    assert_eq!(
        found(&policy),
        ["r: spec.containers[1].image (spec.rules[0].validate.foreach[0].deny.conditions.any[0])"]
    );
}

fn denied(condition: &str) -> Vec<String> {
    let found = found(&classic(&format!("{{message: m, deny: {{conditions: {{any: [{condition}]}}}}}}")));
    found.iter().map(|line| line.split(" (").next().unwrap_or_default().to_string()).collect()
}

#[test]
fn a_condition_on_the_keys_of_a_map_names_the_key_that_decides() {
    let keys = "'{{ request.object.metadata.labels.keys(@) }}'";
    let denied = |condition: &str| denied(&condition.replace("KEYS", keys));
    assert_eq!(denied("{key: KEYS, operator: AnyNotIn, value: [owner]}"), ["r: metadata.labels.team"]);
    assert_eq!(denied("{key: team, operator: AnyIn, value: KEYS}"), ["r: metadata.labels.team"]);
    // A key that is missing has no place: that of the map.
    assert_eq!(denied("{key: owner, operator: AnyNotIn, value: KEYS}"), ["r: metadata.labels"]);
    assert_eq!(denied("{key: KEYS, operator: AllNotIn, value: [owner]}"), ["r: metadata.labels"]);
}

#[test]
fn an_expression_on_the_keys_of_a_map_names_the_key_that_decides() {
    let policy = classic(
        "{cel: {expressions: [{expression: \"object.metadata.?labels.orValue({}).all(k, k != 'team')\", message: m}]}}",
    );
    assert_eq!(
        found(&policy),
        ["r: metadata.labels.team (spec.rules[0].validate.cel.expressions[0].expression)"]
    );
}

#[test]
fn a_condition_on_a_computed_list_names_the_part_that_its_item_came_from() {
    let images = "request.object.spec.containers[].image";
    let of = |expression: &str, rest: &str| {
        denied(&format!("{{key: \"{{{{ {expression} }}}}\", operator: {rest}}}"))
    };
    let latest = ["r: spec.containers[1].image"];
    assert_eq!(of(&format!("contains({images}, 'b:latest')"), "Equals, value: true"), latest);
    assert_eq!(of(&format!("{images} | contains(@, 'b:latest')"), "Equals, value: true"), latest);
    assert_eq!(of(&format!("{images}.ends_with(@, ':latest')"), "AnyIn, value: [true]"), latest);
    let of_value =
        format!("{{key: [true], operator: AnyIn, value: \"{{{{ {images}.regex_match('latest$', @) }}}}\"}}");
    assert_eq!(denied(&of_value), latest);
}

#[test]
fn of_two_items_the_one_with_the_wrong_value_is_named_and_not_the_one_without_a_value() {
    let policy = classic(
        "{cel: {expressions: [{expression: \"object.spec.containers.all(c, c.name != 'b') || object.spec.containers.all(c, c.?tty.orValue(false))\", message: m}]}}",
    );
    assert_eq!(
        found(&policy),
        ["r: spec.containers[1].name (spec.rules[0].validate.cel.expressions[0].expression)"]
    );
}

#[test]
fn a_precondition_is_never_what_decided() {
    let policy = classic(
        "{message: m, deny: {conditions: {any: [{key: \"{{ length(request.object.spec.containers) }}\", operator: Equals, value: 2}]}}}",
    );
    let policy = policy.replace(
        "validate:",
        "preconditions: {all: [{key: '{{ request.object.spec.hostNetwork }}', operator: Equals, value: true}]}\n    validate:",
    );
    assert_eq!(found(&policy), ["r: spec.containers (spec.rules[0].validate.deny.conditions.any[0])"]);
}

#[test]
fn the_first_validation_of_a_native_policy_that_is_false_decides() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: native}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations:
  - expression: object.metadata.name == 'a'
  - expression: object.spec.containers.all(c, !c.image.endsWith(':latest'))
  - expression: object.metadata.labels.team == 'y'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: native}
spec: {policyName: native, validationActions: [Deny]}
";
    let expected = ["native: spec.containers[1].image (spec.validations[1].expression)"];
    assert_eq!(found(policy), expected);
    let (unbound, _) = policy.split_once("---").unwrap();
    assert_eq!(found(unbound), expected);
}

#[test]
fn an_expression_names_the_field_that_makes_it_false() {
    let policy = classic(
        "{cel: {expressions: [{expression: \"object.spec.containers.all(c, !c.image.endsWith(':latest'))\", message: m}]}}",
    );
    assert_eq!(
        found(&policy),
        ["r: spec.containers[1].image (spec.rules[0].validate.cel.expressions[0].expression)"]
    );
}

#[test]
fn pod_security_names_the_first_field_that_a_control_refuses() {
    assert_eq!(found(&classic("{podSecurity: {level: baseline}}")), ["r: spec.hostNetwork (spec.rules[0])"]);
}

#[test]
fn a_satisfied_rule_names_no_field() {
    assert!(found(&classic("{message: m, pattern: {metadata: {labels: {team: x}}}}")).is_empty());
}

#[test]
fn an_image_whose_registry_is_not_read_is_named() {
    let policy = "apiVersion: policies.kyverno.io/v1
kind: ImageValidatingPolicy
metadata: {name: images}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validationConfigurations: {verifyDigest: DIGEST, required: false}
  matchImageReferences: [{glob: '*:latest'}]
  attestors: [{name: a, notary: {certs: {value: x}}}]
  validations: [{expression: 'images.containers.size() == 5', message: m}]
";
    for digest in ["false", "true"] {
        let found = found(&policy.replace("DIGEST", digest));
        assert!(found.len() == 1 && found[0].contains(": spec.containers[1].image"), "{digest}: {found:?}");
    }
}
