#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use ephor_document::{self, ResourceOptions};
use ephor_engine::request::Parts;
use ephor_policies::policy_set::PolicySet;
use ephor_sources::files::SourceText;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: cart
  namespace: dev
  labels:
    app.kubernetes.io/name: ''
spec:
  containers:
  - name: a
    image: nginx:1.2
  - name: b
    image: nginx:latest
";

/// What a policy decides about the Pod, as text.
fn decided(policy: &str, verbose: bool) -> String {
    let source = SourceText { name: "p.yaml".into(), text: policy.into() };
    let loaded = ephor_policies::load::argument(std::slice::from_ref(&source)).policies.remove(0);
    let resource = ephor_document::resources("r.yaml", POD, ResourceOptions::default()).unwrap().remove(0);
    let engine = Engine::new(PolicySet::new(vec![Arc::clone(loaded.policy.as_ref().unwrap())], Vec::new()));
    let parts = Parts { object: resource.value.clone(), operation: "CREATE".into(), ..Parts::default() };
    let request = Request::new(parts, engine.profile(), engine.functions()).unwrap();
    let decided = decide(&loaded, &engine, &request, &resource);
    decided.iter().map(|d| d.text(false, verbose)).collect()
}

fn cluster_policy(rule: &str) -> String {
    let rule = rule.trim_start_matches('\n').lines().map(|l| format!("    {l}\n")).collect::<String>();
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: p\nspec:\n  rules:\n  - name: r\n{rule}"
    )
}

#[test]
fn a_rule_that_does_not_match_says_which_attribute_and_which_values() {
    let policy = cluster_policy(
        "
match:
  any:
  - resources:
      kinds: [Pod]
      namespaces:
      - prod
validate:
  message: m
  deny: {}
",
    );
    assert_eq!(
        decided(&policy, false),
        "p/r at p.yaml:7: no result\n  p.yaml:12 does not match: namespaces: \"dev\" not in [prod]\n"
    );
}

#[test]
fn an_exclusion_and_a_condition_are_explained_with_their_lines() {
    let policy = cluster_policy(
        "
match:
  any:
  - resources:
      kinds: [Pod]
exclude:
  any:
  - resources:
      namespaces: [dev]
validate:
  message: m
  deny: {}
",
    );
    assert_eq!(
        decided(&policy, false),
        "p/r at p.yaml:7: no result\n  p.yaml:14 excluded: namespaces [dev]\n"
    );
    let policy = cluster_policy(
        "
match:
  any:
  - resources:
      kinds: [Pod]
preconditions:
  all:
  - key: '{{ request.object.metadata.name }}'
    operator: Equals
    value: shop
validate:
  message: m
  deny: {}
",
    );
    let text = decided(&policy, false);
    let condition = "  p.yaml:14 condition: metadata.name (r.yaml:4:9) \"cart\" Equal \"shop\" is false\n";
    assert!(text.contains(condition), "{text}");
    assert!(text.ends_with("  p.yaml:7 skip: preconditions not met\n"), "{text}");
}

#[test]
fn a_pattern_that_fails_names_the_leaf_and_the_value_in_the_resource() {
    let policy = cluster_policy(
        "
match:
  any:
  - resources:
      kinds: [Pod]
validate:
  message: label it
  pattern:
    metadata:
      labels:
        app.kubernetes.io/name: '?*'
",
    );
    let text = decided(&policy, false);
    let leaf = "  p.yaml:17 pattern: resource value '' does not match '?*' at path \
                /metadata/labels/app.kubernetes.io/name/ (r.yaml:7:29)\n";
    assert!(text.contains(leaf), "{text}");
}

#[test]
fn of_a_loop_the_element_that_decided_is_shown_and_the_others_are_details() {
    let policy = cluster_policy(
        "
match:
  any:
  - resources:
      kinds: [Pod]
validate:
  message: no latest
  foreach:
  - list: request.object.spec.containers
    deny:
      conditions:
        any:
        - key: '{{ element.image }}'
          operator: Equals
          value: '*:latest'
",
    );
    let brief = decided(&policy, false);
    assert!(brief.contains("element 1: spec.containers[1] (r.yaml:12:5)"), "{brief}");
    let condition =
        "deny condition: spec.containers[1].image (r.yaml:13:12) \"nginx:latest\" Equal \"*:latest\" is true";
    assert!(brief.contains(condition), "{brief}");
    assert!(!brief.contains("nginx:1.2"), "{brief}");
    assert!(
        decided(&policy, true).contains("\"nginx:1.2\" Equal \"*:latest\" is false"),
        "the details show all"
    );
}

