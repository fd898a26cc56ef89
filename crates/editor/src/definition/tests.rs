use crate::cancel::Cancellation;
use crate::fixture::{CEL_POLICY, POLICY, fixture, with};

const TEST: &str = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [p.yaml]
resources: [pod.yaml]
results:
- policy: no-latest
  rule: tag
  resources: [web]
  result: fail
";

const EXCEPTION: &str = "apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: default}
spec:
  exceptions:
  - policyName: no-latest
    ruleNames: [tag]
  match: {any: [{resources: {kinds: [Pod]}}]}
";

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tags, namespace: default}\n";

fn defined(files: &[(&str, &str)]) -> Vec<String> {
    let fixture = fixture(files);
    fixture.shown(&fixture.workspace.definitions(&fixture.file, fixture.offset))
}

fn used(files: &[(&str, &str)]) -> Vec<String> {
    let fixture = fixture(files);
    let token = Cancellation::default();
    let found = fixture.workspace.references(&fixture.file, fixture.offset, false, &token);
    fixture.shown(&found.unwrap())
}

#[test]
fn names_in_tests_and_exceptions_lead_to_policies_and_rules() {
    let policy = ("p.yaml", POLICY);
    let test = |part: &str, by: &str| with(TEST, part, by);
    assert_eq!(defined(&[("t.yaml", &test("policy: no-l", "policy: no-l‖")), policy]), ["p.yaml: no-latest"]);
    assert_eq!(defined(&[("t.yaml", &test("rule: t", "rule: t‖")), policy]), ["p.yaml: tag"]);
    assert_eq!(defined(&[("t.yaml", &test("[p.", "[p‖.")), policy]), ["p.yaml: "]);
    assert_eq!(defined(&[("e.yaml", &with(EXCEPTION, "[tag", "[ta‖g")), policy]), ["p.yaml: tag"]);
    let binding = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec:\n  policyName: v‖\n  validationActions: [Deny]\n";
    let bound = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: v}\nspec: {}\n";
    assert_eq!(defined(&[("b.yaml", binding), ("v.yaml", bound)]), ["v.yaml: v"]);
}

#[test]
fn variables_lead_to_their_entries() {
    let text = with(CEL_POLICY, "variables.count > 1", "variables.cou‖nt > 1");
    assert_eq!(defined(&[("p.yaml", &text)]), ["p.yaml: count"]);
    assert_eq!(used(&[("p.yaml", &with(CEL_POLICY, "- name: count", "- name: cou‖nt"))]), ["p.yaml: count"]);
    let text = with(POLICY, "{{ tags.", "{{ ta‖gs.");
    assert_eq!(defined(&[("p.yaml", &text)]), ["p.yaml: tags"]);
}

#[test]
fn a_config_map_is_in_the_folder() {
    let text = with(POLICY, "{name: tags, ", "{name: t‖ags, ");
    assert_eq!(defined(&[("p.yaml", &text), ("c.yaml", CONFIG)]), ["c.yaml: tags"]);
}

#[test]
fn a_policy_is_used_in_tests_and_exceptions() {
    let text = with(POLICY, "name: no-latest", "name: no-‖latest");
    let files = [("p.yaml", text.as_str()), ("t.yaml", TEST), ("e.yaml", EXCEPTION)];
    assert_eq!(used(&files), ["e.yaml: no-latest", "t.yaml: no-latest"]);
    let text = with(POLICY, "- name: tag\n", "- name: t‖ag\n");
    let files = [("p.yaml", text.as_str()), ("t.yaml", TEST), ("e.yaml", EXCEPTION)];
    assert_eq!(used(&files), ["e.yaml: tag", "t.yaml: tag"]);
}
