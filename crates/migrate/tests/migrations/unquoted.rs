//! JSON patches with variables, in quotes and without them, and what else patches and merges of
//! teams showed.
#![allow(clippy::unwrap_used)]

use super::kinds::{has, migrated, rule};

/// A rule with a JSON patch, indented by eight blanks.
fn patch(kind: &str, operations: &str) -> String {
    rule(kind, &format!("    mutate:\n      patchesJson6902: |-\n{operations}"))
}

/// Whether a text has parts, wherever its lines end.
fn says(text: &str, parts: &[&str]) {
    let words: Vec<&str> = text.split_whitespace().collect();
    has(&words.join(" "), parts);
}

#[test]
fn a_number_without_quotes_is_a_number_and_in_quotes_a_text() {
    let (text, word, _) = migrated(&patch(
        "Deployment",
        "        - {op: replace, path: /spec/replicas, value: {{ length(request.object.spec.template.spec.containers) }}}
        - op: add
          path: /spec/template/metadata/annotations
          value:
            count: \"{{ length(request.object.spec.template.spec.containers) }}\"
",
    ));
    assert!(word.starts_with("tested"), "{word}\n{text}");
    has(
        &text,
        &[
            "value: object.spec.template.spec.containers.size()}]",
            "'count': string(object.spec.template.spec.containers.size())",
        ],
    );
}

