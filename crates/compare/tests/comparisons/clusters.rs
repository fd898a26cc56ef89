//! What clusters do with requests and objects: which operations rules see, what is stored, in which
//! form objects are shown.

use ephor_compare::{Answer, DifferenceKind, Universe, Verdict};
use ephor_value::print::json;

use super::{checking, compared, requiring};

fn changing(resources: &str, mutate: &str) -> String {
    policy(resources, &format!("mutate: {mutate}"))
}

/// A ClusterPolicy without rules for controllers.
fn policy(resources: &str, body: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{{resources}}}}}]}}
    {body}
"
    )
}

#[test]
fn rules_that_change_objects_see_no_deletions_unless_they_name_them() {
    // On a deletion there is no object to patch, which is an error.
    let patch = "{patchesJson6902: '[{op: add, path: /metadata/labels/a, value: b}]'}";
    let policy = |operations: &str| changing(&format!("kinds: [ConfigMap]{operations}"), patch);
    let found = compared(&policy(""), &policy(", operations: [CREATE, UPDATE]"));
    assert_eq!(found.answer, Answer::Proved);
    let found = compared(&policy(""), &policy(", operations: [CREATE, UPDATE, DELETE]"));
    let environments: Vec<String> = found.differences.iter().map(|d| d.environment.name()).collect();
    assert_eq!(environments, ["ConfigMap DELETE"]);
}

#[test]
fn of_changes_that_come_with_ephemeral_containers_only_these_are_stored() {
    let patch = "{patchStrategicMerge: {metadata: {labels: {a: b}}}}";
    let found =
        compared(&changing("kinds: [Pod]", patch), &changing("kinds: [Pod], operations: [CREATE]", patch));
    let environments: Vec<String> = found.differences.iter().map(|d| d.environment.name()).collect();
    assert_eq!(environments, ["Pod UPDATE"]);
}

#[test]
fn objects_in_clusters_have_the_verdicts_of_the_form_that_admission_sees() {
    let policy = |value: &str| {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  background: false
  validationFailureAction: Enforce
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [NetworkPolicy], operations: [CREATE]}}}}]}}
    validate:
      message: m
      deny: {{conditions: {{all: [{{key: '{{{{ request.object.spec.podSelector.keys(@) | length(@) }}}}', operator: Equals, value: {value}}}]}}}}
"
        )
    };
    // Without `spec` the key is an error; an API server fills it in.
    let found = compared(&policy("0"), &policy("7"));
    let difference = found.differences.iter().find(|d| d.universe == Universe::Cluster).unwrap();
    assert_eq!((difference.kind, difference.old.verdict), (DifferenceKind::Weaker, Verdict::Fail));
    assert!(
        json(&difference.object).contains("\"spec\":{\"podSelector\":{}}"),
        "{}",
        json(&difference.object)
    );
}

#[test]
fn the_status_of_objects_that_are_there_is_what_controllers_wrote() {
    let policy = |operation: &str, check: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [{operation}], resources: [pods]}}]}}
  validations:
  - expression: \"{check}\"
"
        )
    };
    for (operation, object) in [("UPDATE", "object"), ("UPDATE", "oldObject"), ("DELETE", "oldObject")] {
        let running = format!("{object}.?status.?phase.orValue('') == 'Running'");
        let found = compared(&policy(operation, &running), &policy(operation, "false"));
        let universes: Vec<Universe> = found.differences.iter().map(|one| one.universe).collect();
        assert_eq!(universes, [Universe::Cluster], "{operation} {object}");
    }
    let deleted = "object.metadata.?deletionTimestamp.hasValue()";
    let running = "object.?status.?phase.orValue('') == 'Running'";
    for check in [deleted, running] {
        let [create, update] = ["CREATE", "CREATE, UPDATE"]
            .map(|operations| compared(&policy(operations, check), &policy(operations, "false")));
        assert_eq!(create.answer, Answer::Proved, "an API server writes what {check} reads into new pods");
        assert_eq!(update.answer, Answer::Differs, "{check}");
    }
}

#[test]
fn what_is_not_known_of_users_proves_nothing() {
    let policy = |check: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}
  validations:
  - expression: \"{check}\"
"
        )
    };
    for check in [
        "request.userInfo.?uid.orValue('') == 'x'",
        "request.userInfo.?extra.orValue({}).size() > 0",
        "request.dryRun",
    ] {
        let found = compared(&policy(check), &policy("false"));
        assert!(matches!(found.answer, Answer::Tested(_)), "{check}: {:?}", found.answer);
    }
    let named = "request.userInfo.username == 'x' && 'y' in request.userInfo.groups";
    assert_eq!(compared(&policy(named), &policy("false")).answer, Answer::Differs);
    let reversed = "'y' in request.userInfo.groups && request.userInfo.username == 'x'";
    assert_eq!(compared(&policy(named), &policy(reversed)).answer, Answer::Proved);
}

