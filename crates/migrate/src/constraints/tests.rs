#![allow(clippy::unwrap_used)]

use super::*;
use crate::expressions::refusal::Result;
use crate::text::write;

fn rule(rule: &str) -> Rule {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, {rule}, validate: {{deny: {{}}}}}}]}}}}"
    );
    let document = ephor_document::yaml_value_strict(&policy).unwrap();
    (**ephor_lower::policy::policy_as_lowered(&document).rules.first().unwrap()).clone()
}

fn of(text: &str) -> Result<Matching> {
    matching(&rule(text), &["CREATE", "UPDATE"], Kinds::built_in())
}

fn shown(rule: &str) -> String {
    let found = of(rule).unwrap();
    let conditions = found.conditions.iter().map(|c| format!("{}: {}\n", c.name, c.expression));
    format!("{}{}", write(&constraints(&found), 0), conditions.collect::<String>())
}

const PODS: &str = "resourceRules:
  - apiGroups: ['']
    apiVersions: [v1]
    resources: [pods]
    operations: [CREATE, UPDATE]
";

#[test]
fn a_kind_becomes_a_resource_that_is_created_or_updated() {
    assert_eq!(shown("match: {any: [{resources: {kinds: [Pod]}}]}"), PODS);
    assert!(of("match: {any: [{resources: {kinds: [Pod]}}]}").unwrap().is_pods);
    assert!(!of("match: {any: [{resources: {kinds: [Pod, Service]}}]}").unwrap().is_pods);
}

#[test]
fn operations_that_are_named_stay_and_connections_are_known_by_their_subresource() {
    let named = of("match: {any: [{resources: {kinds: [Pod], operations: [DELETE]}}]}").unwrap();
    assert_eq!(named.rules.first().unwrap().operations, ["DELETE"]);
    let exec = of("match: {any: [{resources: {kinds: [Pod/exec]}}]}").unwrap();
    assert_eq!(exec.rules.first().unwrap().operations, ["CONNECT"]);
}

#[test]
fn namespaces_are_selected_by_their_name_and_wildcards_by_a_condition() {
    let selector = "namespaceSelector:
  matchExpressions:
    - key: kubernetes.io/metadata.name
      operator: NotIn
      values: [kube-system, ops]
";
    assert_eq!(
        shown(
            "match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {namespaces: [kube-system, ops]}}]}"
        ),
        format!("{PODS}{selector}")
    );
    assert_eq!(
        shown("match: {any: [{resources: {kinds: [Pod], namespaces: [prod-*, ops]}}]}"),
        format!(
            "{PODS}namespaces: object.metadata.namespace == 'ops' || object.metadata.namespace.startsWith('prod-')\n"
        )
    );
}

#[test]
fn labels_annotations_names_and_users_are_conditions() {
    let rule = "match: {all: [{resources: {kinds: [Pod], names: [a, b-*], annotations: {x/y: 'true'}, selector: {matchLabels: {app: a}}}, \
                subjects: [{kind: User, name: u}]}]}";
    assert_eq!(
        shown(rule),
        format!(
            "{PODS}names: object.metadata.name == 'a' || object.metadata.name.startsWith('b-')
annotations: object.metadata.?annotations[?'x/y'].orValue('') == 'true'
labels: object.metadata.?labels[?'app'].orValue('') == 'a'
users: request.userInfo.?username.orValue('') == 'u'
"
        )
    );
}

#[test]
fn exclusions_are_negated_one_by_one() {
    let rule = "match: {any: [{resources: {kinds: [Pod, Service]}}]}, \
                exclude: {any: [{resources: {kinds: [Service]}}, {subjects: [{kind: Group, name: g}]}]}";
    let conditions: Vec<String> = of(rule).unwrap().conditions.iter().map(|c| c.expression.clone()).collect();
    assert_eq!(
        conditions,
        ["request.kind.kind != 'Service'", "!('g' in request.userInfo.?groups.orValue([]))"]
    );
}

#[test]
fn filters_that_differ_are_alternatives() {
    let rule = "match: {any: [{resources: {kinds: [Pod], names: [a]}}, {resources: {kinds: [Service]}}]}";
    let found = of(rule).unwrap();
    assert_eq!(
        found.conditions.first().unwrap().expression,
        "request.kind.kind == 'Pod' && object.metadata.name == 'a' || request.kind.kind == 'Service'"
    );
}

#[test]
fn roles_are_looked_up_in_the_bindings_of_the_cluster() {
    let rule = "match: {any: [{resources: {kinds: [Service]}}]}, exclude: {any: [{clusterRoles: [admin]}]}";
    let found = of(rule).unwrap();
    let condition = found.conditions.first().unwrap();
    assert_eq!(condition.name, "exclude-cluster-roles");
    let lists = "!(dyn(resource.list('rbac.authorization.k8s.io/v1', 'clusterrolebindings', '')).items + \
                 dyn(resource.list('rbac.authorization.k8s.io/v1', 'rolebindings', request.namespace)).items).exists(binding, \
                 binding.roleRef.kind == 'ClusterRole' && binding.roleRef.name == 'admin' && binding.?subjects";
    assert!(condition.expression.starts_with(lists), "{}", condition.expression);
    let everywhere = rule.replace("Service", "Namespace");
    let found = of(&everywhere).unwrap();
    assert!(
        found
            .conditions
            .first()
            .unwrap()
            .expression
            .contains("binding.metadata.namespace == request.?namespace")
    );
    let roles = of("match: {any: [{resources: {kinds: [Pod]}, roles: ['dev:edit']}]}").unwrap();
    let condition = &roles.conditions.first().unwrap().expression;
    assert!(condition.contains("binding.metadata.namespace + ':' + binding.roleRef.name in ['dev:edit']"));
}

#[test]
fn roles_are_refused_with_their_place_where_no_request_is_or_nothing_can_be_looked_up() {
    let rule = rule("match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{clusterRoles: [admin]}]}");
    let refusals = [
        without_roles(&rule).unwrap_err(),
        of_stored(&rule.when, Some(&rule.unless), Kinds::built_in()).map(|_| ()).unwrap_err(),
    ];
    for refusal in refusals {
        assert_eq!(&*refusal.place.path, "spec.rules[0].exclude.any[0].clusterRoles");
        assert_eq!(&*refusal.construct, "`clusterRoles` of users");
    }
}
