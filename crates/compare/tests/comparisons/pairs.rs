//! Pairs of policies: equal ones are proved, each kind of difference is found with its smallest
//! object.

use ephor_compare::{Answer, Comparison, DifferenceKind, Effect, Options, Universe, compare};
use ephor_value::print::json;

use super::{compared, side};

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
  validationFailureAction: Enforce
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
fn whether_something_is_there_is_no_reading_of_all_of_it() {
    let old = classic("Pod", "{message: m, pattern: {spec: {=(volumes): [{X(hostPath): null}]}}}");
    for expression in [
        "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath))",
        "object.spec.?volumes.orValue([]).all(v, !v.?hostPath.hasValue())",
    ] {
        let found = compared(&old, &cel("", "pods", expression));
        assert_eq!(found.answer, Answer::Proved, "{expression}: {:?}", differences(&found));
    }
}

#[test]
fn a_loop_over_several_lists_is_one_over_each() {
    let old = classic(
        "Pod",
        "{message: m, pattern: {spec: {containers: [{tty: false}], =(initContainers): [{tty: false}]}}}",
    );
    let all = "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, c.?tty.orValue(true) == false)";
    let found = compared(&old, &cel("", "pods", all));
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

/// A policy whose one rule has this match and this check.
fn matching(resources: &str, validate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}
spec:
  validationFailureAction: Enforce
  background: false
  rules:
  - name: r
    match: {{any: [{{{resources}}}]}}
    validate: {validate}
"
    )
}

#[test]
fn an_action_that_no_longer_denies_is_weaker() {
    let old = classic("Pod", "{message: m, pattern: {spec: {=(hostPID): false}}}");
    let new = old.replace("Enforce", "Audit");
    let found = compared(&old, &new);
    assert_eq!(found.answer, Answer::Differs);
    let kinds: Vec<_> = found.differences.iter().map(|d| (d.kind, d.is_weaker(), d.effects())).collect();
    assert_eq!(kinds, [(DifferenceKind::Action, true, [Effect::Denied, Effect::Allowed])]);
    assert!(compared(&new, &old).differences.iter().all(|d| d.is_stricter()));
}

#[test]
fn an_action_of_one_namespace_is_found() {
    let old = classic("ConfigMap", "{message: m, pattern: {data: {a: x}}}");
    let new = old.replace(
        "  background: false",
        "  background: false\n  validationFailureActionOverrides: [{action: Audit, namespaces: [dev-*]}]",
    );
    let found = compared(&old, &new);
    let [one] = &*found.differences else { panic!("{:?}", differences(&found)) };
    assert_eq!(one.kind, DifferenceKind::Action);
    assert!(one.object.text_at(&["metadata", "namespace"]).starts_with("dev-"), "{}", json(&one.object));
}

#[test]
fn what_is_sent_to_a_subresource_is_compared() {
    let deny = "{message: m, deny: {conditions: {any: [{key: '{{ request.object.container }}', operator: Equals, value: CONTAINER}]}}}";
    let of = |container: &str| {
        matching(
            "resources: {kinds: [Pod/exec], operations: [CONNECT]}",
            &deny.replace("CONTAINER", container),
        )
    };
    let found = compared(&of("nginx"), &of("nginx"));
    assert_eq!(found.answer, Answer::Proved);
    let found = compared(&of("nginx"), &of("redis"));
    assert!(
        found.differences.iter().any(|d| d.environment.name() == "Pod/exec CONNECT"),
        "{:?}",
        differences(&found)
    );
}

#[test]
fn users_and_their_roles_are_distinguished() {
    let check = "{message: m, pattern: {data: {a: x}}}";
    let of = |subjects: &str| matching(&format!("resources: {{kinds: [ConfigMap]}}, {subjects}"), check);
    let old = of("clusterRoles: [edit, view]");
    assert_eq!(compared(&old, &of("clusterRoles: [view, edit]")).answer, Answer::Proved);
    let found = compared(&old, &of("clusterRoles: [view]"));
    let [one] = &*found.differences else { panic!("{:?}", differences(&found)) };
    assert_eq!(
        (one.kind, &*one.around.user.cluster_roles),
        (DifferenceKind::Weaker, &["edit".to_string()][..])
    );
    let group = |name: &str| of(&format!("subjects: [{{kind: Group, name: '{name}'}}]"));
    assert_eq!(compared(&group("dev-*"), &group("dev-?*")).answer, Answer::Differs);
}

