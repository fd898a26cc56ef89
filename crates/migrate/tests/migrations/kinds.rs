//! Rules that do more than validate: policies of the kinds that take their place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use ephor_migrate::{DocumentOutcome, Limits, Options, file};

/// The text that takes the place of a policy, the word for its proof, and the notes.
pub fn migrated(text: &str) -> (String, String, Vec<String>) {
    let limits = Limits { time: Some(Duration::from_secs(4)), ..Limits::default() };
    let file = file("old.yaml", text, &Options::default(), limits).unwrap();
    let part = file.parts.first().unwrap();
    match &part.outcome {
        DocumentOutcome::Moved(migrated, proof) => {
            let notes = migrated.notes.iter().map(|note| note.text.clone()).collect();
            let proof = proof.as_ref().as_ref().unwrap();
            let shown = proof.claim.differences.first().map(|d| format!("{d:?}")).unwrap_or_default();
            (file.migrated(), format!("{}{shown}", proof.claim.answer.name()), notes)
        }
        DocumentOutcome::Refused(all) => {
            (String::new(), format!("refused: {}", all.first().unwrap().construct), Vec::new())
        }
        DocumentOutcome::Unreadable(why) => panic!("{why}"),
        DocumentOutcome::Unchanged => panic!("not migrated"),
    }
}

/// A policy with a rule on a kind: the parts of the rule, indented by four blanks.
pub fn rule(kind: &str, parts: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
spec:
  rules:
  - name: r
    match:
      any:
      - resources: {{kinds: [{kind}], operations: [CREATE, UPDATE]}}
{parts}"
    )
}

pub fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn targets_that_depend_on_the_request_are_returned_by_an_expression() {
    let (text, word, notes) = migrated(&rule(
        "ConfigMap",
        "    mutate:
      targets:
      - apiVersion: v1
        kind: Secret
        namespace: '{{ request.object.metadata.namespace }}'
        name: copy-*
        preconditions:
          all:
          - {key: '{{ target.type }}', operator: Equals, value: Opaque}
      patchStrategicMerge:
        metadata:
          labels:
            from: '{{ request.object.metadata.name }}'
",
    ));
    assert_eq!(word, "tested");
    has(
        &text,
        &[
            "kind: MutatingPolicy",
            "    mutateExisting:\n      enabled: true\n",
            "  targetMatchConstraints:\n    expression: resource.list('v1', 'secrets', object.metadata.namespace)\n",
            "expression: object.metadata.name.startsWith('copy-')",
            "expression: object.type == 'Opaque'",
            "labels: {'from': request.object.metadata.name}",
        ],
    );
    assert!(notes.iter().any(|note| note.contains("`mutateExistingOnPolicyUpdate`")), "{notes:?}");
}

#[test]
fn targets_that_are_always_the_same_are_selected() {
    let (text, _, notes) = migrated(&rule(
        "ConfigMap",
        "    mutate:
      mutateExistingOnPolicyUpdate: true
      targets:
      - {apiVersion: v1, kind: Namespace, name: a}
      - {apiVersion: apps/v1, kind: Deployment, selector: {matchLabels: {app: x}}}
      patchStrategicMerge: {metadata: {labels: {seen: 'yes'}}}
",
    ));
    has(
        &text,
        &[
            "resources: [namespaces]\n        operations: ['*']",
            "expression: object.metadata.name == 'a'",
            "resources: [deployments]",
            "object.metadata.?labels[?'app'].orValue('') == 'x'",
        ],
    );
    assert_eq!(text.matches("kind: MutatingPolicy").count(), 2);
    assert!(notes.is_empty(), "{notes:?}");
}

/// A rule that verifies images: the parts of its entry, indented by six blanks.
fn images(parts: &str) -> (String, String, Vec<String>) {
    migrated(&rule("Pod", &format!("    verifyImages:\n    - imageReferences: ['ghcr.io/own/*']\n{parts}")))
}

