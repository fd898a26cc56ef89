//! Merges as teams write them: sidecars, mounts, labels with variables.
#![allow(clippy::unwrap_used)]

use super::kinds::{has, migrated, rule};

/// A merge for pods, indented by eight blanks.
fn merge(kind: &str, patch: &str) -> String {
    rule(kind, &format!("    mutate:\n      patchStrategicMerge:\n{patch}"))
}

#[test]
fn mounts_are_merged_by_their_paths_in_the_containers_that_are_chosen() {
    let (text, word, _) = migrated(&merge(
        "Pod",
        "        spec:
          containers:
          - (name): '*'
            volumeMounts:
            - {name: ca, mountPath: /etc/ca}
",
    ));
    assert!(word == "proved relative", "{word}");
    has(
        &text,
        &["volumeMounts: [Object.spec.containers.volumeMounts{", "name: item.name,", "mountPath: '/etc/ca'"],
    );
    assert!(!text.contains("JSONPatch{"), "{text}");
}

#[test]
fn a_container_that_is_added_has_its_lists_that_are_replaced_as_a_whole() {
    let (text, word, _) = migrated(&merge(
        "Pod",
        "        spec:
          containers:
          - name: proxy
            image: proxy:1
            args: [-v, --port=1]
            volumeMounts:
            - {mountPath: /ca, name: ca}
          volumes:
          - name: ca
            configMap: {name: ca, items: [{key: a, path: b}]}
",
    ));
    assert!(word.starts_with("tested"), "{word}");
    has(
        &text,
        &[
            "volumeMounts: [Object.spec.containers.volumeMounts{mountPath: '/ca', name: 'ca'}]",
            "item.name == 'proxy',",
            "path: '/spec/containers/' + string(index) + '/args'",
            "item.name == 'ca',",
            "path: '/spec/volumes/' + string(index) + '/configMap/items'",
        ],
    );
}

#[test]
fn ports_are_merged_by_their_numbers() {
    let (text, ..) = migrated(&merge(
        "Pod",
        "        spec:
          containers:
          - (name): '*'
            ports:
            - {containerPort: 1, name: http}
",
    ));
    has(&text, &["ports: [Object.spec.containers.ports{containerPort: 1, name: 'http'}]"]);
}

#[test]
fn items_without_one_of_their_keys_are_no_items_of_such_lists() {
    let (_, word, _) = migrated(&merge(
        "Pod",
        "        spec:
          containers:
          - name: proxy
            volumeMounts:
            - name: ca
",
    ));
    assert_ne!(word, "proved");
}

#[test]
fn labels_with_variables_and_texts_have_one_type_for_the_checker() {
    let (text, word, _) = migrated(&merge(
        "ConfigMap",
        "        metadata:
          labels:
            by: platform
            +(team): '{{ request.namespace }}'
            name: '{{ request.object.metadata.name }}'
",
    ));
    assert!(word.starts_with("tested"), "{word}");
    has(
        &text,
        &[
            "'by': dyn('platform')",
            "optional.of(dyn(request.namespace))",
            "'name': dyn(object.metadata.name)",
        ],
    );
    // All of them are texts, or all come from the object.
    for (labels, answer) in [
        ("by: platform\n            op: '{{ request.operation }}'", "tested"),
        ("name: '{{ request.object.metadata.name }}'", "proved relative"),
    ] {
        let patch = format!("        metadata:\n          labels:\n            {labels}\n");
        let (text, word, _) = migrated(&merge("ConfigMap", &patch));
        assert!(word.starts_with(answer), "{word}");
        assert!(!text.contains("dyn("), "{text}");
    }
}

#[test]
fn items_that_are_replaced_as_a_whole_are_added_where_there_is_none_of_their_name() {
    let (text, ..) = migrated(&merge(
        "Pod",
        "        spec:
          imagePullSecrets:
          - name: regcred
",
    ));
    has(
        &text,
        &[
            "object.spec.imagePullSecrets.exists(item, item.?name == optional.of('regcred'))",
            "JSONPatch{op: 'add', path: '/spec/imagePullSecrets/-', value: {'name': 'regcred'}}",
            "JSONPatch{op: 'add', path: '/spec/imagePullSecrets', value: [{'name': 'regcred'}]}",
        ],
    );
    assert!(!text.contains("imagePullSecrets{"), "{text}");
    // What every admitted object has is not looked for.
    assert!(!text.contains("has(object.spec.jobTemplate.spec)"), "{text}");
}

