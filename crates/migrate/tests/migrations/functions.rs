//! Functions, lists and defaults of expressions as teams write them: what is written for each.
#![allow(clippy::unwrap_used)]

use ephor_migrate::expressions::Target;

use super::conversion::{convert_for, deny, pattern, written};

/// Conditions of `deny` on a kind, and what is written for each.
fn all_are_written(cases: &[(&str, &str, &str)]) {
    for (kind, condition, expected) in cases {
        assert_eq!(deny(&[kind], condition), *expected, "{condition}");
    }
}

#[test]
fn numbers_and_versions_in_texts_are_read_where_they_are_some() {
    all_are_written(&[
        (
            "Pod",
            "{key: '{{ to_number(request.object.metadata.labels.level) }}', operator: GreaterThan, value: 3}",
            r"let number = object.metadata.?labels.?level.orValue('').matches(r'^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$')
  ? optional.of(double(object.metadata.?labels.?level.orValue('')))
  : optional.none()
!(variables.number.hasValue() && variables.number.value() > 3)",
        ),
        (
            "Pod",
            "{key: '{{ semver_compare(request.object.spec.nodeName, `\">=1.2.0 <2.0.0 || =3.0.0\"`) }}', operator: Equals, value: false}",
            "[isSemver(object.spec.nodeName) ? semver(object.spec.nodeName) : semver('0.0.0')].exists(version,
  version.compareTo(semver('1.2.0')) >= 0 && version.compareTo(semver('2.0.0')) < 0 ||
  version.compareTo(semver('3.0.0')) == 0)",
        ),
    ]);
}

#[test]
fn texts_are_cut_as_the_old_functions_cut_them() {
    all_are_written(&[
        (
            "Pod",
            "{key: '{{ truncate(request.object.metadata.name, `5`) }}', operator: Equals, value: admin}",
            "(object.metadata.name.size() > 5 ? object.metadata.name.substring(0, 5) : object.metadata.name) !=
  'admin'",
        ),
        (
            "Pod",
            "{key: \"{{ trim(request.object.metadata.name, '-.') }}\", operator: Equals, value: a}",
            r"object.metadata.name.find(r'(?s)[^\-\.](.*[^\-\.])?') != 'a'",
        ),
    ]);
}

#[test]
fn arithmetic_takes_whole_numbers_of_objects_for_whole_numbers() {
    all_are_written(&[
        (
            "Deployment",
            "{key: '{{ multiply(request.object.spec.replicas, `2`) }}', operator: GreaterThan, value: 8}",
            "!(int(object.spec.replicas) * 2 > 8)",
        ),
        (
            "Pod",
            "{key: '{{ modulo(length(request.object.spec.containers), `2`) }}', operator: Equals, value: 1}",
            "object.spec.containers.size() % 2 != 1",
        ),
        (
            "Pod",
            "{key: '{{ divide(length(request.object.spec.containers), `2`) }}', operator: GreaterThan, value: 1}",
            "!(double(object.spec.containers.size()) / 2.0 > 1)",
        ),
    ]);
}

#[test]
fn entries_of_objects_are_looped_over_by_their_keys() {
    assert_eq!(
        written(
            &["ConfigMap"],
            "{validate: {foreach: [{list: 'items(request.object.data || `{}`, `\"key\"`, `\"value\"`)', deny: {conditions: {any: [\
             {key: '{{ element.key }}', operator: Equals, value: '*.pem'}, {key: '{{ element.value }}', operator: Equals, value: 'x*'}]}}}]}}"
        ),
        "object.?data.orValue({}).all(key, !(key.endsWith('.pem') || object.data[key].startsWith('x')))"
    );
}

