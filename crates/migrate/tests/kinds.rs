//! Rules that do more than validate: policies of the kinds that take their place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use ephor_migrate::{Limits, Options, Outcome, file};

/// The text that takes the place of a policy, the word for its proof, and the notes.
fn migrated(text: &str) -> (String, String, Vec<String>) {
    let file = file("old.yaml", text, &Options::default(), Limits::default()).unwrap();
    let part = file.parts.first().unwrap();
    match &part.outcome {
        Outcome::Moved(migrated, proof) => {
            let notes = migrated.notes.iter().map(|note| note.text.clone()).collect();
            let proof = proof.as_ref().as_ref().unwrap();
            let shown = proof.differences.first().map(|d| format!("{d:?}")).unwrap_or_default();
            (file.migrated(), format!("{}{shown}", proof.answer.name()), notes)
        }
        Outcome::Refused(all) => {
            (String::new(), format!("refused: {}", all.first().unwrap().construct), Vec::new())
        }
        Outcome::Unreadable(why) => panic!("{why}"),
        Outcome::Unchanged => panic!("not migrated"),
    }
}

/// A policy with a rule on a kind: the parts of the rule, indented by four blanks.
fn rule(kind: &str, parts: &str) -> String {
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

fn has(text: &str, parts: &[&str]) {
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
    assert_eq!(word, "incomparable");
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
    assert_eq!(word, "incomparable", "{text}");
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
    assert_eq!(word, "incomparable", "{text}");
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
    assert_eq!(word, "incomparable", "{text}");
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
    assert_eq!(word, "tested", "{same}");
    has(&same, &["[resource.Get('v1', 'configmaps', 'default', 'one')]"]);
    let (other, word, _) = copy("another");
    assert_eq!(word, "tested", "{other}");
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
    assert_eq!(word, "tested", "{text}");
    let list = |plural: &str| format!("resource.List('v1', '{plural}', 'default', {{'copy': 'yes'}})");
    has(&text, &[&list("secrets"), &list("configmaps"), "generator.Apply("]);
}

#[test]
fn objects_for_elements_of_a_list_are_handed_over_one_by_one() {
    let (text, word, _) = migrated(&rule(
        "ConfigMap",
        "    generate:
      foreach:
      - list: request.object.metadata.finalizers
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
