//! `matchConstraints` of CEL policies.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
use ephor_ir::{Matcher, Policy};
use ephor_kubernetes::Kinds;
use ephor_lower::constraints::constraints;
use ephor_matching::Target;
use ephor_matching::constraints::*;
use ephor_matching::index::Index;

fn yaml(text: &str) -> ephor_value::Value {
    ephor_document::yaml_value(text).unwrap()
}

fn target(object: &str) -> Target {
    Target { operation: "CREATE".into(), ..Target::of(&yaml(object)) }
}

fn fits(block: &str, target: &Target) -> bool {
    accepts_target(&constraints(&yaml(block)), target)
}

fn rule(text: &str) -> String {
    format!("{{resourceRules: [{{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], {text}}}]}}")
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: web, labels: {app: x}}}";
const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n}}";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: web, labels: {env: prod}}}";

#[test]
fn a_star_leaves_out_subresources_and_a_star_after_a_slash_takes_the_resource_in() {
    let (pod, exec) = (target(POD), Target { subresource: "exec".into(), ..target(POD) });
    for (resources, on_pod, on_exec) in [
        ("['*']", true, false),
        ("['pods']", true, false),
        ("['pods/*']", true, true),
        ("['*/*']", true, true),
        ("['pods/exec']", false, true),
        ("['*/exec']", false, true),
        ("['nodes', '*/scale']", false, false),
    ] {
        let block = rule(&format!("resources: {resources}"));
        assert_eq!((fits(&block, &pod), fits(&block, &exec)), (on_pod, on_exec), "{resources}");
    }
}

#[test]
fn namespaces_count_as_cluster_scoped_and_are_selected_by_their_own_labels() {
    let on = |scope: &str, object: &str| {
        fits(&rule(&format!("resources: ['*'], scope: {scope}")), &target(object))
    };
    assert!(on("Namespaced", POD) && !on("Namespaced", NODE) && !on("Namespaced", NAMESPACE));
    assert!(!on("Cluster", POD) && on("Cluster", NODE) && on("Cluster", NAMESPACE));
    let block = "{namespaceSelector: {matchLabels: {env: prod}}}";
    assert!(fits(block, &target(NAMESPACE)), "own labels");
    assert!(fits(block, &target(NODE)), "not evaluated for cluster-scoped objects");
    assert!(!fits(block, &target(POD)), "a namespace without labels");
    let labels = yaml("{env: prod}").as_map().cloned().unwrap_or_default();
    assert!(fits(block, &Target { namespace_labels: labels, namespace_known: true, ..target(POD) }));
}

#[test]
fn an_object_selector_accepts_by_the_new_or_the_former_object() {
    let block = "{objectSelector: {matchLabels: {app: x}}}";
    assert!(fits(block, &target(POD)));
    assert!(!fits(block, &target(NODE)));
    let old = yaml("{app: x}").as_map().cloned();
    assert!(fits(block, &Target { old_labels: old, operation: "UPDATE".into(), ..target(NODE) }));
    let gone = Target { operation: "DELETE".into(), ..target(POD) };
    assert!(fits(block, &gone));
}

#[test]
fn equivalent_resources_are_accepted_when_the_policy_says_so_and_exclusions_follow_it() {
    let hpa = target(
        "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: web}}",
    );
    let rule = "{operations: [CREATE], apiGroups: [autoscaling], apiVersions: [v1], resources: [horizontalpodautoscalers]}";
    let exact = constraints(&yaml(&format!("{{matchPolicy: Exact, resourceRules: [{rule}]}}")));
    assert!(!accepts_target(&exact, &hpa));
    let wide = constraints(&yaml(&format!("{{matchPolicy: Equivalent, resourceRules: [{rule}]}}")));
    let attributes = Attributes::of(&hpa, Kinds::built_in());
    let found = accepts(&wide, &attributes, Kinds::built_in(), || Err(())).unwrap().unwrap();
    assert_eq!(found.kind.map(|s| s.to_string()), ["autoscaling", "v1", "HorizontalPodAutoscaler"]);
    assert!(!fits(&format!("{{matchPolicy: Equivalent, excludeResourceRules: [{rule}]}}"), &hpa));
    assert!(fits(&format!("{{matchPolicy: Exact, excludeResourceRules: [{rule}]}}"), &hpa));
}

#[test]
fn labels_that_cannot_be_had_matter_only_when_the_rules_accept() {
    let attributes = Attributes::of(&target(POD), Kinds::built_in());
    let accept = |resources: &str| {
        let block = format!(
            "{{namespaceSelector: {{matchLabels: {{a: b}}}}, resourceRules: [{{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [{resources}]}}]}}"
        );
        accepts(&constraints(&yaml(&block)), &attributes, Kinds::built_in(), || Err("gone"))
    };
    assert_eq!(accept("pods"), Err("gone"));
    assert_eq!(accept("secrets"), Ok(None));
}

#[test]
fn names_and_stars_in_selectors_are_literal() {
    assert!(fits(&rule("resources: [pods], resourceNames: [a, b]"), &target(POD)));
    assert!(!fits(&rule("resources: [pods], resourceNames: ['*']"), &target(POD)));
    assert!(!fits("{objectSelector: {matchLabels: {app: '*'}}}", &target(POD)));
}

#[test]
fn the_index_leaves_out_no_policy_whose_constraints_accept() {
    let blocks = [
        rule("resources: ['*']"),
        "{resourceRules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods, secrets]}]}".to_string(),
        "{resourceRules: [{operations: [CREATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments/scale]}]}".to_string(),
        "{resourceRules: [{operations: [CREATE], apiGroups: [ex.org], apiVersions: [v1], resources: [widgets]}]}".to_string(),
        "{}".to_string(),
    ];
    let template = ephor_lower::policy::policy(&yaml(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{}]}, validate: {deny: {}}}]}}",
    ));
    let policies: Vec<Policy> = blocks
        .iter()
        .map(|block| {
            let mut policy = template.clone();
            let mut rule = (*policy.rules[0]).clone();
            rule.when = Matcher::Constraints(Box::new(constraints(&yaml(block))));
            policy.rules = vec![rule.into()].into();
            policy
        })
        .collect();
    let index = Index::new(policies.iter());
    let widget = "{apiVersion: ex.org/v1, kind: Widget, metadata: {name: w}}";
    let found = |object: &str| index.candidates(&target(object)).iter().map(|s| s.0).collect::<Vec<_>>();
    assert_eq!(found(POD), [0, 1, 4]);
    assert_eq!(found(widget), [0, 3, 4]);
    assert_eq!(found("{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}"), [0, 2, 4]);
    assert!(fits(&blocks[3], &target(widget)));
    // Without knowing the kind, and among policies of a range.
    let of = |resource: &str, from: u32| {
        index.of_resource(resource, &(from..5)).iter().map(|s| s.0).collect::<Vec<_>>()
    };
    assert_eq!(of("widgets", 0), [0, 3, 4]);
    assert_eq!(of("pods", 1), [1, 4]);
    assert_eq!(of("gadgets", 4), [4]);
}
