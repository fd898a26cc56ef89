//! What a collection of policies of our own showed: constructs that were lost, refused or written
//! in another sense.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_migrate::{Limits, Options, exceptions, file};

use super::kinds::{has, migrated, rule};

#[test]
fn preconditions_that_load_data_stay_with_generations_and_mutations() {
    let context = "    context:
    - name: pods
      apiCall: {urlPath: '/api/v1/namespaces/{{request.namespace}}/pods', jmesPath: 'items[]'}
    preconditions:
      all:
      - {key: '{{ length(pods) }}', operator: GreaterThan, value: 0}
";
    let generate = "    generate: {apiVersion: v1, kind: Secret, name: x, namespace: '{{request.namespace}}', data: {type: Opaque}}\n";
    let mutate = "    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}\n";
    for body in [generate, mutate] {
        let (text, word, _) = migrated(&rule("ConfigMap", &format!("{context}{body}")));
        has(&text, &["expression: dyn(resource.list('v1', 'pods', request.namespace)).items.size() > 0"]);
        assert_eq!(word, "tested", "{text}");
    }
}

#[test]
fn the_kind_of_generated_data_counts() {
    let (text, word, _) = migrated(&rule(
        "Namespace",
        "    generate: {apiVersion: v1, kind: Secret, name: x, namespace: '{{request.object.metadata.name}}', data: {kind: ConfigMap}}\n",
    ));
    has(&text, &["kind: ConfigMap"]);
    assert_eq!(word, "proved", "{text}");
}

#[test]
fn variables_in_a_list_fail_where_they_are_missing() {
    let deny = |key: &str| {
        format!(
            "    validate: {{deny: {{conditions: {{any: [{{key: [{key}], operator: AnyNotIn, value: [x, z]}}]}}}}}}\n"
        )
    };
    let (text, word, _) = migrated(&rule("ConfigMap", &deny("'{{request.object.metadata.labels.app}}'")));
    has(&text, &["- expression: object.metadata.labels.app in ['x', 'z']"]);
    assert_eq!(word, "proved");
    let several = "'{{request.object.metadata.labels.a}}', '{{request.object.metadata.labels.b}}'";
    let (text, word, _) = migrated(&rule("ConfigMap", &deny(several)));
    has(&text, &["[object.metadata.labels.a, object.metadata.labels.b].all(item, item in ['x', 'z'])"]);
    assert_eq!(word, "proved", "{text}");
}

#[test]
fn requests_that_connect_are_selected_next_to_others() {
    let text = rule("Pod, Pod/exec, Pod/*", "    validate: {deny: {}}\n")
        .replace(", operations: [CREATE, UPDATE]", "");
    let (text, word, _) = migrated(&text);
    has(
        &text,
        &[
            "resources: [pods/exec]\n        operations: [CONNECT]",
            "resources: [pods/*]\n        operations: [CREATE, UPDATE, DELETE, CONNECT]",
        ],
    );
    assert_eq!(word, "proved", "{text}");
}

#[test]
fn what_reads_no_object_denies_deletions_too() {
    let deny = "    exclude: {any: [{subjects: [{kind: Group, name: ops}]}]}\n    validate: {deny: {}}\n";
    let (text, word, notes) = migrated(
        &rule("ConfigMap", deny)
            .replace(", operations: [CREATE, UPDATE]", "")
            .replace("spec:\n", "spec:\n  background: false\n"),
    );
    has(&text, &["operations: [CREATE, UPDATE, DELETE]"]);
    assert_eq!(word, "proved");
    assert!(!notes.iter().any(|note| note.starts_with("deletions")), "{notes:?}");
}

#[test]
fn messages_of_conditions_are_those_of_their_validations() {
    let (text, _, notes) = migrated(&rule(
        "Service",
        "    validate:
      message: refused
      deny:
        conditions:
          any:
          - {key: '{{ request.object.spec.type }}', operator: Equals, value: NodePort, message: 'type {{ request.object.spec.type }}'}
          - {key: '{{ request.object.metadata.name }}', operator: Equals, value: x, message: its name}
",
    ));
    has(&text, &["'refused; type ' + object.spec.?type.orValue('')", "message: refused; its name"]);
    assert!(notes.iter().all(|note| !note.contains("message")), "{notes:?}");
}

#[test]
fn amounts_of_variables_are_compared_as_amounts() {
    let (text, word, _) = migrated(&rule(
        "Pod",
        "    validate:
      message: m
      foreach:
      - list: request.object.spec.containers
        pattern: {resources: {limits: {memory: '{{ element.resources.requests.memory }}'}}}
",
    ));
    has(&text, &["?memory.orValue('0'))).compareTo("]);
    assert_eq!(word, "tested", "{text}");
}