#[test]
fn labels_of_namespaces_are_distinguished() {
    let check = "{message: m, pattern: {data: {a: x}}}";
    let of = |selector: &str| {
        matching(&format!("resources: {{kinds: [ConfigMap], namespaceSelector: {selector}}}"), check)
    };
    let old = of("{matchLabels: {team: a}}");
    let same = of("{matchExpressions: [{key: team, operator: In, values: [a]}]}");
    assert_eq!(compared(&old, &same).answer, Answer::Proved);
    let found = compared(&old, &of("{matchExpressions: [{key: team, operator: Exists}]}"));
    let [one] = &*found.differences else { panic!("{:?}", differences(&found)) };
    assert_eq!(one.kind, DifferenceKind::Stricter);
}

#[test]
fn rules_that_read_external_data_in_one_way_are_equal_relative_to_it() {
    let policy = |value: &str| {
        classic(
            "Pod",
            "{message: m, deny: {conditions: {any: [{key: '{{ dict.data.a }}', operator: Equals, value: VALUE}]}}}",
        )
        .replace("VALUE", value)
        .replace("    validate:", "    context: [{name: dict, configMap: {name: data, namespace: team}}]\n    validate:")
    };
    let found = compared(&policy("x"), &policy("x").replace("message: m", "message: another"));
    assert_eq!(found.answer, Answer::ProvedRelative(vec!["ConfigMap team/data".into()]));
    assert!(matches!(compared(&policy("x"), &policy("y")).answer, Answer::Tested(_)));
}

#[test]
fn objects_that_rules_change_otherwise_are_shown() {
    let mutate = |value: &str| {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}
    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{+(team): {value}}}}}}}}}
"
        )
    };
    assert_eq!(compared(&mutate("a"), &mutate("a")).answer, Answer::Proved);
    let found = compared(&mutate("a"), &mutate("b"));
    assert!(found.differences.iter().all(|d| d.kind == DifferenceKind::Result), "{:?}", differences(&found));
    assert_eq!(found.answer, Answer::Differs);
    let without_anchor = compared(&mutate("a"), &mutate("a").replace("+(team)", "team"));
    assert_eq!(without_anchor.answer, Answer::Differs, "{:?}", differences(&without_anchor));
}

#[test]
fn bounds_of_the_length_of_lists_are_distinguished() {
    let of = |bound: &str| {
        cel("", "configmaps", &format!("size(object.metadata.?finalizers.orValue([])) <= {bound}"))
    };
    let found = compared(&of("2"), &of("3"));
    let [one] = &*found.differences else { panic!("{:?}", differences(&found)) };
    assert_eq!(
        one.object.at(&["metadata", "finalizers"]).and_then(|l| l.as_list()).map(|l| l.len()),
        Some(3)
    );
    assert_eq!(compared(&of("2"), &of("2 && true")).answer, Answer::Proved);
}

#[test]
fn regular_expressions_are_compared_as_languages() {
    let of = |pattern: &str| cel("", "configmaps", &format!("object.metadata.name.matches('{pattern}')"));
    assert_eq!(
        compared(&of("^(dev|test)-[a-z]+$"), &of("^test-[a-z]+$|^dev-[a-z]+$")).answer,
        Answer::Proved
    );
    let found = compared(&of("^dev-[a-z]+$"), &of("^dev-[a-z]*$"));
    let [one] = &*found.differences else { panic!("{:?}", differences(&found)) };
    assert_eq!((one.kind, one.object.text_at(&["metadata", "name"])), (DifferenceKind::Weaker, "dev-"));
}

#[test]
fn texts_of_any_case_are_distinguished() {
    let of = |list: &str| {
        let key = "{{ to_upper(request.object.data.a || '') }}";
        classic(
            "ConfigMap",
            &format!(
                "{{message: m, deny: {{conditions: {{any: [{{key: \"{key}\", operator: AnyIn, value: {list}}}]}}}}}}"
            ),
        )
    };
    assert_eq!(compared(&of("[ALL, NET_RAW]"), &of("[NET_RAW, ALL]")).answer, Answer::Proved);
    let plain = of("[ALL]").replace("to_upper(request.object.data.a || '')", "request.object.data.a || ''");
    let found = compared(&of("[ALL]"), &plain);
    assert!(found.differences.iter().any(|d| d.kind == DifferenceKind::Weaker), "{:?}", differences(&found));
}