#[test]
fn kinds_into_which_an_api_server_writes_more_are_not_like_others() {
    // An API server writes an annotation into each DaemonSet.
    let policy = |check: &str| {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [DaemonSet, Deployment], operations: [CREATE]}}}}]}}
    validate: {{cel: {{expressions: [{{expression: \"{check}\"}}]}}}}
"
        )
    };
    let found = compared(
        &policy("size(object.metadata.?annotations.orValue({})) < 4"),
        &policy("size(object.metadata.annotations) < 4"),
    );
    let of_cluster = found.differences.iter().filter(|one| one.universe == Universe::Cluster);
    let kinds: Vec<&str> = of_cluster.map(|one| &*one.environment.resource.kind).collect();
    assert_eq!(kinds, ["Deployment"]);
}

#[test]
fn a_namespace_of_a_pattern_has_a_name_that_an_api_server_takes() {
    let of = |pattern: &str| {
        let policy = checking("ConfigMap", "pattern: {metadata: {labels: {x: '?*'}}}");
        policy.replacen(
            "operations: [CREATE]",
            &format!("operations: [CREATE], namespaces: ['{pattern}']"),
            1,
        )
    };
    let found = compared(&of("kube-*"), &of("kube-system"));
    assert_eq!(found.answer, Answer::Differs);
    assert!(found.differences.iter().any(|one| one.universe == Universe::Cluster));
}

#[test]
fn a_policy_of_a_namespace_is_about_this_one() {
    let of = |operator: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1
kind: NamespacedValidatingPolicy
metadata: {{name: p, namespace: a}}
spec:
  validationActions: [Deny]
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]
  matchConditions: [{{name: c, expression: \"request.namespace {operator} 'default'\"}}]
  validations: [{{expression: has(object.data), message: m}}]
"
        )
    };
    assert_eq!(compared(&of("=="), &of("!=")).answer, Answer::Differs);
}

#[test]
fn ephemeral_containers_are_in_pods_that_are_there_and_in_no_others() {
    let looking = |operations: &str, lists: &[&str]| {
        let all: Vec<String> = lists.iter().map(|list| format!("{list}: [{{image: '!*:latest'}}]")).collect();
        let pattern = format!("{{spec: {{{}}}}}", all.join(", "));
        policy(&format!("kinds: [Pod]{operations}"), &format!("validate: {{message: m, pattern: {pattern}}}"))
    };
    let both = ["containers", "=(ephemeralContainers)"];
    let found = compared(&looking("", &both), &looking("", &both[..1]));
    assert_eq!(found.answer, Answer::Differs);
    let in_clusters = found.differences.iter().filter(|d| d.universe == Universe::Cluster);
    let shown: Vec<(String, &str)> = in_clusters
        .map(|d| {
            let added = d.object.at(&["spec", "ephemeralContainers"]).and_then(|all| all.as_list()).unwrap();
            (d.environment.name(), added[0].text_at(&["image"]))
        })
        .collect();
    assert_eq!(
        shown,
        [("Pod UPDATE".into(), ":latest"), ("Pod/ephemeralcontainers UPDATE".into(), ":latest")]
    );
    // Pods are not created with them.
    let creations = ", operations: [CREATE]";
    let found = compared(&looking(creations, &both), &looking(creations, &both[..1]));
    assert_eq!(found.answer, Answer::Proved);
    assert!(found.differences.iter().all(|d| d.universe == Universe::Files), "{:?}", found.differences);
}

#[test]
fn templates_of_pods_have_no_ephemeral_containers() {
    let policy = |with: &str| {
        let pod = format!("{{containers: [{{name: '?*'}}]{with}}}");
        checking("Deployment", &format!("pattern: {{spec: {{template: {{spec: {pod}}}}}}}"))
    };
    let found = compared(
        &policy(""),
        &policy(", =(ephemeralContainers): [{=(securityContext): {privileged: false}}]"),
    );
    assert_eq!(found.answer, Answer::Proved);
}

#[test]
fn fields_of_which_nothing_is_recorded_prove_nothing() {
    let policy = |with: &str| checking("Job", &format!("pattern: {{spec: {{template: '?*'{with}}}}}"));
    let found = compared(
        &policy(""),
        &policy(", =(podFailurePolicy): {rules: [{action: FailJob, =(onExitCodes): {operator: In}}]}"),
    );
    assert_ne!(found.answer, Answer::Proved);
}

#[test]
fn rules_for_all_kinds_are_about_custom_resources_too() {
    let old = checking("'*'", "pattern: {metadata: {labels: {team: '?*'}}}");
    let new = |groups: &str, more: &str| {
        requiring(&format!("'*'{more}"), "object.metadata.?labels.?team.orValue('') != ''")
            .replace("apiGroups: ['']", &format!("apiGroups: [{groups}]"))
            .replace("apiVersions: [v1]", "apiVersions: ['*']")
            .replace("resources: ['*', scope: Namespaced]", "resources: ['*'], scope: Namespaced")
    };
    let found = compared(&old, &new("'*'", ""));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.differences);
    let groups: std::collections::BTreeSet<String> =
        ephor_kubernetes::Kinds::built_in().all().iter().map(|one| format!("'{}'", one.group)).collect();
    let built_in = compared(&old, &new(&groups.into_iter().collect::<Vec<_>>().join(", "), ""));
    assert_eq!(built_in.answer, Answer::Differs);
    assert!(built_in.differences.iter().all(|one| &*one.environment.object[2] == "Widget"));
    assert_eq!(compared(&old, &new("'*'", ", scope: Namespaced")).answer, Answer::Differs);
}
