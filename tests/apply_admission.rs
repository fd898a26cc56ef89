//! Policies of Kubernetes at the command line, byte for byte as the reference runs them.
#![allow(clippy::expect_used)]

use crate::common::Files;

const MIXED: &str = "\
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: MutatingAdmissionPolicy
metadata: {name: add-label}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: {'added': 'yes'}}}\"}
---
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: MutatingAdmissionPolicyBinding
metadata: {name: add-label-b}
spec:
  policyName: add-label
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: kyv}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: label app, pattern: {metadata: {labels: {app: \"?*\"}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: need-team}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps, pods]}
  matchConditions: [{name: c, expression: \"object.metadata.name != 'skipped'\"}]
  validations:
  - {expression: \"'team' in object.metadata.labels\", message: needs a team}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: vp}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations: [{expression: \"size(object.data) > 0\", message: no data}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: limits}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - {expression: \"object.spec.replicas <= double(params.data.most)\", messageExpression: \"'at most ' + params.data.most\"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: limits-b}
spec:
  policyName: limits
  validationActions: [Deny]
  paramRef: {name: lim, namespace: default, parameterNotFoundAction: Deny}
  matchResources:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
";

const RESOURCES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: default, labels: {team: x}}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: two, namespace: prod}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: skipped, namespace: prod, labels: {a: b}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: dep, namespace: default}
spec: {replicas: 5}
---
apiVersion: v1
kind: Namespace
metadata: {name: prod, labels: {env: prod}}
";

const PARAMS: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: lim, namespace: default}
data: {most: \"3\"}
";

#[test]
fn kubernetes_changes_come_after_kyvernos_verdicts_and_its_verdicts_at_the_end() {
    let files = Files::new(&[("p.yaml", MIXED), ("r.yaml", RESOURCES), ("params.yaml", PARAMS)]);
    let ran = files.run(&[
        "apply",
        "p.yaml",
        "-r",
        "r.yaml",
        "--parameter-resource",
        "params.yaml",
        "-t",
        "--detailed-results",
        "--remove-color",
    ]);
    let table: Vec<&str> = ran.out.lines().skip_while(|l| !l.contains("POLICY")).collect();
    assert_eq!(ran.code, Some(1));
    insta::assert_snapshot!(table.join("\n"));
}

#[test]
fn a_policy_without_the_form_of_its_kind_is_left_out_with_the_reason() {
    let policy = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  variables: [{name: a, expression: '1'}]
  validations: [{expression: 'false', message: denied}]
";
    let run = |from: &str, to: &str| {
        let files = Files::new(&[("p.yaml", &policy.replace(from, to)), ("r.yaml", RESOURCES)]);
        let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml"]);
        (ran.out.contains("pass: 0, fail: 5"), ran.err)
    };
    // Without constraints it is about every object.
    assert_eq!(run("a", "a"), (true, String::new()));
    let refused = |from: &str, to: &str, why: &str| {
        let text = format!(
            "warning: p.yaml:1: failed to validate resource (ValidatingAdmissionPolicy {why}) (left out)\n"
        );
        assert_eq!(run(from, to), (false, text));
    };
    refused("validations", "validationz", "\"p\": unknown field \"spec.validationz\"");
    refused(
        "'false'",
        "5",
        "\"p\": json: cannot unmarshal number into Go struct field Validation.spec.validations.expression of type string",
    );
    refused(
        "'1'}",
        "'1'}, {name: a, expression: '2'}",
        "\"p\": spec.variables: duplicate entries for key [name=\"a\"]",
    );
}