#[test]
fn an_object_that_has_a_default_may_be_missing_where_its_keys_are_counted() {
    all_are_written(&[
        (
            "Pod",
            "{key: \"{{ request.object.metadata.annotations || `{}` | keys(@) | [?!starts_with(@, 'corp/')] | length(@) }}\", operator: GreaterThan, value: 0}",
            "object.metadata.?annotations.orValue({}).all(key, key.startsWith('corp/'))",
        ),
        (
            "Pod",
            "{key: \"{{ keys(request.object.metadata.annotations)[?!starts_with(@, 'corp/')] | length(@) }}\", operator: GreaterThan, value: 0}",
            "object.metadata.annotations.all(key, key.startsWith('corp/'))",
        ),
    ]);
}

#[test]
fn what_may_be_a_list_or_a_text_is_looked_into_as_what_it_is() {
    all_are_written(&[
        (
            "ConfigMap",
            "{key: '{{ request.object.metadata.name }}', operator: AnyIn, value: '{{ parse_json(request.object.data.list) }}'}",
            "!(type(json.unmarshal(object.data.list)) == list
    ? object.metadata.name in json.unmarshal(object.data.list)
    : json.unmarshal(object.data.list) == object.metadata.name)",
        ),
        (
            "Certificate",
            "{key: a, operator: AnyIn, value: '{{ request.object.spec.rules[].hosts[] }}'}",
            "!object.?spec.?rules.orValue([]).exists(rule,
  rule.?hosts.orValue([]).exists(host, host in ['a', '*']))",
        ),
    ]);
}

#[test]
fn patterns_in_lists_with_variables_stay_patterns() {
    all_are_written(&[(
        "Pod",
        "{key: '{{ request.object.spec.nodeName }}', operator: AnyNotIn, value: ['{{ request.object.metadata.name }}-*', 'shared-*', b]}",
        "object.spec.nodeName.startsWith(object.metadata.name + '-') ||
object.spec.nodeName.startsWith('shared-') ||
object.spec.nodeName == 'b'",
    )]);
    // In upper case `*` matches what it matched.
    let found = written(
        &["Pod"],
        "{validate: {foreach: [{list: 'request.object.spec.containers[].env[]', deny: {conditions: {any: [\
         {key: '{{ to_upper(element.name) }}', operator: AnyIn, value: ['*TOKEN*']}]}}}]}}",
    );
    assert!(
        found.contains("env.name.upperAscii() == '*' || env.name.upperAscii().contains('TOKEN')"),
        "{found}"
    );
}

#[test]
fn a_text_is_a_pattern_for_a_scalar_or_a_list_and_the_scalar_is_none_for_it() {
    let condition = |operator: &str, value: &str| {
        format!("{{key: '{{{{ request.object.data.mode }}}}', operator: {operator}, value: {value}}}")
    };
    for (operator, value, expected) in [
        ("AnyIn", "'r*'", "!object.data.mode.startsWith('r')"),
        ("AllNotIn", "ro", "object.data.mode == 'ro'"),
        ("AnyIn", "[ro]", "!(object.data.mode in ['ro', '*'])"),
        // As a pattern the text matches itself.
        ("AnyIn", r#"'["ro", "rw"]'"#, r#"!(object.data.mode in ['ro', 'rw', '["ro", "rw"]'])"#),
    ] {
        assert_eq!(deny(&["ConfigMap"], &condition(operator, value)), expected, "{operator} {value}");
    }
    assert_eq!(
        deny(
            &["Pod"],
            r#"{key: '{{ request.object.spec.containers[].name }}', operator: AnyIn, value: '["a", "b*"]'}"#
        ),
        "!object.spec.containers.exists(container, container.name == 'a' || container.name.startsWith('b'))"
    );
}

#[test]
fn a_part_of_a_text_may_be_a_star() {
    all_are_written(&[(
        "Pod",
        "{key: \"{{ split(request.object.spec.containers[0].image, '/')[0] }}\", operator: AnyNotIn, value: [docker.io, '*.corp']}",
        "object.spec.containers[?0].?image.value().split('/')[0] in ['docker.io', '*'] ||
object.spec.containers[?0].?image.value().split('/')[0].endsWith('.corp')",
    )]);
}

#[test]
fn nothing_is_more_than_a_text_that_is_no_number() {
    assert_eq!(
        deny(
            &["Deployment"],
            "{key: '{{ request.object.spec.replicas }}', operator: GreaterThan, value: '{{ to_number(request.object.metadata.name) }}'}"
        ),
        r"let number = object.metadata.name.matches(r'^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$')
  ? optional.of(double(object.metadata.name))
  : optional.none()
!(variables.number.hasValue() && object.spec.replicas > variables.number.value())"
    );
}

#[test]
fn what_matches_everything_or_is_known_is_not_read() {
    assert_eq!(
        written(
            &["ClusterRole"],
            "{validate: {foreach: [{list: 'request.object.rules[]', deny: {conditions: {all: [\
             {key: '{{ element.verbs }}', operator: AnyIn, value: [escalate, '*']}]}}}]}}"
        ),
        "object.?rules.orValue(null) == null || object.rules.all(rule, rule.verbs.size() == 0)"
    );
    assert_eq!(
        written(
            &["Pod"],
            "{validate: {foreach: [{list: 'request.object.spec.volumes', \
             preconditions: {all: [{key: \"{{ contains(keys(element), 'emptyDir') }}\", operator: Equals, value: true}]}, \
             pattern: {emptyDir: {medium: Memory}}}]}}"
        ),
        "object.spec.?volumes.orValue([]).all(volume,
  !has(volume.emptyDir) || volume.?emptyDir.?medium.orValue('') == 'Memory')"
    );
}