#[test]
fn what_is_no_number_is_null_without_quotes() {
    let (text, word, _) = migrated(&patch(
        "Deployment",
        "        - op: add
          path: /spec/replicas
          value: {{ to_number(request.object.metadata.labels.\"scale\" || '1') }}
",
    ));
    says(&text, &["? dyn( double( object.metadata.?labels.?scale.orValue('') != ''", ": null}]"]);
    assert!(!word.contains("differs"), "{word}\n{text}");
}

#[test]
fn a_number_before_its_unit_is_a_text() {
    let (text, ..) = migrated(&patch(
        "Pod",
        "        - op: add
          path: /metadata/annotations
          value: {size: {{ length(request.object.spec.containers) }}Gi}
",
    ));
    assert_eq!(text, "", "part of a text in braces");
    let (text, ..) = migrated(&patch(
        "Pod",
        "        - op: add
          path: /metadata/annotations
          value:
            size: {{ length(request.object.spec.containers) }}Gi
",
    ));
    has(&text, &["'size': string(object.spec.containers.size()) + 'Gi'"]);
}

#[test]
fn texts_without_quotes_are_refused_where_yaml_may_read_something_else() {
    for value in ["{{ request.object.metadata.labels.a }}", "{{ request.object.metadata.name }}-x"] {
        let (_, word, _) = migrated(&patch(
            "Pod",
            &format!("        - op: add\n          path: /spec/hostname\n          value: {value}\n"),
        ));
        assert_eq!(word, "refused: a variable without quotes whose text YAML may read as something else");
    }
}

#[test]
fn constants_without_quotes_are_read_as_yaml_reads_them() {
    let value = "{{ request.object.spec.hostNetwork && 'ClusterFirstWithHostNet' || 'Default' }}";
    let (text, ..) = migrated(&patch(
        "Pod",
        &format!("        - op: add\n          path: /spec/dnsPolicy\n          value: {value}\n"),
    ));
    has(&text, &["? 'ClusterFirstWithHostNet' : 'Default'"]);
    // `no` is false for YAML.
    let value = "{{ request.object.spec.hostNetwork && 'yes' || 'no' }}";
    let (_, word, _) = migrated(&patch(
        "Pod",
        &format!("        - op: add\n          path: /spec/dnsPolicy\n          value: {value}\n"),
    ));
    assert_eq!(word, "refused: a variable without quotes whose text YAML may read as something else");
}

#[test]
fn objects_that_are_written_as_json_are_chosen_by_a_test() {
    let (text, word, _) = migrated(&rule(
        "Pod",
        "    mutate:
      foreach:
      - list: request.object.spec.volumes || `[]`
        preconditions:
          all:
          - {key: emptyDir, operator: AnyIn, value: '{{ keys(element) }}'}
        patchesJson6902: |-
          - op: add
            path: /spec/volumes/{{elementIndex}}/emptyDir
            value: {{ element.emptyDir.medium == 'Memory' && parse_json('{\"medium\":\"Memory\"}') || parse_json('{\"sizeLimit\":\"2Gi\"}') }}
",
    ));
    says(&text, &["== 'Memory' ? {'medium': 'Memory'} : {'sizeLimit': '2Gi'}"]);
    assert!(word.starts_with("tested"), "{word}\n{text}");
}

#[test]
fn an_operation_that_reads_what_another_one_changes_comes_first() {
    let (text, word, _) = migrated(&patch(
        "CronJob",
        "        - {op: replace, path: /spec/schedule, value: '5 0 * * *'}
        - {op: add, path: /metadata/annotations/was, value: \"{{ request.object.spec.schedule }}\"}
",
    ));
    let (was, replaced) = (text.find("value: object.spec.schedule"), text.find("op: 'replace'"));
    assert!(was.unwrap() < replaced.unwrap(), "{text}");
    assert!(word.starts_with("tested") || word.starts_with("proved"), "{word}\n{text}");
    let (_, word, _) = migrated(&patch(
        "ConfigMap",
        "        - {op: add, path: /data/a, value: \"{{ request.object.data.b }}\"}
        - {op: add, path: /data/b, value: \"{{ request.object.data.a }}\"}
",
    ));
    assert_eq!(word, "refused: operations of a JSON patch that read what others of them change");
}

#[test]
fn operations_of_a_loop_may_create_different_parts_of_an_element() {
    let loop_of = |second: &str| {
        rule(
            "StatefulSet",
            &format!(
                "    mutate:
      foreach:
      - list: request.object.spec.volumeClaimTemplates
        patchesJson6902: |-
          - {{op: add, path: '/spec/volumeClaimTemplates/{{{{elementIndex}}}}/spec/storageClassName', value: fast}}
          - {{op: add, path: '/spec/volumeClaimTemplates/{{{{elementIndex}}}}/{second}', value: x}}
"
            ),
        )
    };
    let (text, word, _) = migrated(&loop_of("metadata/name"));
    says(&text, &["/metadata/name', value: 'x'}]", "value: {'name': 'x'}}]"]);
    assert!(word.starts_with("tested"), "{word}\n{text}");
    let (_, word, _) = migrated(&loop_of("spec/volumeName"));
    assert_eq!(word, "refused: operations of a loop of which one may create what another one changes");
}

#[test]
fn a_custom_resource_may_have_no_spec() {
    let (text, word, _) = migrated(&rule(
        "example.com/v1/Widget",
        "    mutate:\n      patchStrategicMerge:\n        spec:\n          size: big\n",
    ));
    has(&text, &["has(object.spec)", "path: '/spec', value: {'size': 'big'}"]);
    assert!(word.starts_with("proved"), "{word}\n{text}");
}

#[test]
fn what_is_replaced_as_a_whole_is_put_into_items_of_items_lists() {
    let (text, word, _) = migrated(&rule(
        "Pod",
        "    mutate:
      patchStrategicMerge:
        spec:
          containers:
          - name: log
            image: log:1
            env:
            - name: POD
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
",
    ));
    says(
        &text,
        &[
            "item.name == 'log',",
            "item.?env.orValue([]).transformList(innerIndex,",
            "inner.name == 'POD',",
            "path: '/spec/containers/' + string(index) + '/env/' + string(innerIndex) + '/valueFrom/fieldRef'",
        ],
    );
    assert!(word.starts_with("tested"), "{word}\n{text}");
}

#[test]
fn slices_of_lists_end_with_the_list() {
    let (text, word, _) = migrated(&rule(
        "Namespace",
        "    mutate:
      patchStrategicMerge:
        metadata:
          labels:
            app: \"{{ join('-', split(request.object.metadata.name, '-')[1:-1]) }}\"
            head: \"{{ join('-', split(request.object.metadata.name, '-')[:-1]) }}\"
",
    ));
    says(
        &text,
        &[
            "object.metadata.name.split('-').size() > 2",
            "object.metadata.name.split('-').slice(1, object.metadata.name.split('-').size() - 1)",
            "object.metadata.name.split('-').slice( 0, object.metadata.name.split('-').size() - 1).join('-')",
        ],
    );
    assert!(word.starts_with("tested"), "{word}\n{text}");
}

#[test]
fn rules_that_generate_are_compared_apart_from_those_that_change() {
    let text = rule(
        "Namespace",
        "    generate: {apiVersion: v1, kind: ConfigMap, name: a, namespace: '{{request.object.metadata.name}}', data: {data: {a: b}}}
  - name: s
    match: {any: [{resources: {kinds: [Namespace], operations: [CREATE, UPDATE], selector: {matchLabels: {a: b}}}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {c: d}}}}
",
    )
    .replace("operations: [CREATE, UPDATE]}", "operations: [CREATE, UPDATE], selector: {matchLabels: {x: z}}}");
    let (text, word, _) = migrated(&text);
    has(&text, &["kind: GeneratingPolicy", "kind: MutatingPolicy"]);
    assert!(word.starts_with("proved"), "{word}\n{text}");
}

#[test]
fn a_cleanup_policy_reads_objects_of_its_namespace() {
    let (text, word, _) = migrated(
        "apiVersion: kyverno.io/v2
kind: CleanupPolicy
metadata: {name: c, namespace: here}
spec:
  schedule: '* * * * *'
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  context:
  - name: pods
    apiCall: {urlPath: /api/v1/namespaces/here/pods, jmesPath: 'items[].metadata.name'}
  conditions:
    all:
    - {key: '{{ target.metadata.name }}', operator: AnyNotIn, value: '{{ pods }}'}
",
    );
    has(&text, &["kind: NamespacedDeletingPolicy", "resource.list('v1', 'pods')"]);
    assert!(word.starts_with("tested") || word.starts_with("proved"), "{word}\n{text}");
}

#[test]
fn a_field_that_another_one_may_stand_for_is_not_always_there() {
    let (text, word, _) = migrated(&rule(
        "networking.k8s.io/v1/Ingress",
        "    mutate:\n      patchStrategicMerge:\n        spec:\n          defaultBackend: null\n",
    ));
    says(
        &text,
        &["has(object.spec.defaultBackend) ? [JSONPatch{op: 'remove', path: '/spec/defaultBackend'}] : []"],
    );
    assert!(word.starts_with("proved"), "{word}\n{text}");
}
