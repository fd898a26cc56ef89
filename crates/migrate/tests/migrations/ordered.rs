//! Functions that order lists, look something up and compute times, and defaults of data that are
//! not there.
#![allow(clippy::unwrap_used)]

use ephor_migrate::expressions::Target;

use super::conversion::{convert_for, deny, written};

/// What is written for a condition that compares a query with a text.
fn equal(kind: &str, query: &str) -> String {
    deny(&[kind], &format!("{{key: \"{{{{ {query} }}}}\", operator: Equals, value: x}}"))
}

/// The construct for which such a condition is refused.
fn refused(kind: &str, query: &str) -> String {
    let condition = format!("{{key: \"{{{{ {query} }}}}\", operator: Equals, value: x}}");
    let rule = format!("{{validate: {{deny: {{conditions: {{any: [{condition}]}}}}}}}}");
    convert_for(Target::Kyverno, &[kind], &rule).unwrap_err().construct.to_string()
}

#[test]
fn lists_are_ordered_by_a_field_that_every_item_has() {
    assert_eq!(
        equal("Pod", "sort_by(request.object.spec.containers, &name)[0].name"),
        "object.spec.containers.sortBy(container, container.name)[?0].?name.orValue('') != 'x'"
    );
    assert_eq!(
        equal("Pod", "min_by(request.object.spec.containers, &name).image"),
        "object.spec.containers.sortBy(container, container.name)[?0].?image.orValue('') != 'x'"
    );
    // Of several that are the largest the first one.
    assert_eq!(
        equal("Pod", "max_by(request.object.spec.containers, &name).image"),
        "object.spec.containers.filter(container,
  object.spec.containers.all(otherContainer,
    otherContainer.name <= container.name))[?0].?image.orValue('') !=
  'x'"
    );
    assert_eq!(
        refused("Pod", "sort_by(request.object.spec.containers, &image)[0].name"),
        "function sort_by by what may be missing, or no text or number"
    );
}

#[test]
fn what_is_looked_up_may_be_missing_but_not_the_object() {
    assert_eq!(
        equal("Pod", "lookup(request.object.metadata.labels, request.object.metadata.name)"),
        "object.metadata.labels[?object.metadata.name].orValue('') != 'x'"
    );
    assert_eq!(
        equal("Pod", "lookup(request.object.metadata.annotations, 'a')"),
        "object.metadata.annotations.?a.orValue('') != 'x'"
    );
    assert_eq!(
        equal("Pod", "lookup(request.object.metadata.annotations, 'a') || 'd'"),
        "(object.metadata.annotations.?a.hasValue() && object.metadata.annotations.?a.value() != ''
    ? object.metadata.annotations.?a.value()
    : 'd') !=
  'x'"
    );
    assert_eq!(
        equal("Pod", "lookup(request.object.spec.containers, `1`).image"),
        "object.spec.containers[?1].?image.orValue('') != 'x'"
    );
    assert_eq!(
        refused("Pod", "lookup(request.object.spec.containers, length(request.object.spec.volumes)).image"),
        "function lookup with a computed position"
    );
}

#[test]
fn objects_of_lists_have_the_names_and_values_of_the_items_of_one_list() {
    assert_eq!(
        equal(
            "Pod",
            "object_from_lists(request.object.spec.containers[0].env[?value].name, request.object.spec.containers[0].env[?value].value).MODE || ''"
        ),
        "let env = object.spec.containers[?0].?env.value().filter(item, item.?value.orValue('') != '')
listObjToMap(variables.env, variables.env, 'name', 'value').?MODE.orValue('') != 'x'"
    );
    // Values that are missing would move those behind them.
    assert_eq!(
        refused(
            "Pod",
            "object_from_lists(request.object.spec.containers[0].env[].name, request.object.spec.containers[0].env[].value).MODE"
        ),
        "function object_from_lists of lists that may be of different lengths"
    );
    assert_eq!(
        equal(
            "Pod",
            "object_from_lists(['a', 'b'], [request.object.metadata.name, request.object.spec.nodeName]).b"
        ),
        "object.spec.?nodeName.orValue('') != 'x'"
    );
}