#[test]
fn fields_that_one_kind_alone_has_have_the_type_that_they_have_there() {
    assert_eq!(
        pattern(&["Job", "CronJob"], "{spec: {=(activeDeadlineSeconds): '1-86400', =(schedule): '0 *'}}"),
        "(!has(object.spec.activeDeadlineSeconds) ||
  object.spec.activeDeadlineSeconds >= 1 && object.spec.activeDeadlineSeconds <= 86400) &&
object.spec.?schedule.orValue('0 ').startsWith('0 ')"
    );
}

#[test]
fn a_list_that_is_shown_as_null_is_no_list_for_a_pattern() {
    assert_eq!(
        pattern(&["Pod"], "{spec: {=(volumes): [{=(projected): {=(sources): [{X(secret): null}]}}]}}"),
        "object.spec.?volumes.orValue([]).all(volume,
  !volume.?projected.?sources.hasValue() ||
  volume.projected.sources != null && volume.projected.sources.all(source, !has(source.secret)))"
    );
}

#[test]
fn durations_are_zero_without_a_unit() {
    let found = deny(
        &["Pod"],
        "{key: \"{{ request.object.metadata.annotations.ttl || '' }}\", operator: DurationLessThan, value: 1h}",
    );
    assert!(found.contains("^[-+]?(0|(("), "{found}");
}

#[test]
fn the_current_time_as_text_has_whole_seconds() {
    assert_eq!(
        deny(&["Pod"], "{key: '{{ time_now_utc() }}', operator: Equals, value: a}"),
        "string(time.truncate(time.now(), duration('1s'))) != 'a'"
    );
    assert_eq!(
        deny(
            &["Pod"],
            "{key: \"{{ time_after(time_now_utc(), '2030-01-01T00:00:00Z') }}\", operator: Equals, value: true}"
        ),
        "!(time.now() > timestamp('2030-01-01T00:00:00Z'))"
    );
}

/// What is written for a condition with context entries.
fn with_context(context: &str, condition: &str) -> String {
    let rule =
        format!("{{context: [{context}], validate: {{deny: {{conditions: {{any: [{condition}]}}}}}}}}");
    written(&["Pod"], &rule)
}

#[test]
fn defaults_of_variables_hold_where_what_is_computed_cannot_be_read() {
    assert_eq!(
        with_context(
            "{name: parts, variable: {jmesPath: \"split(request.object.metadata.annotations.\\\"corp/list\\\", ',')\", default: []}}",
            "{key: a, operator: AnyIn, value: '{{ parts }}'}"
        ),
        "!('a' in
    (has(object.metadata.annotations) && 'corp/list' in object.metadata.annotations
        ? object.metadata.annotations['corp/list'].split(',')
        : []))"
    );
}