#[test]
fn an_admission_policy_of_kubernetes_has_its_own_operations() {
    let native = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations:
  - expression: \"object.metadata.name != 'a'\"
    message: m
";
    let own = cel("", "configmaps", "object.metadata.name != 'a'");
    let found = compared(native, &own);
    assert_eq!(found.answer, Answer::Proved, "{:?}", differences(&found));
}

#[test]
fn a_value_that_no_rule_names_is_one_that_an_api_server_takes() {
    let of = |types: &str| {
        classic(
            "Pod",
            &format!(
                "{{message: m, pattern: {{spec: {{securityContext: {{seccompProfile: {{type: '{types}'}}}}}}}}}}"
            ),
        )
    };
    let found = compared(&of("RuntimeDefault | Localhost"), &of("*"));
    assert!(
        found.differences.iter().any(|d| d.universe == Universe::Cluster
            && d.object.text_at(&["spec", "securityContext", "seccompProfile", "type"]) == "Unconfined"),
        "{:?}",
        differences(&found)
    );
}

#[test]
fn keys_that_patterns_name_by_wildcard_are_tried() {
    let of = |kinds: &str| {
        classic(kinds, "{message: m, pattern: {metadata: {=(annotations): {X(fluxcd.io/*): '*?'}}}}")
    };
    let found = compared(&of("ConfigMap, Secret"), &of("ConfigMap"));
    assert!(
        found.differences.iter().any(|d| d.kind == DifferenceKind::Weaker && d.universe == Universe::Cluster),
        "{:?}",
        differences(&found)
    );
}

#[test]
fn items_with_several_lists_are_as_an_api_server_wants_them() {
    let condition = |field: &str, value: &str| {
        format!("{{key: '{{{{ element.{field} }}}}', operator: AnyIn, value: [{value}]}}")
    };
    let of = |word: &str| {
        let all =
            [condition("apiGroups", "rbac"), condition("resources", "roles"), condition("verbs", "bind")];
        classic(
            "ClusterRole",
            &format!(
                "{{message: m, foreach: [{{list: 'request.object.rules[]', deny: {{conditions: {{{word}: [{}]}}}}}}]}}",
                all.join(", ")
            ),
        )
    };
    let found = compared(&of("all"), &of("any"));
    assert!(
        found
            .differences
            .iter()
            .any(|d| d.kind == DifferenceKind::Stricter && d.universe == Universe::Cluster),
        "{:?} {:?}",
        found.answer,
        differences(&found)
    );
}

#[test]
fn fields_that_need_one_of_others_have_one() {
    let of = |word: &str| cel("", "pods", &format!("object.spec.containers.{word}(c, has(c.livenessProbe))"));
    let found = compared(&of("all"), &of("exists"));
    let [one] = &*found.differences else { panic!("{:?}", differences(&found)) };
    assert_eq!((one.kind, one.universe), (DifferenceKind::Weaker, Universe::Cluster));
}

#[test]
fn a_global_anchor_decides_about_the_whole_pattern() {
    let of = |class: &str| {
        classic(
            "PersistentVolumeClaim",
            &format!(
                "{{message: m, pattern: {{metadata: {{annotations: {{a: '?*'}}}}, spec: {{<(storageClassName): {class}}}}}}}"
            ),
        )
    };
    assert_eq!(compared(&of("nfs"), &of("nfs")).answer, Answer::Proved);
    assert_eq!(compared(&of("nfs"), &of("nf")).answer, Answer::Differs);
}

