//! Validate rules in CEL: what is written for each construct, as people read it.
#![allow(clippy::unwrap_used)]

use ephor_document::yaml_value;
use ephor_kubernetes::Types;
use ephor_lower::policy::policy_as_lowered;
use ephor_migrate::expressions::{Context, Converted, Refusal, Target, convert};
use ephor_value::{Str, Value};

fn kind(kind: &str) -> [Str; 3] {
    let (group, version) = match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" => ("apps", "v1"),
        "Job" | "CronJob" => ("batch", "v1"),
        "ClusterRole" | "RoleBinding" => ("rbac.authorization.k8s.io", "v1"),
        "Certificate" => ("cert-manager.io", "v1"),
        "HorizontalPodAutoscaler" => ("autoscaling", "v2"),
        "NetworkPolicy" => ("networking.k8s.io", "v1"),
        "PodDisruptionBudget" => ("policy", "v1"),
        _ => ("", "v1"),
    };
    [group.into(), version.into(), kind.into()]
}

pub fn convert_for(target: Target, kinds: &[&str], rule: &str) -> Result<Converted, Refusal> {
    let mut own = yaml_value(rule).unwrap().as_map().unwrap().clone();
    own.insert("name", Value::from("a-rule"));
    let list = Value::list(kinds.iter().map(|k| Value::from(*k)).collect());
    own.insert("match", Value::map([("resources", Value::map([("kinds", list)]))]));
    let policy = Value::map([
        ("apiVersion", "kyverno.io/v1".into()),
        ("kind", "ClusterPolicy".into()),
        ("metadata", Value::map([("name", "a-policy".into())])),
        ("spec", Value::map([("rules", Value::list(vec![Value::Map(own)]))])),
    ]);
    let lowered = policy_as_lowered(&policy);
    let kinds = kinds.iter().map(|k| kind(k)).collect();
    convert(&lowered.rules[0], &Context::new(target, kinds, Types::built_in().clone()))
}

/// What is written for a rule: conditions, variables and validations, a line each where they are
/// not broken.
pub fn written(kinds: &[&str], rule: &str) -> String {
    let converted = convert_for(Target::Kyverno, kinds, rule).unwrap();
    let mut out = Vec::new();
    out.extend(converted.conditions.iter().map(|n| format!("if {}", n.expression)));
    out.extend(converted.variables.iter().map(|n| format!("let {} = {}", n.name, n.expression)));
    out.extend(converted.validations.iter().map(|v| v.expression.clone()));
    out.join("\n")
}

pub fn pattern(kinds: &[&str], pattern: &str) -> String {
    written(kinds, &format!("{{validate: {{pattern: {pattern}}}}}"))
}

pub fn deny(kinds: &[&str], condition: &str) -> String {
    written(kinds, &format!("{{validate: {{deny: {{conditions: {{any: [{condition}]}}}}}}}}"))
}

#[test]
fn guards_stand_only_where_the_schema_lets_a_field_be_absent() {
    for (text, expected) in [
        ("{spec: {hostNetwork: false}}", "object.spec.?hostNetwork.orValue(true) == false"),
        ("{spec: {=(hostNetwork): false}}", "object.spec.?hostNetwork.orValue(false) == false"),
        (
            "{spec: {containers: [{name: 'a*'}]}}",
            "object.spec.containers.all(container, container.name.startsWith('a'))",
        ),
        (
            "{spec: {=(volumes): [{X(hostPath): null}]}}",
            "object.spec.?volumes.orValue([]).all(volume, !has(volume.hostPath))",
        ),
    ] {
        assert_eq!(pattern(&["Pod"], text), expected, "{text}");
    }
}

#[test]
fn texts_are_compared_with_the_shortest_test_that_says_the_same() {
    let label = |value: &str| pattern(&["Pod"], &format!("{{metadata: {{labels: {{app: '{value}'}}}}}}"));
    for (value, expected) in [
        ("a", "object.metadata.?labels.?app.orValue('') == 'a'"),
        ("a | b", "object.metadata.?labels.?app.orValue('') in ['a', 'b']"),
        ("?*", "object.metadata.?labels.?app.orValue('') != ''"),
        ("a*", "object.metadata.?labels.?app.orValue('').startsWith('a')"),
        ("*a", "object.metadata.?labels.?app.orValue('').endsWith('a')"),
        ("*a*", "object.metadata.?labels.?app.orValue('').contains('a')"),
        ("*", "object.metadata.?labels.?app.hasValue()"),
    ] {
        assert_eq!(label(value), expected, "{value}");
    }
}