#[test]
fn defaults_of_variables_hold_where_there_is_no_such_item() {
    assert_eq!(
        with_context(
            "{name: part, variable: {jmesPath: \"split(request.object.metadata.annotations.list, ',')[1]\", default: none}}",
            "{key: '{{ part }}', operator: Equals, value: a}"
        ),
        "(has(object.metadata.annotations) && has(object.metadata.annotations.list)
    ? object.metadata.annotations.list.split(',')[?1].orValue('none')
    : 'none') !=
  'a'"
    );
}

#[test]
fn variables_stand_in_queries_of_context_entries() {
    assert_eq!(
        with_context(
            "{name: teams, configMap: {name: teams, namespace: policies}}, {name: team, variable: {jmesPath: 'teams.data.\"{{request.namespace}}\"'}}",
            "{key: '{{ team }}', operator: Equals, value: a}"
        ),
        "let teams = dyn(resource.get('v1', 'configmaps', 'policies', 'teams'))
variables.teams.data[request.namespace] != 'a'"
    );
    assert_eq!(
        with_context(
            "{name: number, apiCall: {urlPath: '/api/v1/pods?labelSelector=app={{request.object.metadata.labels.app}},tier=web', jmesPath: 'items | length(@)'}}",
            "{key: '{{ number }}', operator: GreaterThan, value: 3}"
        ),
        "let number = dyn(resource.list('v1', 'pods', '', {'app': object.metadata.labels.app, 'tier': 'web'}))
variables.number.items.size() <= 3"
    );
}

#[test]
fn messages_say_what_external_data_and_counts_are() {
    let converted = convert_for(
        Target::Kyverno,
        &["Deployment"],
        "{context: [{name: ns, apiCall: {urlPath: '/api/v1/namespaces/{{request.namespace}}', jmesPath: metadata.labels.team}}, {name: most, variable: {value: 4}}], \
         validate: {message: \"{{ request.namespace }} of {{ ns }}: {{ length(request.object.spec.template.spec.containers) }} of {{ most }}, {{ request.object.spec.replicas || 'no' }} replicas\", \
         deny: {}}}",
    )
    .unwrap();
    assert_eq!(
        converted.validations[0].message_expression.as_deref(),
        Some(
            "request.namespace + ' of ' +
  (variables.ns.metadata.?labels.?team.hasValue() ? variables.ns.metadata.labels.team : '') +
  ': ' +
  string(object.spec.template.spec.containers.size()) +
  ' of 4, ' +
  (has(object.spec.replicas) ? string(object.spec.replicas) : 'no') +
  ' replicas'"
        )
    );
    assert!(converted.left_out.is_empty(), "{:?}", converted.left_out);
}

#[test]
fn policies_of_kubernetes_pass_the_type_check() {
    let written = |kind: &str, rule: &str| {
        let converted = convert_for(Target::Kubernetes, &[kind], rule).unwrap();
        let own = &converted.validations[0];
        (own.expression.clone(), own.message_expression.clone().unwrap_or_default())
    };
    let (_, message) = written(
        "Deployment",
        "{validate: {message: '{{ request.object.spec.replicas }} replicas', deny: {}}}",
    );
    assert_eq!(message, "(has(object.spec.replicas) ? string(object.spec.replicas) : '') + ' replicas'");
    let (expression, _) = written(
        "Pod",
        "{validate: {message: m, pattern: {spec: {=(volumes): [{=(projected): {=(sources): [{X(secret): null}]}}]}}}}",
    );
    assert!(expression.contains("dyn(volume.projected.sources) != null"), "{expression}");
    let (expression, _) = written(
        "Pod",
        "{validate: {message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.volumes[?secret] | length(@) }}', operator: GreaterThan, value: 2}]}}}}",
    );
    assert!(expression.contains("has(volume.secret) && dyn(volume.secret) != {}"), "{expression}");
}