#[test]
fn a_field_that_an_api_server_shows_as_null_is_a_class() {
    let of = |guard: &str| {
        cel(
            "rbac.authorization.k8s.io",
            "roles",
            &format!("object.rules {guard} null || !object.rules.exists(rule, '*' in rule.resources)"),
        )
    };
    let found = differences(&compared(&of("=="), &of("!=")));
    let nulls = |(kind, universe, _, object): &(DifferenceKind, Universe, String, String)| {
        (*kind, *universe) == (DifferenceKind::Stricter, Universe::Cluster)
            && object.contains(r#""rules":null"#)
    };
    assert!(found.iter().any(nulls), "{found:?}");
}

#[test]
fn a_text_with_a_wildcard_is_a_text_where_equality_counts() {
    let of = |text: &str| {
        cel(
            "rbac.authorization.k8s.io",
            "roles",
            &format!("object.rules == null || !object.rules.exists(rule, '{text}' in rule.resources)"),
        )
    };
    assert_eq!(compared(&of("*"), &of("?*")).answer, Answer::Differs);
    assert_eq!(compared(&of("*"), &of("*")).answer, Answer::Proved);
}

#[test]
fn pod_security_controls_of_two_versions_are_proved_equal_field_by_field() {
    let level = |version: &str, exclude: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE]}}}}]}}\n    validate: {{podSecurity: {{level: baseline, version: {version}{exclude}}}}}\n"
        )
    };
    let same = compared(&level("v1.24", ""), &level("v1.25", ""));
    assert_eq!(same.answer, Answer::Proved, "{:?}", same.reasons);
    // Safe sysctls were added.
    assert_eq!(compared(&level("v1.26", ""), &level("v1.27", "")).answer, Answer::Differs);
    let images = ", exclude: [{controlName: Capabilities, images: ['x/*']}]";
    assert_eq!(compared(&level("v1.25", ""), &level("v1.25", images)).answer, Answer::Differs);
    let of = |control: &str, images: &str| {
        level("v1.25", &format!(", exclude: [{{controlName: {control}, images: [{images}]}}]"))
    };
    for control in ["Capabilities", "Seccomp"] {
        let found = compared(&of(control, "'x/*', z"), &of(control, "z, 'x/*'"));
        assert_eq!(found.answer, Answer::Proved, "{control}: {:?}", found.reasons);
        assert_eq!(
            compared(&of(control, "'x/*', z"), &of(control, "z")).answer,
            Answer::Differs,
            "{control}"
        );
    }
}

#[test]
fn a_requirement_that_counts_after_another_one_is_compared_with_it() {
    let restricted = |exclude: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}\nspec:\n  rules:\n  \
             - name: r\n    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE]}}}}]}}\n    validate: {{podSecurity: {{level: restricted, version: v1.24, \
             exclude: [{{controlName: Privilege Escalation, images: ['*']}}, {{controlName: Capabilities, images: ['*']}}, {{controlName: Seccomp, images: [{exclude}]}}]}}}}\n"
        )
    };
    // With a container that is exempt for its profile the others need none.
    let found = compared(&restricted("'x/*'"), &restricted("'x/*', 'z/*'"));
    assert_eq!(found.answer, Answer::Differs);
    let all = compared(&restricted("'*'"), &restricted("'*', x"));
    assert_eq!(all.answer, Answer::Proved, "{:?}", all.reasons);
}

#[test]
fn violations_of_pod_security_controls_are_tried() {
    let level = |kind: &str, action: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}\nspec:\n  validationFailureAction: {action}\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [{kind}], operations: [CREATE]}}}}]}}\n    validate: {{podSecurity: {{level: baseline, version: latest}}}}\n"
        )
    };
    let kinds = |old: &str, new: &str| -> Vec<DifferenceKind> {
        let few = Options { objects: 200, ..Options::default() };
        compare(&side(old), &side(new), few).differences.iter().map(|one| one.kind).collect()
    };
    let old = level("Pod", "Audit");
    assert_eq!(kinds(&old, &level("Pod", "Enforce")), [DifferenceKind::Action]);
    assert!(kinds(&old, &level("Deployment", "Audit")).contains(&DifferenceKind::Weaker));
}

#[test]
fn of_expressions_about_the_kind_of_the_object_the_part_that_counts_is_compared() {
    let cel = |expression: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: ['', batch], \
             apiVersions: [v1], resources: [pods, jobs], operations: [CREATE]}}]}}\n  variables: [{{name: spec, expression: \"{expression}\"}}]\n  validations: \
             [{{expression: \"variables.spec.containers.all(c, c.image != 'x')\"}}]\n"
        )
    };
    let pods = cel("object.kind == 'Pod' ? object.spec : object.spec.template.spec");
    let jobs = cel("object.kind in ['Job', 'CronJob'] ? object.spec.template.spec : object.spec");
    let found = compared(&pods, &jobs);
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    let none = cel("object.kind == 'Pod' ? object.spec : dyn({'containers': []})");
    assert_eq!(compared(&pods, &none).answer, Answer::Differs);
}