#[test]
fn numbers_and_quantities_are_compared_as_what_the_field_holds() {
    for (kinds, text, expected) in [
        ("Deployment", "{spec: {replicas: '>=2'}}", "object.spec.?replicas.orValue(0) >= 2"),
        (
            "Service",
            "{spec: {=(ports): [{port: 80-90}]}}",
            "object.spec.?ports.orValue([]).all(port, port.port >= 80 && port.port <= 90)",
        ),
        (
            "Pod",
            "{spec: {containers: [{resources: {limits: {memory: '<=1Gi'}}}]}}",
            "object.spec.containers.all(container,
  container.?resources.?limits.hasValue() &&
  !quantity(string(container.resources.limits.?memory.orValue('0'))).isGreaterThan(quantity('1Gi')))",
        ),
    ] {
        assert_eq!(pattern(&[kinds], text), expected, "{text}");
    }
}

#[test]
fn the_text_of_a_pattern_matches_as_a_text_where_no_schema_is_known() {
    let found = pattern(&["Widget"], "{spec: {host: '!*.default.svc*'}}");
    assert!(found.contains("== '!*.default.svc*'") && !found.contains("matches"), "{found}");
}

#[test]
fn a_condition_anchor_limits_what_is_checked() {
    assert_eq!(
        pattern(&["Pod"], "{spec: {containers: [{(image): 'x/*', imagePullPolicy: Always}]}}"),
        "object.spec.containers.all(container,
  !container.?image.orValue('').startsWith('x/') ||
  container.?imagePullPolicy.orValue('') == 'Always')"
    );
}

#[test]
fn lists_of_containers_that_must_look_alike_become_one() {
    assert_eq!(
        pattern(&["Pod"], "{spec: {=(initContainers): [{image: 'x/*'}], containers: [{image: 'x/*'}]}}"),
        "let allContainers = object.spec.containers + object.spec.?initContainers.orValue([])
variables.allContainers.all(container, container.?image.orValue('').startsWith('x/'))"
    );
}

#[test]
fn one_of_several_patterns_is_enough() {
    assert_eq!(
        written(&["Pod"], "{validate: {anyPattern: [{spec: {hostIPC: true}}, {spec: {hostPID: true}}]}}"),
        "object.spec.?hostIPC.orValue(false) == true || object.spec.?hostPID.orValue(false) == true"
    );
}

#[test]
fn conditions_compare_with_what_the_type_of_the_key_can_be() {
    for (condition, expected) in [
        (
            "{key: '{{ request.object.spec.hostNetwork || `false` }}', operator: Equals, value: true}",
            "!object.spec.?hostNetwork.orValue(false)",
        ),
        (
            "{key: '{{ request.object.spec.nodeName || '''' }}', operator: AnyIn, value: [a, b]}",
            "!(object.spec.?nodeName.orValue('') in ['a', 'b'])",
        ),
        (
            "{key: '{{ request.object.spec.containers[].image }}', operator: AnyNotIn, value: ['x/*']}",
            "!object.spec.containers.exists(container,
  has(container.image) && !(container.image == '*' || container.image.startsWith('x/')))",
        ),
        (
            "{key: '{{ length(request.object.spec.containers) }}', operator: GreaterThan, value: 3}",
            "object.spec.containers.size() <= 3",
        ),
        (
            "{key: '{{ length(request.object.spec.volumes || `[]`) }}', operator: GreaterThan, value: 0}",
            "object.spec.?volumes.orValue([]).size() == 0",
        ),
        (
            "{key: '{{ request.object.spec.containers[?image == ''a''] | length(@) }}', operator: NotEquals, value: 0}",
            "object.spec.containers.all(container, container.?image.orValue('') != 'a')",
        ),
    ] {
        assert_eq!(deny(&["Pod"], condition), expected, "{condition}");
    }
}

#[test]
fn a_missing_key_fails_where_it_failed() {
    assert_eq!(
        deny(&["Pod"], "{key: '{{ request.object.spec.nodeName }}', operator: Equals, value: a}"),
        "object.spec.nodeName != 'a'"
    );
    // The second condition is not read when the first fails.
    assert_eq!(
        written(
            &["Pod"],
            "{validate: {deny: {conditions: {all: [{key: '{{ request.object.spec.nodeName }}', operator: Equals, value: a}, \
             {key: '{{ request.object.spec.hostname }}', operator: Equals, value: b}]}}}}"
        ),
        "!(object.spec.nodeName == 'a' ? object.spec.hostname == 'b' : false)"
    );
}

