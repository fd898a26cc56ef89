//! What the server says where Kyverno's behaviour is not what users of a policy expect.

use serde_json::{Value, json};

use crate::server::{Server, get, post, review, start, until};

const POLICIES: &str = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: patches}
spec:
  rules:
  - name: nothing
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchesJson6902: |-
        [{"op": "replace", "path": "/metadata/annotations/note", "value": "a<b"}]
  - name: label
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchesJson6902: |-
        - {op: add, path: /metadata/labels, value: {team: a}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tags}
spec:
  rules:
  - name: latest
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {spec: {containers: [{image: '!*:latest'}]}}}
---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: one, namespace: shop}
spec:
  match: {any: [{resources: {kinds: [Pod]}}]}
  exceptions: [{policyName: tags, ruleNames: [latest]}]
"#;

/// The lines of the log about a pitfall.
fn lines(server: &Server, pitfall: &str) -> Vec<Value> {
    let log = server.log.lock().unwrap();
    let lines = log.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.map(|line| line["fields"].clone()).filter(|fields| fields["pitfall"] == pitfall).collect()
}

fn counted(server: &Server, policy: &str, rule: &str, pitfall: &str, number: usize) {
    let line = format!(
        "ephor_policy_pitfalls_total{{pitfall=\"{pitfall}\",policy=\"{policy}\",rule=\"{rule}\"}} {number}\n"
    );
    until(&line, || get(server, "/metrics").body, |body| body.contains(&line));
}

fn serving(text: &str) -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), text).unwrap();
    let server = start(dir.path(), &[]);
    (dir, server)
}

#[test]
fn a_patch_without_effect_is_counted_for_each_review_and_logged_once() {
    let (_dir, server) = serving(POLICIES);
    for uid in ["u", "v", "w"] {
        let mut sent = review(uid, "nginx:1");
        // Kyverno compares what is written: with the character in another form it counts as
        // changed.
        sent["request"]["object"]["metadata"]["annotations"] = json!({"note": "a<b"});
        assert_eq!(post(&server, "/mutate", &sent)["allowed"], true);
    }
    counted(&server, "patches", "nothing", "ineffective_patch", 3);
    let lines = until("a line", || lines(&server, "ineffective_patch"), |lines| !lines.is_empty());
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&line["policy"], &line["rule"]), (&json!("patches"), &json!("nothing")));
    let text = line["text"].as_str().unwrap();
    assert_eq!(text, "policy patches, rule nothing: the JSON patch changed nothing in Pod shop/cart");
    assert!(!get(&server, "/metrics").body.contains("rule=\"label\",pitfall"));
}

#[test]
fn items_that_a_merge_removes_are_named() {
    let merge = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: merges}
spec:
  rules:
  - name: pull
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchStrategicMerge:
        spec:
          containers:
          - {(name): a, imagePullPolicy: Always}
          - {(name): b, imagePullPolicy: Always}
"#;
    let (_dir, server) = serving(merge);
    let mut sent = review("u", "nginx:1");
    let names = ["a", "third"];
    sent["request"]["object"]["spec"]["containers"] =
        names.iter().map(|name| json!({"name": name, "image": "nginx:1"})).collect();
    assert_eq!(post(&server, "/mutate", &sent)["allowed"], true);
    counted(&server, "merges", "pull", "removed_items", 1);
    let lines = until("a line", || lines(&server, "removed_items"), |lines| !lines.is_empty());
    let text = lines[0]["text"].as_str().unwrap();
    assert!(text.contains("third from spec.containers of Pod shop/cart"), "{text}");
    assert!(text.contains("kyverno#16862"), "{text}");
}

#[test]
fn an_exception_that_leaves_variants_out_is_known_when_policies_are_loaded() {
    let (_dir, server) = serving(POLICIES);
    counted(&server, "tags", "latest", "uncovered_variants", 1);
    let lines = until("a line", || lines(&server, "uncovered_variants"), |lines| !lines.is_empty());
    let text = lines[0]["text"].as_str().unwrap();
    assert!(text.contains("exception shop/one names rule latest of policy tags"), "{text}");
}

#[test]
fn a_mutation_for_pods_that_fails_on_their_controllers_is_named() {
    let policy = r#"apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: add-label}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: Object.metadata.labels{team: "core"}}}'
"#;
    let (_dir, server) = serving(policy);
    let mut sent = review("u", "nginx:1");
    let request = &mut sent["request"];
    for kind in ["kind", "requestKind"] {
        request[kind] = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    }
    for resource in ["resource", "requestResource"] {
        request[resource] = json!({"group": "apps", "version": "v1", "resource": "deployments"});
    }
    let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": request["object"]["spec"]});
    request["object"] = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "cart", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": pod},
    });
    assert_eq!(post(&server, "/mpol/add-label", &sent)["allowed"], false);
    let lines = until("a line", || lines(&server, "types_of_variants"), |lines| !lines.is_empty());
    let text = lines[0]["text"].as_str().unwrap();
    assert!(text.contains("policy add-label") && text.contains("kyverno#17438"), "{text}");
    let metrics = get(&server, "/metrics").body;
    let line = "ephor_policy_pitfalls_total{pitfall=\"types_of_variants\",policy=\"add-label\"";
    assert!(metrics.contains(line), "{metrics}");
}

#[test]
fn a_text_that_is_no_version_is_logged_once_and_counted() {
    let policy = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: versions}
spec:
  rules:
  - name: old
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: old, deny: {conditions: {all: [{key: "{{ semver_compare(request.object.metadata.labels.version, '<2.0.0') }}", operator: Equals, value: true}]}}}
"#;
    let (_dir, server) = serving(policy);
    let of = |name: &str, version: &str| {
        let mut sent = review(name, "nginx:1");
        sent["request"]["object"]["metadata"]["labels"] = json!({"version": version});
        post(&server, "/validate", &sent)
    };
    of("a", "3.2.1");
    assert!(lines(&server, "no_version").is_empty());
    of("b", "v3.2.1");
    of("c", "3.2");
    counted(&server, "", "", "no_version", 2);
    let said = lines(&server, "no_version");
    assert_eq!(said.len(), 1);
    assert!(said[0]["text"].as_str().unwrap().contains("is no version of the form 1.2.3"), "{said:?}");
}
