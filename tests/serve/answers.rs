//! What is answered to reviews.

use serde_json::{Value, json};

use crate::server::{Server, post, refusing, review, start};

const MIXED: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: add-team}
spec:
  rules:
  - name: add
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(team): red}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: names}
spec:
  background: false
  rules:
  - name: prefix
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Audit
      message: "{{ request.userInfo.username }} should prefix {{ request.object.metadata.name }}"
      pattern: {metadata: {name: "app-*"}}
  emitWarning: true
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: few-containers}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}
  validations: [{expression: "size(object.spec.containers) < 2", message: only one container}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: not-bob}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "request.userInfo.username != 'bob'", message: not you, reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: not-bob}
spec: {policyName: not-bob, validationActions: [Deny]}
"#;

fn server() -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    std::fs::write(dir.path().join("b.yaml"), MIXED).unwrap();
    let server = start(dir.path(), &[]);
    (dir, server)
}

fn patch(response: &Value) -> Value {
    use base64::Engine;
    let encoded = response["patch"].as_str().unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(encoded).unwrap()).unwrap()
}

#[test]
fn a_denial_has_the_text_of_kyverno() {
    let (_dir, server) = server();
    let response = post(&server, "/validate/fail?timeout=10s", &review("u1", "nginx:latest"));
    assert_eq!(response["uid"], "u1");
    assert_eq!(response["allowed"], false);
    assert_eq!(
        response["status"]["message"],
        "\n\nresource Pod/shop/cart was blocked due to the following policies \n\nno-latest:\n  tag: 'validation error: the tag is refused. rule tag failed at path /spec/containers/0/image/'\n"
    );
    assert_eq!(response["warnings"], Value::Null);
}

#[test]
fn what_passes_passes_with_warnings_of_policies_that_warn() {
    let (_dir, server) = server();
    let response = post(&server, "/validate", &review("u2", "nginx:1.27"));
    assert_eq!(response["allowed"], true);
    assert_eq!(
        response["warnings"],
        json!([
            "policy names.prefix: validation error: anna should prefix cart. rule prefix failed at path /metadata/name/"
        ])
    );
}

#[test]
fn changes_come_as_a_patch_and_only_when_there_are_any() {
    let (_dir, server) = server();
    let response = post(&server, "/mutate", &review("u3", "nginx:1.27"));
    assert_eq!(response["patchType"], "JSONPatch");
    assert_eq!(
        patch(&response),
        json!([{"op": "add", "path": "/metadata/labels", "value": {"team": "red"}}])
    );
    let mut labelled = review("u4", "nginx:1.27");
    labelled["request"]["object"]["metadata"]["labels"] = json!({"team": "blue"});
    let response = post(&server, "/mutate", &labelled);
    assert_eq!(response, json!({"uid": "u4", "allowed": true}));
}

#[test]
fn policies_of_all_kinds_decide_in_one_call() {
    let (_dir, server) = server();
    let mut two = review("u5", "nginx:1.27");
    two["request"]["object"]["spec"]["containers"] = json!([{"name": "a"}, {"name": "b"}]);
    let response = post(&server, "/validate", &two);
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.contains("no-latest"), "{message}");
    assert!(message.ends_with("Policy few-containers failed: only one container"), "{message}");
    let mut bob = review("u6", "nginx:1.27");
    bob["request"]["userInfo"]["username"] = json!("bob");
    let status = post(&server, "/validate", &bob)["status"].clone();
    assert_eq!((&status["code"], &status["reason"]), (&json!(403), &json!("Forbidden")));
    assert_eq!(
        status["message"],
        "ValidatingAdmissionPolicy 'not-bob' with binding 'not-bob' denied request: not you"
    );
    // A path of one kind evaluates that kind alone.
    assert_eq!(post(&server, "/vpol/few-containers", &review("u7", "nginx:latest"))["allowed"], true);
    assert_eq!(post(&server, "/vpol/few-containers", &two)["allowed"], false);
    assert_eq!(post(&server, "/vpol/another", &two)["allowed"], false, "it is not known");
}

#[test]
fn both_versions_of_reviews_are_answered_in_their_own() {
    let (_dir, server) = server();
    let mut old = review("u8", "nginx:latest");
    old["apiVersion"] = json!("admission.k8s.io/v1beta1");
    let reply = crate::server::Client::new(&server.reviews).review("/validate", &old).unwrap();
    let answer: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1beta1");
    assert_eq!(answer["response"]["allowed"], false);
}