#[test]
fn preconditions_become_conditions_and_those_on_the_operation_go_where_they_say_nothing() {
    let rule = |operator: &str, value: &str| {
        format!(
            "{{preconditions: {{all: [{{key: '{{{{ request.operation || ''BACKGROUND'' }}}}', operator: {operator}, value: {value}}}]}}, \
             validate: {{deny: {{}}}}}}"
        )
    };
    assert_eq!(written(&["Pod"], &rule("NotEquals", "DELETE")), "false");
    assert_eq!(written(&["Pod"], &rule("Equals", "UPDATE")), "if request.operation == 'UPDATE'\nfalse");
}

#[test]
fn loops_are_tests_of_all_items() {
    assert_eq!(
        written(
            &["Pod"],
            "{validate: {foreach: [{list: 'request.object.spec.[initContainers, containers][]', \
             preconditions: {all: [{key: '{{ element.image }}', operator: Equals, value: 'x/*'}]}, \
             deny: {conditions: {all: [{key: '{{ element.tty || `false` }}', operator: Equals, value: true}]}}}]}}"
        ),
        "let allContainers = object.spec.containers + object.spec.?initContainers.orValue([])
variables.allContainers.all(container,
  !(has(container.image) && container.image.startsWith('x/')) || !container.?tty.orValue(false))"
    );
}

#[test]
fn a_list_that_an_api_server_shows_as_null_may_be_null() {
    assert_eq!(
        written(
            &["ClusterRole"],
            "{validate: {foreach: [{list: 'request.object.rules[]', deny: {conditions: {all: [\
             {key: escalate, operator: AnyIn, value: '{{ element.verbs[] }}'}]}}}]}}"
        ),
        "object.?rules.orValue(null) == null ||
object.rules.all(rule, !rule.verbs.exists(verb, verb in ['escalate', '*']))"
    );
}

#[test]
fn a_value_without_a_schema_may_be_a_list_or_a_scalar() {
    assert_eq!(
        deny(&["Certificate"], "{key: '{{ request.object.spec.hosts }}', operator: AnyIn, value: [a, b]}"),
        "!(type(object.spec.hosts) == list
    ? object.spec.hosts.exists(host, host in ['a', 'b', '*'])
    : object.spec.hosts in ['a', 'b', '*'])"
    );
}

#[test]
fn loops_that_require_the_same_of_all_containers_are_one() {
    let of = |list: &str| format!("{{list: request.object.spec.{list}, pattern: {{image: '*@sha256:*'}}}}");
    assert_eq!(
        written(
            &["Pod"],
            &format!("{{validate: {{foreach: [{}, {}]}}}}", of("initContainers"), of("containers"))
        ),
        "let allContainers = object.spec.containers + object.spec.?initContainers.orValue([])
variables.allContainers.all(container, container.?image.orValue('').contains('@sha256:'))"
    );
}

#[test]
fn variables_in_patterns_and_positions_of_elements_are_read_in_place() {
    assert_eq!(
        pattern(&["Pod"], "{metadata: {labels: {app: '{{ request.object.metadata.name }}-*'}}}"),
        "object.metadata.?labels.?app.orValue('').startsWith(object.metadata.name + '-')"
    );
    assert_eq!(
        written(
            &["Pod"],
            "{validate: {foreach: [{list: request.object.spec.containers, deny: {conditions: {all: [\
             {key: '{{ elementIndex }}', operator: GreaterThan, value: 2}]}}}]}}"
        ),
        "object.spec.containers.all(index, container, !(index > 2))"
    );
}

#[test]
fn external_data_is_read_once_under_its_name() {
    assert_eq!(
        written(
            &["Pod"],
            "{context: [{name: allowed, configMap: {name: registries, namespace: default}}], \
             validate: {deny: {conditions: {all: [{key: '{{ request.object.spec.nodeName }}', operator: NotEquals, value: '{{ allowed.data.node }}'}]}}}}"
        ),
        "let allowed = dyn(resource.get('v1', 'configmaps', 'default', 'registries'))
object.spec.nodeName == variables.allowed.data.node"
    );
}

/// What is written for a rule with a context.
fn with_context(kinds: &[&str], context: &str, condition: &str) -> String {
    let deny = format!("validate: {{deny: {{conditions: {{any: [{condition}]}}}}}}");
    written(kinds, &format!("{{context: [{context}], {deny}}}"))
}