#[test]
fn what_is_there_decides_about_all_that_would_be_added_with_it() {
    let (text, word, _) = migrated(&merge(
        "Deployment",
        "        spec:
          template:
            spec:
              +(affinity):
                +(podAntiAffinity):
                  +(preferredDuringSchedulingIgnoredDuringExecution):
                  - weight: 1
                    podAffinityTerm: {topologyKey: a}
",
    ));
    has(&text, &["has(object.spec.template.spec.affinity)\n            ? []\n            : [JSONPatch{"]);
    assert!(!text.contains("podAntiAffinity."), "{text}");
    assert!(word.starts_with("proved"), "{word}: {text}");
}

#[test]
fn conditions_about_parts_of_an_object_are_conditions_of_the_policy() {
    let (text, word, _) = migrated(&merge(
        "ConfigMap",
        "        metadata:
          (labels):
            (tier): batch
        data:
          +(pool): spot
",
    ));
    assert!(!word.starts_with("differs"), "{word}");
    has(
        &text,
        &["object.metadata.?labels.?tier.orValue('') == 'batch'", "?'pool': object.?data.?pool.hasValue()"],
    );
    let (_, word, _) = migrated(&merge(
        "ConfigMap",
        "        metadata:
          (labels):
            (tier): batch
            other: x
",
    ));
    assert_eq!(word, "refused: a condition with parts");
}

#[test]
fn a_condition_about_parts_that_are_what_it_says_changes_nothing() {
    let patch = |condition: &str| {
        migrated(&merge(
            "Deployment",
            &format!(
                "        spec:\n          template:\n            spec:\n              {condition}\n              hostNetwork: false\n"
            ),
        ))
    };
    let (text, word, _) = patch("(securityContext): {runAsUser: 0}");
    has(
        &text,
        &["object.spec.template.spec.?securityContext.?runAsUser.orValue(1) == 0", "{hostNetwork: false}"],
    );
    assert_eq!(word, "tested", "{text}");
    // It would be written as the value.
    assert_eq!(patch("(securityContext): {runAsUser: '>0'}").1, "refused: a condition with parts");
}

#[test]
fn keys_that_look_like_anchors_are_named() {
    let (_, _, notes) = migrated(&merge("ConfigMap", "        metadata:\n          =(labels): {a: b}\n"));
    assert!(notes.iter().any(|note| note.starts_with("`=(labels)` is no anchor in mutations")), "{notes:?}");
}

#[test]
fn the_order_of_items_that_are_merged_is_named() {
    let patch = "        spec:\n          volumes:\n          - name: a\n            emptyDir: {}\n";
    let (_, _, notes) = migrated(&merge("Pod", patch));
    assert!(notes.iter().any(|note| note.starts_with("the order of items: ")), "{notes:?}");
    let (_, _, notes) = migrated(&merge("ConfigMap", "        metadata:\n          labels: {a: b}\n"));
    assert!(!notes.iter().any(|note| note.starts_with("the order of items: ")), "{notes:?}");
}

#[test]
fn an_object_of_containers_that_is_added_keeps_out_the_lists_in_it() {
    let (text, word, _) = migrated(&merge(
        "Pod",
        "        spec:
          containers:
          - (name): '*'
            securityContext:
              +(capabilities): {drop: [ALL]}
",
    ));
    assert_ne!(word, "differs");
    // Where the first container has capabilities, none gets any.
    has(
        &text,
        &[
            "object.spec.containers[0].?securityContext.?capabilities.hasValue()\n              ? []",
            "'/securityContext/capabilities/drop'",
        ],
    );
}

#[test]
fn anchors_in_what_an_anchor_adds_count_for_nothing_and_all_of_it_is_added_at_once() {
    let of_loop = |patch: &str| {
        rule(
            "Pod",
            &format!(
                "    mutate:
      foreach:
      - list: request.object.spec.containers
        patchStrategicMerge:
          spec:
            containers:
            - (name): '{{{{ element.name }}}}'
              securityContext:
                {patch}
"
            ),
        )
    };
    for (patch, added) in [
        ("+(capabilities): {+(drop): [ALL]}", "value: {'drop': ['ALL']}"),
        (
            "+(capabilities): {drop: [ALL], +(add): [CHOWN]}",
            "value: {'drop': dyn(['ALL']), 'add': dyn(['CHOWN'])}",
        ),
    ] {
        let (text, word, _) = migrated(&of_loop(patch));
        assert_ne!(word, "differs", "{patch}\n{text}");
        has(&text, &["element.?securityContext.?capabilities.hasValue()\n              ? []", added]);
        assert!(!text.contains("/capabilities/drop'"), "{text}");
    }
}
