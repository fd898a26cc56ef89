//! The library as a program that embeds it sees it.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use ephor::{Action, Engine, Error, Operation, PolicySet, Request, Severity, Status, User, Value};

const TEAM: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: need-team
  annotations: {policies.kyverno.io/severity: medium, policies.kyverno.io/category: Labels}
spec:
  background: false
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {failureAction: Enforce, message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
"#;

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    app: x\n";

fn engine(policies: &str) -> Engine {
    Engine::new(PolicySet::from_yaml(policies).unwrap())
}

fn statuses(engine: &Engine, request: Request) -> Vec<(String, Status)> {
    engine.check(request).unwrap().results.into_iter().map(|r| (r.rule, r.status)).collect()
}

#[test]
fn a_violation_has_its_field_with_line_and_what_the_policy_says_of_it() {
    let outcome = engine(TEAM).check(Request::from_yaml(MAP).unwrap()).unwrap();
    let found = outcome.violations().next().unwrap();
    assert_eq!((&*found.policy, &*found.policy_kind, &*found.rule), ("need-team", "ClusterPolicy", "team"));
    assert_eq!((found.severity, found.category.as_deref()), (Some(Severity::Medium), Some("Labels")));
    assert_eq!(found.action, Action::Enforce);
    let field = found.field.as_ref().unwrap();
    // The label is missing: its place is that of the labels.
    assert_eq!((&*field.path, field.line), ("metadata.labels.team", Some(6)));
    assert!(outcome.is_denied());
}

#[test]
fn all_problems_of_a_folder_are_reported_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("a.yaml", TEAM);
    write("b.yaml", "a: [");
    write("c.yaml", &TEAM.replace("pattern", "patern"));
    write("other.yaml", MAP);
    let problems = PolicySet::from_path(folder.path()).unwrap_err();
    let found: Vec<(String, bool)> = problems
        .iter()
        .map(|p| (p.file.rsplit('/').next().unwrap().to_string(), p.line > 0 && !p.message.is_empty()))
        .collect();
    assert_eq!(found, [("b.yaml".to_string(), true), ("c.yaml".to_string(), true)], "{problems}");
    assert!(PolicySet::from_path(folder.path().join("none.yaml")).is_err());
    let set = PolicySet::from_path(folder.path().join("a.yaml")).unwrap();
    let policy = set.policies().next().unwrap();
    assert_eq!((policy.kind, policy.name, policy.line, policy.rules), ("ClusterPolicy", "need-team", 1, 1));
}

#[test]
fn a_request_has_user_operation_old_object_and_namespace() {
    let policy = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  background: false
  rules:
  - name: by-user
    match: {any: [{resources: {kinds: [ConfigMap]}, subjects: [{kind: Group, name: dev}]}]}
    validate: {message: "no", deny: {}}
  - name: by-role
    match: {any: [{resources: {kinds: [ConfigMap]}, clusterRoles: [view]}]}
    validate: {message: "no", deny: {}}
  - name: by-namespace
    match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {env: prod}}}}]}
    validate: {message: "no", deny: {}}
  - name: by-operation
    match: {any: [{resources: {kinds: [ConfigMap], operations: [UPDATE]}}]}
    validate:
      message: "no"
      deny: {conditions: {any: [{key: "{{ request.oldObject.data.a }}", operator: Equals, value: old}]}}
"#;
    let engine = engine(policy);
    let object = |data: &str| -> Value {
        serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop"}, "data": {"a": data}})
            .into()
    };
    let request = Request::new(object("new"))
        .operation(Operation::Update)
        .old_object(object("old"))
        .user(User::named("eve").in_group("dev").with_cluster_role("view"))
        .namespace_labels([("env", "prod")]);
    let all = ["by-user", "by-role", "by-namespace", "by-operation"].map(|r| (r.to_string(), Status::Fail));
    assert_eq!(statuses(&engine, request), all);
    let plain = Request::new(object("new")).user(User::named("bob")).namespace_labels([("env", "test")]);
    assert_eq!(statuses(&engine, plain), []);
}