#[test]
fn the_text_of_a_list_is_one_for_operators_that_look_into_lists() {
    let map = "{name: allowed, configMap: {name: a, namespace: b}}";
    let key = "{{ request.object.spec.priorityClassName || '' }}";
    let own = "{{ allowed.data.\"{{request.namespace}}\" || '' }}";
    let found = with_context(
        &["Pod"],
        map,
        &format!("{{key: \"{key}\", operator: AnyNotIn, value: '{}'}}", own.replace('\'', "''")),
    );
    assert_eq!(
        found.replace("\n  ", " "),
        "let allowed = dyn(resource.get('v1', 'configmaps', 'b', 'a'))\n\
         let data = 'data' in variables.allowed && request.namespace in variables.allowed.data ? \
         variables.allowed.data[request.namespace] : ''\n\
         variables.data.startsWith('[') ? object.spec.?priorityClassName.orValue('') in json.unmarshal(variables.data) : \
         variables.data == object.spec.?priorityClassName.orValue('') || variables.data == '*'"
    );
    // Names of roles may be any text; of what else is a name no API server takes such texts.
    let named = |kind: &str, value: &str| {
        deny(&[kind], &format!("{{key: a, operator: AnyIn, value: '{{{{ {value} }}}}'}}"))
    };
    assert_eq!(
        named("RoleBinding", "request.object.roleRef.name"),
        "!(object.roleRef.name in ['a', '*', '[\"a\"]'])"
    );
    assert_eq!(named("RoleBinding", "request.object.metadata.name"), "object.metadata.name != 'a'");
}

#[test]
fn items_of_a_query_that_fails_for_one_of_them_are_counted() {
    let of = |filter: &str| {
        let call =
            format!("{{name: all, apiCall: {{urlPath: /api/v1/services, jmesPath: 'items[?{filter}]'}}}}");
        with_context(&["Deployment"], &call, "{key: '{{ length(all) }}', operator: LessThan, value: 1}")
    };
    // An item without a selector is an error of the query.
    let fails = of("label_match(spec.selector, `{{request.object.metadata.labels}}`)");
    assert!(
        fails.contains(".filter(") && fails.contains(".size()") && !fails.contains(".exists("),
        "{fails}"
    );
    let found = of("spec.type == ''ExternalName''");
    assert!(found.contains(".exists(") && !found.contains(".filter("), "{found}");
}

#[test]
fn a_key_or_an_item_that_is_a_star_matches_the_other_one() {
    let list = |key: &str, items: &str| {
        let call =
            format!("{{name: all, apiCall: {{urlPath: /api/v1/services, jmesPath: 'items[].{items}'}}}}");
        let found = with_context(
            &["Service"],
            &call,
            &format!("{{key: '{{{{ {key} }}}}', operator: AnyIn, value: '{{{{ all }}}}'}}"),
        );
        found.split_once('\n').unwrap().1.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        list("request.object.metadata.name", "metadata.name"),
        "!(object.metadata.name in variables.all.items.map(item, item.metadata.name))"
    );
    assert_eq!(
        list("request.object.metadata.name", "metadata.annotations.a"),
        "!variables.all.items.exists(item, item.metadata.?annotations.?a.hasValue() && (item.metadata.annotations.a == object.metadata.name || item.metadata.annotations.a == '*'))"
    );
    assert_eq!(
        list("request.object.metadata.annotations.a", "metadata.name"),
        "variables.all.items.all(item, object.metadata.annotations.a != item.metadata.name && object.metadata.annotations.a != '*')"
    );
    // In upper case it is the same.
    let found = deny(
        &["ClusterRole"],
        "{key: ALL, operator: AnyNotIn, value: '{{ request.object.rules[].verbs[].to_upper(@) }}'}",
    );
    assert!(found.contains("in ['ALL', '*']"), "{found}");
}

#[test]
fn messages_with_variables_never_fail() {
    let converted = convert_for(
        Target::Kyverno,
        &["Pod"],
        "{validate: {message: 'node {{ request.object.spec.nodeName }} of {{ request.object.metadata.name }}', pattern: {spec: {nodeName: a}}}}",
    )
    .unwrap();
    assert_eq!(
        converted.validations[0].message_expression.as_deref(),
        Some("'node ' + object.spec.?nodeName.orValue('') + ' of ' + object.metadata.?name.orValue('')")
    );
    assert_eq!(converted.validations[0].message, None);
    assert!(converted.left_out.is_empty(), "{:?}", converted.left_out);
}