#[test]
fn a_gate_in_a_list_is_a_condition_of_the_policy() {
    let (text, word, _) = migrated(&rule(
        "Pod",
        "    mutate:
      patchStrategicMerge:
        spec:
          containers: [{<(image): 'corp/*'}]
          imagePullSecrets: [{name: own}]
",
    ));
    has(&text, &["object.spec.containers.exists(container,", "'corp/'", "{'name': 'own'}"]);
    assert_eq!(word, "tested", "{text}");
}

#[test]
fn the_first_item_decides_about_additions_to_all() {
    let (text, word, _) = migrated(&rule(
        "Pod",
        "    mutate:
      patchStrategicMerge:
        spec:
          containers:
          - (name): '*'
            +(imagePullPolicy): Always
            securityContext: {+(privileged): false}
",
    ));
    has(
        &text,
        &[
            "?imagePullPolicy: has(object.spec.containers[0].imagePullPolicy)",
            "optional.of(Object.spec.containers.securityContext{privileged: false})",
        ],
    );
    assert_eq!(word, "tested", "{text}");
}

#[test]
fn additions_to_the_last_item_create_the_list_where_it_is_missing() {
    let (text, word, _) = migrated(&rule(
        "Ingress",
        "    mutate:
      patchesJson6902: |-
        - {op: add, path: /spec/tls/-1/hosts/-1, value: a}
",
    ));
    has(&text, &["object.spec.?tls.orValue([]).size() > 0", "value: [{'hosts': ['a']}]"]);
    assert_eq!(word, "tested", "{text}");
}

#[test]
fn a_policy_of_which_an_exception_names_a_rule_is_taken_apart() {
    let rules = rule("ConfigMap", "    validate: {message: one, pattern: {metadata: {labels: {a: '?*'}}}}\n")
        + "  - name: s
    match: {any: [{resources: {kinds: [ConfigMap], operations: [CREATE, UPDATE]}}]}
    validate: {message: two, pattern: {metadata: {labels: {b: '?*'}}}}
";
    let exception = "apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: default}
spec:
  exceptions: [{policyName: p, ruleNames: [s]}]
  match: {any: [{resources: {kinds: [ConfigMap], names: [x]}}]}
";
    let text = format!("{rules}---\n{exception}");
    let mut files = vec![file("old.yaml", &text, &Options::default(), Limits::default()).unwrap()];
    exceptions(&mut files, &Options::default(), Limits::default());
    let text = files.first().unwrap().migrated();
    has(
        &text,
        &[
            "name: p-r\n",
            "name: p-s\n",
            "kind: PolicyException",
            "    - name: p-s\n      kind: ValidatingPolicy",
        ],
    );
}