#[test]
fn times_that_are_known_to_be_utc_are_computed() {
    let old = "time_after(time_now_utc(), time_add(request.object.metadata.creationTimestamp, '24h'))";
    assert_eq!(
        deny(&["Pod"], &format!("{{key: \"{{{{ {old} }}}}\", operator: Equals, value: true}}")),
        "!(time.now() > timestamp(object.metadata.creationTimestamp) + duration('24h'))"
    );
    assert_eq!(
        equal("Pod", "time_to_cron(time_add(time_now_utc(), '4h'))"),
        "time.toCron(time.truncate(time.now(), duration('1s')) + duration('4h')) != 'x'"
    );
    assert_eq!(
        refused("Pod", "time_add(request.object.metadata.annotations.until, '24h')"),
        "function time_add of a time that may be in another time zone"
    );
}

#[test]
fn texts_and_numbers_are_converted_as_the_old_functions_do() {
    assert_eq!(
        deny(
            &["ConfigMap"],
            "{key: '{{ to_boolean(request.object.data.flag) }}', operator: Equals, value: false}"
        ),
        "{'true': true, 'false': false}[object.data.flag.lowerAscii()] == true"
    );
    assert_eq!(
        equal("Pod", "regex_replace_all_literal('[0-9]', request.object.metadata.name, '$')"),
        "regex.replace(object.metadata.name, '[0-9]', '$') != 'x'"
    );
    assert_eq!(
        deny(
            &["Pod"],
            "{key: '{{ ceil(divide(length(request.object.spec.containers), `2`)) }}', operator: Equals, value: 1}"
        ),
        "math.ceil(double(object.spec.containers.size()) / 2.0) != 1.0"
    );
}

/// What is written for a condition on a ConfigMap's key through a variable with a default.
fn with_default(path: &str) -> String {
    written(
        &["Pod"],
        &format!(
            "{{context: [{{name: cm, configMap: {{name: settings, namespace: default}}}}, \
             {{name: level, variable: {{jmesPath: '{path}', default: gold}}}}], \
             validate: {{deny: {{conditions: {{any: [{{key: '{{{{ level }}}}', operator: Equals, value: x}}]}}}}}}}}"
        ),
    )
}

#[test]
fn a_default_covers_a_config_map_that_is_not_there() {
    assert_eq!(
        with_default("cm.data.level"),
        "let cm = dyn(resource.get('v1', 'configmaps', 'default', 'settings'))
variables.cm.?data.?level.orValue('gold') != 'x'"
    );
    // A label that is missing is covered, too.
    assert_eq!(
        with_default("cm.data.\"{{ request.object.metadata.labels.team }}\""),
        "let cm = dyn(resource.get('v1', 'configmaps', 'default', 'settings'))
(has(object.metadata.labels) && has(object.metadata.labels.team)
    ? variables.cm.?data[?object.metadata.labels.team].orValue('gold')
    : 'gold') !=
  'x'"
    );
}

#[test]
fn a_default_covers_an_object_that_is_not_there_but_no_failure() {
    let rule = |call: &str| {
        format!(
            "{{context: [{{name: tier, apiCall: {{urlPath: '{call}', jmesPath: metadata.name, default: none}}}}], \
             validate: {{deny: {{conditions: {{any: [{{key: '{{{{ tier }}}}', operator: Equals, value: x}}]}}}}}}}}"
        )
    };
    assert_eq!(
        written(&["Pod"], &rule("/api/v1/namespaces/{{request.namespace}}")),
        "let tier = dyn(resource.get('v1', 'namespaces', '', request.namespace))
(variables.tier == null ? 'none' : variables.tier.metadata.name) != 'x'"
    );
    // A list of a kind that is built in is always there.
    assert_eq!(
        written(&["Pod"], &rule("/api/v1/namespaces").replace("metadata.name", "'items[0].metadata.name'")),
        "let tier = dyn(resource.list('v1', 'namespaces', ''))
variables.tier.items[?0].?metadata.?name.orValue('') != 'x'"
    );
    let refused = convert_for(Target::Kyverno, &["Pod"], &rule("/apis/example.io/v1/widgets"));
    assert_eq!(&*refused.unwrap_err().construct, "a default for a call that fails");
}