const IMAGES: &str = "\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: images
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: ['']
      apiVersions: [v1]
      operations: [CREATE]
      resources: [pods]
  variables:
  - name: all
    expression: object.spec.containers + object.spec.?initContainers.orValue([])
  validations:
  - message: no latest
    expression: |-
      object.metadata.name != 'x' &&
      variables.all.all(c, !c.image.endsWith(':latest') && c.name.size() < 5)
";

#[test]
fn of_an_expression_the_part_that_decides_is_shown_with_the_value_in_the_resource() {
    let text = decided(IMAGES, false);
    let step = "spec.containers[1].image.endsWith(\":latest\") is true: \
                spec.containers[1].image (r.yaml:13:12) is \"nginx:latest\"\n";
    assert!(text.contains(step), "{text}");
    assert_eq!(text.lines().filter(|l| l.contains("is false")).count(), 1, "one expression decides: {text}");
    assert!(!text.contains("all = ["), "{text}");
    assert!(decided(IMAGES, true).contains("p.yaml:14 all = [{"), "variables are details");
}

#[test]
fn parts_of_expressions_are_written_as_in_the_policy() {
    let of = |expression: &str| {
        let policy = IMAGES.split_once("  validations:").unwrap().0;
        let policy =
            format!("{policy}  validations:\n  - message: m\n    expression: |-\n      {expression}\n");
        let text = decided(&policy, false);
        let line = text.lines().find(|line| line.starts_with("    p.yaml")).map(str::trim);
        line.unwrap_or_default().to_owned()
    };
    assert_eq!(
        of("object.metadata.?labels.?team.orValue('') != ''"),
        "p.yaml:17 object.metadata.?labels.?team.orValue(\"\") != \"\" is false: object.metadata.?labels.?team.orValue(\"\") is \"\""
    );
    assert_eq!(
        of("object.spec.containers.all(c, has(c.livenessProbe))"),
        "p.yaml:17 has(spec.containers[0].livenessProbe) is false: spec.containers[0] (r.yaml:10:5) is {\"image\":\"nginx:1.2\",\"name\":\"a\"}"
    );
    // What no expression is written as is a detail.
    assert_eq!(of("object.spec.containers.map(c, c.name).exists(n, n == 'x')"), "");
}

#[test]
fn a_missing_key_is_explained_as_a_fault() {
    let policy = IMAGES.replace("object.metadata.name != 'x' &&", "object.spec.replicas > 1 ||");
    let text = decided(&policy, false);
    assert!(text.contains("no such key: replicas"), "{text}");
}

#[test]
fn watching_changes_no_result() {
    let source = SourceText { name: "p.yaml".into(), text: IMAGES.into() };
    let loaded = ephor_policies::load::argument(std::slice::from_ref(&source)).policies.remove(0);
    let resource = ephor_document::resources("r.yaml", POD, ResourceOptions::default()).unwrap().remove(0);
    let engine = Engine::new(PolicySet::new(vec![loaded.policy.clone().unwrap()], Vec::new()));
    let parts = Parts { object: resource.value, operation: "CREATE".into(), ..Parts::default() };
    let request = Request::new(parts, engine.profile(), engine.functions()).unwrap();
    let results = |o: ephor_policies::policy_set::Outcome| {
        let of = |r: &RuleOutcome| (r.status, r.message.to_string());
        o.policies.iter().flat_map(|p| p.rules.iter().map(of)).collect::<Vec<_>>()
    };
    let alone = results(engine.evaluate(&request));
    let (watched, seen) = trace::watch(|| engine.evaluate(&request));
    assert_eq!(results(watched), alone);
    assert!(!seen.events.is_empty());
}