#[test]
fn each_set_of_attestors_is_a_validation_that_counts_who_signed() {
    let key = "-----BEGIN PUBLIC KEY-----\n              MFk=\n              -----END PUBLIC KEY-----";
    let (text, word, notes) = images(&format!(
        "      failureAction: Enforce
      attestors:
      - count: 1
        entries:
        - keys:
            publicKeys: |-
              {key}
              {key}
        - keyless:
            issuer: https://issuer.example
            subject: https://own.example/*
            rekor: {{url: https://log.example, ignoreTlog: true}}
      - entries:
        - keys: {{secret: {{namespace: a, name: b}}}}
"
    ));
    assert_eq!(word, "tested", "{text}");
    has(
        &text,
        &[
            "kind: ImageValidatingPolicy",
            "validationActions: [Deny]",
            "matchImageReferences:\n    - glob: ghcr.io/own/*\n",
            "issuer: https://issuer.example\n              subjectRegExp: ^(?s)https://own\\.example/.*$",
            "url: https://log.example\n          insecureIgnoreTlog: true",
            "kms: k8s://a/b",
            "verifyImageSignatures(image, [attestors.key, attestors.key, attestors.keyless]) > 0",
            "verifyImageSignatures(image, [attestors.key2]) > 0)",
            "expression: images.containers + images.initContainers + images.ephemeralContainers",
        ],
    );
    assert!(notes.iter().any(|note| note.starts_with("tags get digests")), "{notes:?}");
}

#[test]
fn statements_are_read_as_payloads() {
    let (text, word, _) = images(
        "      mutateDigest: false
      required: false
      attestations:
      - name: scan
        type: https://scan.example/v1
        attestors:
        - entries: [{keyless: {issuer: a, subject: b, roots: x}}]
        conditions:
        - all: [{key: '{{ result.score }}', operator: GreaterThan, value: 5}]
",
    );
    assert_eq!(word, "tested", "{text}");
    has(
        &text,
        &[
            "validationConfigurations:\n    mutateDigest: false\n    required: false\n",
            "attestations:\n    - name: scan\n      intoto:\n        type: https://scan.example/v1\n",
            "verifyAttestationSignatures(image, attestations.scan, [attestors.keyless]) > 0",
            "extractPayload(image, attestations.scan).predicate.result.score",
        ],
    );
}

#[test]
fn images_of_other_kinds_have_extractors() {
    let (text, word, _) = migrated(&rule(
        "example.com/v1/Build",
        "    imageExtractors:
      Build: [{path: /spec/steps/*/image}]
    verifyImages:
    - imageReferences: ['*']
      failureAction: Enforce
      attestors: [{entries: [{keys: {kms: 'awskms:///alias/a'}}]}]
",
    ));
    assert_eq!(word, "tested", "{text}");
    has(&text, &["images:\n    - name: custom", "images.custom.all(image,", "kms: awskms:///alias/a"]);
    assert!(!text.contains("matchImageReferences"), "{text}");
}

#[test]
fn copies_are_handed_over_as_they_are_or_field_by_field_under_another_name() {
    let copy = |name: &str| {
        migrated(&rule(
            "Namespace",
            &format!(
                "    generate:
      apiVersion: v1
      kind: ConfigMap
      name: {name}
      namespace: '{{{{ request.object.metadata.name }}}}'
      synchronize: true
      clone: {{name: one, namespace: default}}
"
            ),
        ))
    };
    let (same, word, _) = copy("one");
    assert_eq!(word, "proved relative", "{same}");
    // An object is no copy of itself.
    has(
        &same,
        &["[resource.Get('v1', 'configmaps', 'default', 'one')]", "object.metadata.name != 'default'"],
    );
    let (other, word, _) = copy("another");
    assert_eq!(word, "proved relative", "{other}");
    assert!(!other.contains("matchConditions"), "{other}");
    has(
        &other,
        &[
            "'name': 'another'",
            "'resourceVersion': source.metadata.resourceVersion",
            "?'labels': source.metadata.?labels",
            "?'data': source.?data",
        ],
    );
}

#[test]
fn copies_of_all_that_a_selector_selects_are_lists() {
    let (text, word, _) = migrated(&rule(
        "Namespace",
        "    generate:
      namespace: '{{ request.object.metadata.name }}'
      cloneList:
        namespace: default
        kinds: [v1/Secret, v1/ConfigMap]
        selector: {matchLabels: {copy: 'yes'}}
",
    ));
    assert_eq!(word, "proved relative", "{text}");
    let list = |plural: &str| format!("resource.List('v1', '{plural}', 'default', {{'copy': 'yes'}})");
    has(&text, &[&list("secrets"), &list("configmaps"), "generator.Apply("]);
}

#[test]
fn objects_for_elements_of_a_list_are_handed_over_one_by_one() {
    let (text, word, _) = migrated(&rule(
        "ConfigMap",
        "    generate:
      foreach:
      - list: request.object.metadata.finalizers[]
        preconditions: {all: [{key: '{{ element }}', operator: NotEquals, value: none}]}
        apiVersion: v1
        kind: ConfigMap
        name: 'copy-{{ element }}'
        namespace: default
        data: {data: {of: '{{ request.object.metadata.name }}'}}
",
    ));
    assert_eq!(word, "tested", "{text}");
    has(
        &text,
        &[
            "object.metadata.?finalizers.orValue([]).filter(finalizer,",
            "finalizer != 'none'",
            ".all(finalizer,",
            "'name': 'copy-' + finalizer",
        ],
    );
}

/// The mutations of a rule on pods: the parts of `mutate`, indented by six blanks.
fn mutate(parts: &str) -> (String, String) {
    let (text, word, _) = migrated(&rule("Pod", &format!("    mutate:\n{parts}")));
    (text, word)
}

#[test]
fn loops_of_json_patches_give_operations_for_each_element() {
    let (text, word) = mutate(
        "      foreach:
      - list: request.object.spec.containers
        preconditions: {all: [{key: '{{ element.name }}', operator: NotEquals, value: skip}]}
        patchesJson6902: |-
          - {op: add, path: '/spec/containers/{{elementIndex}}/env/-', value: {name: IMAGE, value: '{{ element.image }}'}}
",
    );
    assert_eq!(word, "tested", "{text}");
    has(
        &text,
        &[
            "object.spec.containers.transformList(index,",
            "container.name != 'skip'",
            "has(container.env)",
            "path: '/spec/containers/' + string(index) + '/env/-'",
            ".flatten()",
        ],
    );
}

#[test]
fn positions_of_another_list_than_that_of_the_loop_are_refused() {
    for operation in [
        "op: remove, path: '/spec/containers/{{elementIndex}}/env'",
        "op: replace, path: '/spec/containers/{{elementIndex}}/tty', value: {{ element.stdin }}",
    ] {
        let (_, word) = mutate(&format!(
            "      foreach:
      - list: request.object.spec.[initContainers, containers][]
        patchesJson6902: |-
          - {{{operation}}}
"
        ));
        assert_eq!(word, "refused: the position of an element in another list than its own");
    }
}

#[test]
fn an_element_of_several_lists_writes_at_its_position_in_one_of_them() {
    let (text, word) = mutate(
        "      foreach:
      - list: request.object.spec.[initContainers, containers][]
        preconditions: {all: [{key: '{{ element.image }}', operator: Equals, value: 'a*'}]}
        patchesJson6902: |-
          - {op: add, path: '/spec/containers/{{elementIndex}}/tty', value: true}
",
    );
    assert_eq!(word, "proved relative", "{text}");
    has(
        &text,
        &[
            "# item of the list that is changed adds one without a name, which an API server refuses.",
            // Positions count in the order of the old list.
            "(object.spec.?initContainers.orValue([]) + object.spec.containers).transformList(index,",
            "index >= object.spec.containers.size()",
            "[JSONPatch{op: 'add', path: '/spec/containers/-', value: {}}]",
            "path: '/spec/containers/' + string(index) + '/tty'",
        ],
    );
}

#[test]
fn lists_whose_positions_are_read_stay_in_their_order() {
    let check = |key: &str| {
        let (text, ..) = migrated(&rule(
            "Pod",
            &format!(
                "    validate: {{foreach: [{{list: 'request.object.spec.[initContainers, containers][]', deny: {{conditions: {{all: [{{key: '{key}', operator: Equals, value: 0}}, {{key: '{{{{ element.image }}}}', operator: Equals, value: x}}]}}}}}}]}}\n"
            ),
        ));
        text
    };
    has(
        &check("{{ elementIndex }}"),
        &["expression: object.spec.?initContainers.orValue([]) + object.spec.containers"],
    );
    has(
        &check("{{ length(element.name) }}"),
        &["expression: object.spec.containers + object.spec.?initContainers.orValue([])"],
    );
}

#[test]
fn positions_in_paths_are_guarded_where_a_list_may_have_no_such_item() {
    let (text, word) =
        mutate("      patchesJson6902: |-\n        - {op: remove, path: /spec/tolerations/0}\n");
    assert_eq!(word, "tested", "{text}");
    has(&text, &["object.spec.?tolerations.orValue([]).size() > 0", "path: '/spec/tolerations/0'"]);
}

#[test]
fn a_merge_in_a_loop_over_several_lists_changes_the_list_that_it_names() {
    let (text, word) = mutate(
        "      foreach:
      - list: request.object.spec.[initContainers, containers][]
        patchStrategicMerge:
          spec:
            containers:
            - (name): '{{ element.name }}'
              imagePullPolicy: Always
",
    );
    assert_eq!(word, "proved relative", "{text}");
    has(&text, &["object.spec.containers.map(element,"]);
    assert!(!text.contains("initContainers"), "{text}");
}

#[test]
fn computed_keys_of_a_merge_are_entries_for_each_element() {
    let (text, word) = mutate(
        "      foreach:
      - list: request.object.spec.containers
        patchStrategicMerge: {metadata: {annotations: {'of/{{ element.name }}': 'yes'}}}
",
    );
    assert_eq!(word, "proved relative", "{text}");
    has(&text, &["object.spec.containers.transformMapEntry(", "{'of/' + container.name: 'yes'}"]);
}

#[test]
fn lists_of_items_that_are_replaced_as_a_whole_are_patches_for_each_item() {
    let (text, word) = mutate(
        "      patchStrategicMerge:
        spec:
          containers:
          - (name): a*
            args: [--x]
",
    );
    assert_eq!(word, "proved relative", "{text}");
    has(
        &text,
        &[
            "object.spec.containers.transformList(index,",
            "item.name.startsWith('a')",
            "path: '/spec/containers/' + string(index) + '/args'",
        ],
    );
}

#[test]
fn regular_expressions_replace_with_groups_by_number() {
    let (text, word) = mutate(
        "      foreach:
      - list: request.object.spec.containers
        patchStrategicMerge:
          spec:
            containers:
            - name: '{{ element.name }}'
              image: \"{{ regex_replace_all('^(.*)$', '{{element.image}}', 'own/$1') }}\"
",
    );
    assert_eq!(word, "proved relative", "{text}");
    has(&text, &["regex.replace(element.image, '^(.*)$', r'own/\\1')"]);
}

#[test]
fn random_texts_are_compared_as_one_text() {
    let (text, word) =
        mutate("      patchStrategicMerge: {metadata: {annotations: {id: \"{{ random('[a-z]{8}') }}\"}}}\n");
    assert_eq!(word, "tested", "{text}");
    has(&text, &["random('[a-z]{8}')"]);
}

#[test]
fn a_policy_that_checks_and_changes_pods_does_the_same_to_their_controllers() {
    let text = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
spec:
  validationFailureAction: Enforce
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {labels: {team: '?*'}}}}
  - name: add
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(env): dev}}}}
";
    let limits = Limits { time: Some(Duration::from_secs(60)), ..Limits::default() };
    let file = file("old.yaml", text, &Options::default(), limits).unwrap();
    let DocumentOutcome::Moved(_, proof) = &file.parts[0].outcome else { panic!("not migrated") };
    let proof = proof.as_ref().as_ref().unwrap();
    assert!(
        matches!(proof.claim.answer, ephor_compare::Answer::ProvedRelative(_)),
        "{:?}",
        proof.claim.answer
    );
    // The generation of rules for controllers would make an error of `Object.metadata`.
    let controllers = ["kind: MutatingPolicy", "template: Object.spec.template{", "labels: {"];
    has(&file.migrated(), &controllers);
}

#[test]
fn kinds_that_no_request_has_are_named() {
    let (_, word, _) = migrated(&rule("PodExecOptions", "    validate: {deny: {}}\n"));
    assert_eq!(
        word,
        "refused: the kind `PodExecOptions` of what is sent to subresources, which no request has"
    );
    let (text, _, notes) = migrated(&rule("Pod/exec, PodExecOptions", "    validate: {deny: {}}\n"));
    has(&text, &["resources: [pods/exec]"]);
    assert!(notes.iter().any(|note| note.starts_with("`PodExecOptions` selects nothing")), "{notes:?}");
}

#[test]
fn tests_of_json_patches_are_conditions_of_what_nothing_before_them_changes() {
    let patch = |operations: &str| {
        migrated(&rule("ConfigMap", &format!("    mutate:\n      patchesJson6902: |-\n{operations}")))
    };
    let (text, word, _) = patch(
        "        - {op: add, path: /metadata/labels/b, value: x}\n        - {op: test, path: /metadata/labels/a, value: one}\n",
    );
    assert!(word.starts_with("tested"), "{word}");
    has(&text, &["- name: test\n      expression: object.metadata.?labels.?a.orValue('') == 'one'"]);
    let (_, word, _) = patch(
        "        - {op: remove, path: /metadata/labels}\n        - {op: test, path: /metadata/labels/a, value: one}\n",
    );
    assert_eq!(word, "refused: a test of a JSON patch of what an operation before it may change");
}

#[test]
fn roles_are_refused_in_policies_of_a_namespace() {
    let policy = rule(
        "ConfigMap",
        "    exclude: {any: [{clusterRoles: [admin]}]}\n    validate: {message: m, pattern: {data: {a: b}}}\n",
    )
    .replace("spec:\n", "spec:\n  background: false\n");
    assert_eq!(migrated(&policy).1, "proved relative");
    // Those look up objects of their own namespace alone.
    let own =
        policy.replace("ClusterPolicy", "Policy").replace("  name: p\n", "  name: p\n  namespace: team\n");
    assert_eq!(migrated(&own).1, "refused: `clusterRoles` of users");
}