#[test]
fn variables_in_variables_of_generated_data_are_one_placeholder() {
    let (text, word, _) = migrated(&rule(
        "Namespace",
        "    generate:
      apiVersion: v1
      kind: ConfigMap
      name: x
      namespace: '{{request.object.metadata.name}}'
      data: {data: {a: \"{{ join('-', ['b', '{{request.object.metadata.name}}']) }}\"}}
",
    ));
    assert!(!text.contains("{{"), "{text}");
    has(&text, &["(( ['b', object.metadata.name].join('-') ))"]);
    assert_eq!(word, "tested");
}

#[test]
fn roles_are_looked_up_and_compared_as_groups() {
    let deny = "    exclude: {any: [{clusterRoles: [admin]}]}
    validate: {message: wrong, deny: {conditions: {any: [{key: '{{request.object.data.a || `\"\"`}}', operator: Equals, value: b}]}}}
";
    let old = rule("ConfigMap", deny).replace("spec:\n", "spec:\n  background: false\n");
    let (text, word, notes) = migrated(&old);
    has(&text, &["name: exclude-cluster-roles", "binding.roleRef.name == 'admin'"]);
    assert_eq!(word, "proved relative", "{text}");
    assert!(notes.iter().any(|note| note.contains("looks them up in the role bindings")), "{notes:?}");
    // Objects outside of namespaces, and roles of a namespace.
    let (_, word, _) =
        migrated(&old.replace("ConfigMap", "Namespace, Pod").replace("data.a", "metadata.labels.a"));
    assert_eq!(word, "proved relative");
    let (_, word, _) = migrated(&old.replace("clusterRoles: [admin]", "roles: ['dev:edit']"));
    assert_eq!(word, "proved relative");
}

#[test]
fn two_counts_of_one_list_are_a_test_of_each_item() {
    let counts = "    validate:
      deny:
        conditions:
          any:
          - key: '{{ request.object.spec.containers[].ports[?hostPort][] | length(@) }}'
            operator: NotEquals
            value: \"{{ request.object.spec.containers[].ports[?hostPort && protocol == 'TCP'][] | length(@) }}\"
";
    let (text, _, _) = migrated(&rule("Pod", counts));
    has(&text, &["has(port.hostPort) && port.?protocol.orValue('') != 'TCP'"]);
    assert!(!text.contains("size()"), "{text}");
}

#[test]
fn a_path_of_the_api_may_have_group_and_version_in_one_variable() {
    let call = "    context: [{name: found, apiCall: {urlPath: '/apis/{{ request.object.spec.scaleTargetRef.apiVersion }}/namespaces/{{ request.namespace }}/{{ to_lower(request.object.spec.scaleTargetRef.kind) }}s', jmesPath: 'length(items)'}}]\n    validate: {message: m, deny: {conditions: {all: [{key: '{{ found }}', operator: LessThan, value: 1}]}}}\n";
    let (text, word, notes) = migrated(&rule("HorizontalPodAutoscaler", call));
    has(
        &text,
        &[
            "resource.list(",
            "object.spec.scaleTargetRef.apiVersion,",
            "object.spec.scaleTargetRef.kind.lowerAscii() + 's'",
        ],
    );
    assert_eq!(word, "tested", "{text}");
    assert!(notes.iter().any(|note| note.contains("names kinds of the core")), "{notes:?}");
    // Group and version may be two, and a version one.
    let two = call.replace("spec.scaleTargetRef.apiVersion }}", "metadata.labels.group }}/v1");
    has(&migrated(&rule("HorizontalPodAutoscaler", &two)).0, &["object.metadata.labels.group + '/' + 'v1'"]);
}

#[test]
fn a_message_reads_an_entry_under_the_name_of_the_namespace() {
    let (text, _, notes) = migrated(&rule(
        "Pod",
        "    context: [{name: dict, configMap: {name: allowed, namespace: default}}]
    validate:
      message: 'one of {{ dict.data.\"{{request.namespace}}\" }}'
      deny: {conditions: {any: [{key: '{{ request.object.spec.hostname }}', operator: NotEquals, value: '{{ dict.data.\"{{request.namespace}}\" }}'}]}}
",
    ));
    has(&text, &["'one of ' + variables.dict.?data[?request.namespace].orValue('')"]);
    assert!(!notes.iter().any(|note| note.contains("without")), "{notes:?}");
}

#[test]
fn a_list_with_an_empty_default_is_empty_where_it_is_missing() {
    for (variable, condition, expected) in [
        (
            "{jmesPath: 'request.object.spec.tolerations[].key', default: []}",
            "{key: \"{{ contains(own, '*') }}\", operator: Equals, value: true}",
            "object.spec.?tolerations.orValue([]).exists(",
        ),
        (
            "{jmesPath: \"request.object.spec.tolerations[?key=='a'] | length(@)\", default: 0}",
            "{key: '{{ own }}', operator: GreaterThan, value: 0}",
            "object.spec.?tolerations.orValue([]).",
        ),
    ] {
        let (text, word, _) = migrated(&rule(
            "Pod",
            &format!(
                "    context:\n    - {{name: own, variable: {variable}}}\n    validate:\n      message: m\n      deny: {{conditions: {{any: [{condition}]}}}}\n"
            ),
        ));
        has(&text, &[expected]);
        assert_eq!(word, "proved", "{text}");
    }
}

#[test]
fn entries_of_a_written_object_are_looked_up() {
    for (key, word) in [("\"{{ own }}\"", "proved"), ("{{ own }}", "proved relative")] {
        let (text, found, _) = migrated(&rule(
            "PersistentVolumeClaim",
            &format!(
                "    context:\n    - {{name: limits, variable: {{value: {{gold: 500Gi, silver: 2Ti}}}}}}\n    - {{name: own, variable: {{jmesPath: \"request.object.spec.storageClassName || 'silver'\"}}}}\n    validate:\n      message: m\n      deny:\n        conditions:\n          any:\n          - {{key: '{{{{ request.object.spec.resources.requests.storage }}}}', operator: GreaterThan, value: '{{{{ limits.{key} || ''50Gi'' }}}}'}}\n"
            ),
        ));
        has(&text, &["{'gold': '500Gi', 'silver': '2Ti'}[?", ".orValue('50Gi')"]);
        assert_eq!(found, word, "{text}");
    }
}

#[test]
fn what_reads_an_item_of_a_loop_by_two_names_is_no_variable_of_the_policy() {
    let (text, word, _) = migrated(&rule(
        "Deployment",
        "    validate:
      message: m
      foreach:
      - list: request.object.spec.template.spec.topologySpreadConstraints
        context:
        - {name: labels, variable: {jmesPath: request.object.spec.template.metadata.labels, default: {}}}
        deny:
          conditions:
            any:
            - {key: '{{ label_match(element.labelSelector.matchLabels || `{\"none\":\"none\"}`, labels) }}', operator: Equals, value: false}
            - {key: '{{ elementIndex }}', operator: GreaterThan, value: 3}
",
    ));
    assert!(!word.starts_with("refused"), "{word}");
    assert!(!text.contains("variables:"), "{text}");
}
