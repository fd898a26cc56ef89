//! Pairs of policies: equal ones are proved, each kind of difference is found with its smallest object.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_compare::{Answer, Comparison, DifferenceKind, Options, Side, Universe, compare};
use ephor_policies::load::argument;
use ephor_sources::files::SourceText;
use ephor_value::print::json;

fn side(text: &str) -> Side {
    let source = SourceText { name: "p.yaml".into(), text: text.into() };
    Side::new(argument(&[source]), "p.yaml").unwrap()
}

fn compared(old: &str, new: &str) -> Comparison {
    compare(&side(old), &side(new), Options::default())
}

/// Kind, universe, environment and object of each difference.
fn differences(of: &Comparison) -> Vec<(DifferenceKind, Universe, String, String)> {
    of.differences.iter().map(|d| (d.kind, d.universe, d.environment.name(), json(&d.object))).collect()
}

fn classic(kind: &str, validate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}
spec:
  background: false
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}
    validate: {validate}
"
    )
}

fn cel(group: &str, resource: &str, expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints:
    resourceRules: [{{apiGroups: ['{group}'], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [{resource}]}}]
  validations:
  - expression: \"{expression}\"
    message: m
"
    )
}

#[test]
fn a_policy_is_equal_to_itself() {
    for validate in [
        "{message: m, pattern: {spec: {containers: [{image: '!*:latest & *:*'}]}}}",
        "{message: m, pattern: {spec: {=(hostNetwork): false, =(initContainers): [{=(securityContext): {=(privileged): false}}], containers: [{=(securityContext): {=(privileged): false}}]}}}",
        "{message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.hostPID || `false` }}', operator: Equals, value: true}]}}}",
    ] {
        let policy = classic("Pod", validate);
        assert_eq!(compared(&policy, &policy).answer, Answer::Proved, "{validate}");
    }
}

#[test]
fn a_pattern_is_equal_to_its_expression_but_in_deletions() {
    let old = classic("Pod", "{message: m, pattern: {spec: {=(hostNetwork): false}}}");
    let new = cel("", "pods", "object.spec.?hostNetwork.orValue(false) == false");
    let found = compared(&old, &new);
    assert_eq!(found.answer, Answer::Proved, "{:?}", differences(&found));
}

#[test]
fn a_list_that_is_no_longer_checked_is_found() {
    let old = classic(
        "Pod",
        "{message: m, pattern: {spec: {containers: [{image: '!*:latest'}], =(initContainers): [{image: '!*:latest'}]}}}",
    );
    let new = cel("", "pods", "object.spec.containers.all(c, !c.image.endsWith(':latest'))");
    let found = compared(&old, &new);
    let weaker: Vec<_> = differences(&found).into_iter().filter(|d| d.0 == DifferenceKind::Weaker).collect();
    assert!(weaker.iter().any(|d| d.1 == Universe::Cluster && d.3.contains("initContainers")), "{weaker:?}");
}

#[test]
fn an_absent_field_that_becomes_an_error_is_found() {
    let old = classic("Pod", "{message: m, pattern: {spec: {=(hostNetwork): false}}}");
    let new = cel("", "pods", "object.spec.hostNetwork == false");
    let found = compared(&old, &new);
    let first = &differences(&found)[0];
    assert_eq!((first.0, first.1), (DifferenceKind::Stricter, Universe::Cluster));
    assert!(!first.3.contains("hostNetwork"), "{first:?}");
}

#[test]
fn a_bound_that_moves_is_found() {
    let pattern = |bound: &str| {
        classic(
            "Pod",
            &format!(
                "{{message: m, pattern: {{spec: {{containers: [{{resources: {{limits: {{memory: '{bound}'}}}}}}]}}}}}}"
            ),
        )
    };
    let found = compared(&pattern("<=2Gi"), &pattern("<2Gi"));
    let all = differences(&found);
    assert!(!all.is_empty(), "{found:?}");
    assert!(all.iter().any(|d| d.0 == DifferenceKind::Stricter && d.3.contains("2Gi")), "{all:?}");
    assert_eq!(compared(&pattern("<=2Gi"), &pattern("<=2048Mi")).answer, Answer::Proved);
}

#[test]
fn another_kind_is_a_difference() {
    let pattern = "{message: m, pattern: {spec: {=(hostNetwork): false}}}";
    let found = compared(&classic("Pod", pattern), &classic("Node", pattern));
    assert_eq!(found.answer, Answer::Differs);
}

#[test]
fn deletions_are_a_difference_of_their_own() {
    let deny = "{message: m, deny: {conditions: {any: [{key: '{{ request.operation }}', operator: AnyIn, value: [CREATE, DELETE]}]}}}";
    let old = classic("ConfigMap", deny);
    let new = classic("ConfigMap", &deny.replace("[CREATE, DELETE]", "[CREATE]"));
    let found = compared(&old, &new);
    let all = differences(&found);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!((all[0].0, &*all[0].2), (DifferenceKind::Weaker, "ConfigMap DELETE"));
}

#[test]
fn kinds_of_equal_names_in_different_groups_are_different_kinds() {
    let old = classic("authorization.openshift.io/v1/RoleBinding", "{message: m, deny: {}}");
    let found = compared(&old, &old.replace("io/v1/Role", "io/v2/Role"));
    assert_eq!(found.answer, Answer::Differs);
}

#[test]
fn objects_that_are_compared_as_a_whole_are_tried() {
    let old = cel(
        "",
        "pods",
        "object.spec.containers.all(c, c.?livenessProbe != c.?readinessProbe || !has(c.livenessProbe))",
    );
    let new = cel("", "pods", "true");
    let found = compared(&old, &new);
    assert!(found.differences.iter().any(|d| d.universe == Universe::Cluster), "{:?}", differences(&found));
}

#[test]
fn items_that_need_more_fields_than_policies_read_exist_in_clusters() {
    let each = |operator: &str| {
        cel(
            "apps",
            "statefulsets",
            &format!(
                "object.spec.?volumeClaimTemplates.orValue([]).all(c, c.spec.?storageClassName.orValue('') {operator} '')"
            ),
        )
    };
    let found = compared(&each("!="), &each("=="));
    let in_clusters: Vec<_> =
        found.differences.iter().filter(|d| d.universe == Universe::Cluster).map(|d| d.kind).collect();
    assert_eq!(in_clusters, [DifferenceKind::Weaker, DifferenceKind::Stricter], "{:?}", differences(&found));
}