#[test]
fn variables_that_messages_cannot_have_are_named() {
    let converted = convert_for(
        Target::Kyverno,
        &["Pod"],
        "{validate: {message: 'of {{ request.object.metadata.labels | values(@) }}', pattern: {spec: {nodeName: a}}}}",
    )
    .unwrap();
    assert_eq!(converted.left_out, ["request.object.metadata.labels | values(@)".into()]);
}

#[test]
fn pod_security_has_a_validation_for_each_control() {
    let converted = convert_for(
        Target::Kubernetes,
        &["Pod"],
        "{validate: {podSecurity: {level: baseline, version: latest}}}",
    )
    .unwrap();
    assert_eq!(converted.validations.len(), 12);
    assert!(
        converted
            .validations
            .iter()
            .any(|v| v.expression == "object.spec.?volumes.orValue([]).all(volume, !has(volume.hostPath))")
    );
    assert_eq!(converted.variables.len(), 1);
}

/// What is written for a rule with a call, whose answer has a field `allowed`.
fn called(call: &str) -> Result<String, Refusal> {
    let rule = format!(
        "{{context: [{{name: answer, apiCall: {{{call}}}}}], validate: {{deny: {{conditions: {{any: [{{key: '{{{{ answer.allowed }}}}', operator: NotEquals, value: true}}]}}}}}}}}"
    );
    let converted = convert_for(Target::Kyverno, &["Pod"], &rule)?;
    Ok(converted.variables[0].expression.clone())
}

#[test]
fn services_are_called_by_http_and_answers_that_are_no_success_are_errors() {
    for (call, expected) in [
        (
            "service: {url: 'http://a.b/c'}",
            "[http.get('http://a.b/c')].filter(answer, answer.statusCode < 300)[0]",
        ),
        (
            "method: GET, service: {url: 'http://a.b/{{ request.object.metadata.name }}', headers: [{key: X-A, value: b}]}",
            "[http.get('http://a.b/' + object.metadata.name, {'X-A': 'b'})].filter(answer, answer.statusCode < 300)[0]",
        ),
        (
            "method: POST, data: [{key: a, value: b}], service: {url: 'http://a.b/c', caBundle: PEM}",
            "[http.client('PEM').post('http://a.b/c', {'a': 'b'})].filter(answer, answer.statusCode < 300)[0]",
        ),
        (
            "method: POST, urlPath: /apis/authorization.k8s.io/v1/subjectaccessreviews, data: [{key: kind, value: SubjectAccessReview}, {key: spec, value: {user: a}}]",
            "dyn( resource.post( 'authorization.k8s.io/v1', 'subjectaccessreviews', '', {'kind': dyn('SubjectAccessReview'), 'spec': dyn({'user': 'a'})}))",
        ),
    ] {
        let written = called(call).unwrap();
        let words: Vec<&str> = written.split_whitespace().collect();
        assert_eq!(words.join(" "), expected);
    }
    let refusal = called("service: {url: 'http://a.b/c'}, default: {allowed: true}").unwrap_err();
    assert_eq!(&*refusal.construct, "a default for a call that fails");
}

#[test]
fn what_cannot_be_expressed_is_refused_by_name_and_place() {
    for (target, rule, construct, place) in [
        (
            Target::Kyverno,
            "{validate: {deny: {conditions: {any: [{key: '{{ path_canonicalize(request.object.metadata.name) }}', operator: Equals, value: a}]}}}}",
            "function path_canonicalize",
            "spec.rules[0].validate.deny.conditions.any[0]",
        ),
        (
            Target::Kyverno,
            "{preconditions: {all: [{key: '{{ request.roles }}', operator: AnyIn, value: [a]}]}, validate: {deny: {}}}",
            "roles of the user",
            "spec.rules[0].preconditions.all[0]",
        ),
        (
            Target::Kubernetes,
            "{context: [{name: m, configMap: {name: m, namespace: n}}], \
             validate: {deny: {conditions: {any: [{key: '{{ m.data.a }}', operator: Equals, value: a}]}}}}",
            "a ConfigMap in the context",
            "spec.rules[0].context[0]",
        ),
    ] {
        let refusal = convert_for(target, &["Pod"], rule).unwrap_err();
        assert_eq!((&*refusal.construct, &*refusal.place.path), (construct, place));
        assert!(!refusal.nearest.is_empty());
    }
}