#[test]
fn policies_of_every_kind_are_evaluated_together() {
    let policies = format!(
        "{TEAM}---\n{}---\n{}---\n{}",
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: vpol}\nspec:\n  validationActions: [Audit]\n  \
         matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  \
         validations: [{expression: \"object.metadata.labels.app != 'x'\", message: not x}]\n",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: vap}\nspec:\n  \
         matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}\n  \
         validations: [{expression: \"has(object.data)\", message: no data}]\n",
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\nspec: {policyName: vap, validationActions: [Deny]}\n"
    );
    let outcome = engine(&policies).check(Request::from_yaml(MAP).unwrap()).unwrap();
    let mut kinds: Vec<(&str, Status)> =
        outcome.results.iter().map(|r| (&*r.policy_kind, r.status)).collect();
    kinds.sort_unstable();
    let all = ["ClusterPolicy", "ValidatingAdmissionPolicy", "ValidatingPolicy"];
    assert_eq!(kinds, all.map(|kind| (kind, Status::Fail)));
    let by_kind = |kind: &str| outcome.results.iter().find(|r| r.policy_kind == kind).unwrap();
    assert_eq!(by_kind("ValidatingPolicy").field.as_ref().unwrap().path, "metadata.labels.app");
    assert_eq!(by_kind("ValidatingPolicy").action, Action::Audit);
}

#[test]
fn mutate_rules_give_the_changed_object() {
    let policy = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: a}}}}
"#;
    let outcome = engine(policy).check(Request::from_yaml(MAP).unwrap()).unwrap();
    let object = serde_json::Value::from(outcome.object.as_ref().unwrap());
    assert_eq!(object["metadata"]["labels"], serde_json::json!({"app": "x", "team": "a"}));
}

fn review(data: &str) -> String {
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"7","operation":"CREATE","name":"a","namespace":"shop",
        "kind":{{"group":"","version":"v1","kind":"ConfigMap"}},"resource":{{"group":"","version":"v1","resource":"configmaps"}},
        "userInfo":{{"username":"eve"}},"object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","namespace":"shop"}},"data":{data}}}}}}}"#
    )
}

#[test]
fn a_review_is_answered_with_a_review() {
    let engine = engine(TEAM);
    let answer: serde_json::Value = serde_json::from_str(&engine.review(&review("{}")).unwrap()).unwrap();
    assert_eq!(answer["response"]["uid"], "7");
    assert_eq!(answer["response"]["allowed"], false);
    let Error::Review { status, .. } = engine.review("{").unwrap_err() else { panic!("another error") };
    assert_eq!(status, 417);
}

#[test]
fn a_review_that_takes_too_long_is_denied() {
    let engine = engine(TEAM).with_time_limit(Duration::ZERO);
    let answer: serde_json::Value = serde_json::from_str(&engine.review(&review("{}")).unwrap()).unwrap();
    assert_eq!(answer["response"]["allowed"], false, "{answer}");
}

#[test]
fn what_is_no_object_is_an_error_with_its_place() {
    let error = Request::all_of("x.yaml", "kind: A\n---\n[").unwrap_err().to_string();
    assert!(error.starts_with("x.yaml:"), "{error}");
    assert!(Request::from_yaml(&format!("{MAP}---\n{MAP}")).is_err());
}

#[test]
fn exceptions_of_every_version_are_read_next_to_their_policies() {
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let policies = format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}}]}}\n  validations: [{{expression: 'false', message: never}}]\n---\n\
             apiVersion: policies.kyverno.io/{version}\nkind: PolicyException\nmetadata: {{name: e, namespace: a}}\nspec: {{policyRefs: [{{name: p, kind: ValidatingPolicy}}]}}\n"
        );
        let found = statuses(&engine(&policies), Request::from_yaml(MAP).unwrap());
        assert_eq!(
            found.into_iter().map(|(_, status)| status).collect::<Vec<_>>(),
            [Status::Skip],
            "{version}"
        );
    }
}
