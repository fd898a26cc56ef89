//! Data of lookups: both sides see the same answers to the same requests, and no others.

use ephor_compare::{Answer, Comparison, EQUIVALENT_BUT_FOR_ERRORS, Options, compare};

use super::{compared, side};

/// A rule about Pods with a context.
fn classic(context: &str, validate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}
spec:
  background: false
  validationFailureAction: Enforce
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [Pod], operations: [CREATE, UPDATE]}}}}]}}
    context: {context}
    validate: {validate}
"
    )
}

fn is_relative(found: &Comparison) -> bool {
    matches!(found.answer, Answer::ProvedRelative(_))
}

#[test]
fn names_of_entries_say_nothing() {
    let policy = |name: &str, key: &str| {
        let validate = "{message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.KEY || ''x'' }}', operator: AnyNotIn, value: '{{ NAME.data.\"{{request.namespace}}\" || '''' }}'}]}}}";
        let context = "[{name: NAME, configMap: {name: allowed, namespace: team}}]";
        classic(&context.replace("NAME", name), &validate.replace("NAME", name).replace("KEY", key))
    };
    let found = compared(&policy("dict", "priorityClassName"), &policy("other", "priorityClassName"));
    assert_eq!(found.answer, Answer::ProvedRelative(vec!["ConfigMap team/allowed".into()]));
    assert!(!is_relative(&compared(&policy("dict", "priorityClassName"), &policy("other", "hostname"))));
    // The name of an entry is also the field that the other side reads.
    assert!(!is_relative(&compared(&policy("hostname", "hostname"), &policy("nodeName", "nodeName"))));
    assert!(is_relative(&compared(&policy("hostname", "hostname"), &policy("hostname", "hostname"))));
}

#[test]
fn data_for_which_they_differ_are_named() {
    let policy = |operator: &str| {
        let validate = "{message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.hostname || ''x'' }}', operator: OPERATOR, value: '{{ dict.data.key || '''' }}'}]}}}";
        let context = "[{name: dict, configMap: {name: allowed, namespace: team}}]";
        classic(context, &validate.replace("OPERATOR", operator))
    };
    let found = compared(&policy("Equals"), &policy("NotEquals"));
    let Answer::Tested(reasons) = &found.answer else { panic!("{:?}", found.answer) };
    let named = "they may differ for some data of ConfigMap team/allowed";
    assert!(reasons.iter().any(|reason| reason == named), "{reasons:?}");
    assert_eq!(&found.reasons, reasons);
    let found = compared(&policy("Equals"), &policy("Equals"));
    assert!(is_relative(&found) && !found.reasons.iter().any(|reason| reason == named));
}

/// A rule of CEL about Pods.
fn cel(expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}}]
  validations:
  - expression: >-
      {expression}
    message: m
"
    )
}

/// Compares as a migration does: an error is a violation.
fn compared_without_errors(old: &str, new: &str) -> Comparison {
    compare(&side(old), &side(new), Options { question: EQUIVALENT_BUT_FOR_ERRORS, ..Options::default() })
}

const OBJECT: &str = "[{name: found, apiCall: {urlPath: '/api/v1/namespaces/{{request.namespace}}/secrets/a', jmesPath: 'metadata.labels.status || `\"\"`'}}]";
const IS_PROTECTED: &str =
    "{message: m, deny: {conditions: {any: [{key: '{{ found }}', operator: Equals, value: protected}]}}}";

#[test]
fn an_object_that_both_languages_read_is_the_same() {
    let old = classic(OBJECT, IS_PROTECTED);
    let get = |place: &str, label: &str| {
        cel(&format!("dyn(resource.get({place})).metadata.?labels.?{label} != optional.of('protected')"))
    };
    let here = "'v1', 'secrets', request.namespace, 'a'";
    let found = compared_without_errors(&old, &get(here, "status"));
    let Answer::ProvedRelative(to) = &found.answer else { panic!("{:?}", found.answer) };
    assert!(to.contains(&"objects of the cluster".to_string()), "{to:?}");
    for other in [
        "'v1', 'secrets', 'team', 'a'",
        "'v1', 'secrets', request.namespace, 'b'",
        "'v1', 'secrets', request.name, 'a'",
        "'v1', 'configmaps', request.namespace, 'a'",
        "'v2', 'secrets', request.namespace, 'a'",
        "'v1', 'secrets', object.metadata.name, 'a'",
    ] {
        let found = compared_without_errors(&old, &get(other, "status"));
        assert!(!is_relative(&found), "{other}: {:?}", found.answer);
    }
    assert!(!is_relative(&compared_without_errors(&old, &get(here, "other"))));
}

#[test]
fn an_object_that_does_not_exist_is_an_error_for_entries_and_null_for_expressions() {
    let old = classic(OBJECT, IS_PROTECTED);
    let new = cel(
        "dyn(resource.get('v1', 'secrets', request.namespace, 'a')).?metadata.?labels.?status != optional.of('protected')",
    );
    assert!(!is_relative(&compared_without_errors(&old, &new)));
    // An entry that has a value for it has no error.
    let with_default = OBJECT.replace("urlPath:", "default: {}, urlPath:");
    let missing = compared_without_errors(&classic(&with_default, IS_PROTECTED), &old);
    assert!(!is_relative(&missing), "{:?}", missing.answer);
}

#[test]
fn a_request_that_fails_is_an_error_on_both_sides() {
    let old = classic(OBJECT, IS_PROTECTED);
    let new = cel(
        "dyn(resource.get('v1', 'secrets', request.namespace, 'a')).metadata.?labels.?status != optional.of('protected') || true",
    );
    assert!(!is_relative(&compared_without_errors(&old, &new)));
}

const LIST: &str = "[{name: found, apiCall: {urlPath: '/api/v1/namespaces/{{request.namespace}}/services', jmesPath: 'items[].metadata.name'}}]";

#[test]
fn a_list_that_both_languages_read_has_the_same_items() {
    let deny = |conditions: &str| format!("{{message: m, deny: {{conditions: {{any: [{conditions}]}}}}}}");
    let old = classic(LIST, &deny("{key: web, operator: AnyIn, value: '{{ found }}'}"));
    let list = |place: &str, rest: &str| cel(&format!("!dyn(resource.list({place})).items{rest}"));
    let here = "'v1', 'services', request.namespace";
    let is_proved = |place: &str, rest: &str| is_relative(&compared_without_errors(&old, &list(place, rest)));
    // Names hold no wildcards in clusters, but these are tried.
    let exists = ".exists(item, item.metadata.name == 'web' || item.metadata.name == '*')";
    assert!(is_proved(here, exists), "{:?}", compared_without_errors(&old, &list(here, exists)).answer);
    for (place, rest) in [
        ("'v1', 'services', 'team'", exists),
        ("'v1', 'services', ''", exists),
        ("'v1', 'endpoints', request.namespace", exists),
        ("'v1', 'services', request.namespace, {'a': 'b'}", exists),
        (here, ".exists(item, item.metadata.name == 'other')"),
        (here, ".all(item, item.metadata.name == 'web' || item.metadata.name == '*')"),
        (here, ".exists(item, item.metadata.namespace == 'web')"),
    ] {
        assert!(!is_proved(place, rest), "{place} {rest}");
    }
}

#[test]
fn an_empty_list_is_one_of_them() {
    let old = classic(
        LIST,
        "{message: m, deny: {conditions: {any: [{key: '{{ length(found) }}', operator: GreaterThan, value: 0}]}}}",
    );
    let list = "dyn(resource.list('v1', 'services', request.namespace)).items";
    assert!(is_relative(&compared_without_errors(&old, &cel(&format!("{list}.size() == 0")))));
    for other in [format!("{list}.size() <= 1"), "false".to_string(), format!("{list}.size() > 0")] {
        assert!(!is_relative(&compared_without_errors(&old, &cel(&other))), "{other}");
    }
}

#[test]
fn labels_of_a_request_are_a_part_of_it() {
    let context = "[{name: found, apiCall: {urlPath: '/api/v1/namespaces?labelSelector=a%3Db', jmesPath: 'length(items)'}}]";
    let old = classic(
        context,
        "{message: m, deny: {conditions: {any: [{key: '{{ found }}', operator: GreaterThan, value: 0}]}}}",
    );
    let new =
        |labels: &str| cel(&format!("dyn(resource.list('v1', 'namespaces', ''{labels})).items.size() == 0"));
    assert!(is_relative(&compared_without_errors(&old, &new(", {'a': 'b'}"))));
    for other in ["", ", {'a': 'c'}", ", {'b': 'a'}", ", {'a': 'b', 'c': 'd'}"] {
        assert!(!is_relative(&compared_without_errors(&old, &new(other))), "{other}");
    }
}

/// A loop over the volumes of Secrets, each of which is looked up.
fn looked_up(namespace: &str, name: &str, operator: &str) -> String {
    classic(
        "[]",
        "{message: m, foreach: [{list: 'request.object.spec.volumes[].secret', context: [{name: found, apiCall: {urlPath: '/api/v1/namespaces/NAMESPACE/secrets/{{element.NAME}}', jmesPath: 'metadata.labels.status || `\"\"`'}}], deny: {conditions: {any: [{key: '{{ found }}', operator: OPERATOR, value: protected}]}}}]}",
    )
    .replace("NAMESPACE", namespace)
    .replace("NAME", name)
    .replace("OPERATOR", operator)
}

#[test]
fn data_of_the_elements_of_a_loop_are_the_same() {
    let here = "{{request.namespace}}";
    let old = looked_up(here, "secretName", "Equals");
    assert!(is_relative(&compared(&old, &looked_up("{{ request.namespace }}", "secretName", "AnyIn"))));
    for other in [
        looked_up("team", "secretName", "Equals"),
        looked_up(here, "optional", "Equals"),
        looked_up(here, "secretName", "NotEquals"),
    ] {
        assert!(!is_relative(&compared(&old, &other)), "{other}");
    }
    let new = |place: &str, rest: &str| {
        cel(&format!(
            "object.spec.?volumes.orValue([]).all(v, !has(v.secret) || dyn(resource.get({place})).metadata.?labels.?status{rest})"
        ))
    };
    let place = "'v1', 'secrets', request.namespace, v.secret.secretName";
    assert!(is_relative(&compared_without_errors(&old, &new(place, " != optional.of('protected')"))));
    for (place, rest) in [
        ("'v1', 'secrets', 'team', v.secret.secretName", " != optional.of('protected')"),
        ("'v1', 'secrets', request.namespace, v.name", " != optional.of('protected')"),
        (place, " == optional.none()"),
    ] {
        assert!(!is_relative(&compared_without_errors(&old, &new(place, rest))), "{place} {rest}");
    }
}

#[test]
fn what_registries_say_of_an_image_is_the_same() {
    let old = classic(
        "[]",
        "{message: m, foreach: [{list: request.object.spec.containers, context: [{name: found, imageRegistry: {reference: '{{ element.image }}'}}], deny: {conditions: {all: [{key: \"{{ found.configData.config.User || '' }}\", operator: Equals, value: root}]}}}]}",
    );
    let new = |image: &str, part: &str| {
        cel(&format!(
            "object.spec.containers.all(c, image.getMetadata({image}).{part}.?config.?User != optional.of('root'))"
        ))
    };
    assert!(is_relative(&compared_without_errors(&old, &new("c.image", "config"))));
    for (image, part) in [("c.image", "configData"), ("c.image", "manifest"), ("c.name", "config")] {
        assert!(!is_relative(&compared_without_errors(&old, &new(image, part))), "{image} {part}");
    }
}

/// A rule that reads what a registry says of the image of each container.
fn of_images(query: &str, key: &str, operator: &str, value: &str) -> String {
    classic(
        "[]",
        &format!(
            "{{message: m, foreach: [{{list: request.object.spec.containers, context: [{{name: found, imageRegistry: {{reference: '{{{{ element.image }}}}'{query}}}}}], deny: {{conditions: {{all: [{{key: \"{key}\", operator: {operator}, value: {value}}}]}}}}}}]}}"
        ),
    )
}

#[test]
fn how_many_members_something_has_is_the_same_whatever_they_are() {
    let old = of_images("", "{{ found.configData.config.Volumes || '' | length(@) }}", "GreaterThan", "0");
    let new = |part: &str, number: u32| {
        let of = "image.getMetadata(c.image).config.?config";
        cel(&format!(
            "object.spec.containers.all(c, size({of}.?{part}.orValue(null) != null ? {of}.{part}.value() : {{}}) <= {number})"
        ).replace(".config.?config.Volumes.value()", ".config.config.Volumes").replace(".config.?config.Labels.value()", ".config.config.Labels"))
    };
    assert!(is_relative(&compared_without_errors(&old, &new("Volumes", 0))));
    for (part, number) in [("Volumes", 1), ("Labels", 0)] {
        assert!(!is_relative(&compared_without_errors(&old, &new(part, number))), "{part} {number}");
    }
}

#[test]
fn the_sizes_of_the_layers_of_an_image_have_one_sum() {
    let old = |value: &str| {
        of_images(
            ", jmesPath: 'to_string(sum(manifest.layers[*].size))'",
            "{{ found }}",
            "GreaterThan",
            value,
        )
    };
    let new = |has: &str, size: &str, value: &str| {
        let sum = format!(
            "string(image.getMetadata(c.image).manifest.layers.filter(l, has(l.{has})).map(l, l.{size}).sum())"
        );
        cel(&format!(
            "object.spec.containers.all(c, !(isQuantity({sum}) && quantity({sum}).isGreaterThan(quantity('{value}'))))"
        ))
    };
    let found = compared_without_errors(&old("2Gi"), &new("size", "size", "2Gi"));
    assert_eq!(found.answer, Answer::ProvedRelative(vec!["image registries".into()]));
    for (has, size, value) in [
        ("size", "size", "2G"),
        ("size", "size", "2Mi"),
        ("digest", "size", "2Gi"),
        ("size", "length", "2Gi"),
    ] {
        let found = compared_without_errors(&old("2Gi"), &new(has, size, value));
        assert!(!is_relative(&found), "{has} {size} {value}: {:?}", found.answer);
    }
    // One more layer is none of another list.
    let other = new("size", "size", "2Gi").replace("manifest.layers", "manifest.annotations");
    assert!(!is_relative(&compared_without_errors(&old("2Gi"), &other)));
}

#[test]
fn the_age_of_an_image_is_the_same_in_both_languages() {
    let old = |operator: &str, value: &str| {
        let key = "{{ time_since('', '{{ found.configData.created }}', '') }}";
        of_images("", key, operator, value)
    };
    let new = |operator: &str, time: &str, value: &str| {
        cel(&format!(
            "object.spec.containers.all(c, !(time.now() - timestamp(string(image.getMetadata(c.image).config.{time})) {operator} duration('{value}')))"
        ))
    };
    let found = compared_without_errors(&old("GreaterThan", "4380h"), &new(">", "created", "4380h"));
    let to = ["durations fit into 64 bits", "image registries", "the clock"].map(String::from);
    assert_eq!(found.answer, Answer::ProvedRelative(to.into()));
    let same = compared_without_errors(&old("GreaterThanOrEquals", "60m"), &new(">=", "created", "1h"));
    assert!(is_relative(&same), "{:?}", same.answer);
    for (operator, time, value) in [
        (">", "created", "4381h"),
        (">=", "created", "4380h"),
        ("<", "created", "4380h"),
        (">", "author", "4380h"),
    ] {
        let found = compared_without_errors(&old("GreaterThan", "4380h"), &new(operator, time, value));
        assert!(!is_relative(&found), "{operator} {time} {value}: {:?}", found.answer);
    }
    // Images without a time are as old as the year 1 in CEL, for which that is too long.
    let younger = compared_without_errors(&old("LessThan", "1h"), &new("<", "created", "1h"));
    assert!(!is_relative(&younger), "{:?}", younger.answer);
}

/// A rule about a list of objects that a query filters by fields of the object.
fn of_list(kind: &str, path: &str, query: &str, validate: &str) -> String {
    let context = format!("[{{name: found, apiCall: {{urlPath: '{path}', jmesPath: \"{query}\"}}}}]");
    classic(&context, validate).replace("kinds: [Pod]", &format!("kinds: [{kind}]"))
}

fn cel_of(group: &str, resources: &str, expression: &str) -> String {
    let rules = format!(
        "apiGroups: ['{group}'], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [{resources}]"
    );
    cel(expression).replace(
        "apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]",
        &rules,
    )
}

#[test]
fn what_an_item_wants_of_the_labels_of_the_object_is_the_same() {
    let old = |labels: &str, wanted: &str| {
        of_list(
            "Deployment",
            "/apis/networking.k8s.io/v1/namespaces/{{request.namespace}}/networkpolicies",
            &format!("items[?label_match({wanted}, `{{{{request.object.{labels}}}}}`)] | length(@)"),
            "{message: m, deny: {conditions: {any: [{key: '{{ found }}', operator: LessThan, value: 1}]}}}",
        )
    };
    let new = |list: &str, rest: &str| {
        let own = "item.spec.podSelector.matchLabels";
        let list = format!("dyn(resource.list('networking.k8s.io/v1', 'networkpolicies', {list})).items");
        cel_of(
            "apps",
            "deployments",
            &format!(
                "{list}.filter(item, {own}.all(key, object.spec.template.metadata.labels[?key] == optional.of({own}[key]))){rest}"
            ),
        )
    };
    let own = old("spec.template.metadata.labels", "spec.podSelector.matchLabels");
    let here = "request.namespace";
    let found = compared_without_errors(&own, &new(here, ".size() >= 1"));
    assert!(is_relative(&found), "{:?}", found.answer);
    for (list, rest) in [(here, ".size() >= 2"), ("''", ".size() >= 1"), (here, ".size() < 1")] {
        assert!(!is_relative(&compared_without_errors(&own, &new(list, rest))), "{list} {rest}");
    }
    for (labels, wanted) in [
        ("metadata.labels", "spec.podSelector.matchLabels"),
        ("spec.template.metadata.labels", "metadata.labels"),
        ("spec.template.metadata.annotations", "spec.podSelector.matchLabels"),
    ] {
        let found = compared_without_errors(&old(labels, wanted), &new(here, ".size() >= 1"));
        assert!(!is_relative(&found), "{labels} {wanted}: {:?}", found.answer);
    }
    // An item that wants nothing that can be read is an error of the query, and none of a loop that
    // ends before it.
    let loosely = new(here, ".size() >= 1").replace(".filter(", ".exists(").replace(".size() >= 1", "");
    assert!(!is_relative(&compared_without_errors(&own, &loosely)));
}

#[test]
fn whether_an_item_is_the_object_is_the_same() {
    let annotation = "metadata.annotations.host";
    let old = |pair: &str| {
        of_list(
            "Service",
            "/api/v1/services",
            &format!("items[?[metadata.namespace, metadata.name] {pair}].{annotation}"),
            "{message: m, deny: {conditions: {all: [{key: '{{ request.object.metadata.annotations.host || ''none'' }}', operator: AnyIn, value: '{{ found }}'}]}}}",
        )
    };
    let new = |pair: &str, host: &str| {
        let own = "item.metadata.annotations.host";
        cel_of(
            "",
            "services",
            &format!(
                "!dyn(resource.list('v1', 'services', '')).items.exists(item, [item.metadata.namespace, item.metadata.name] {pair} && item.metadata.?annotations.?host.hasValue() && ({own} == {host} || {own} == '*' || {host} == '*'))"
            ),
        )
    };
    let others = "!= ['{{request.object.metadata.namespace}}', '{{request.object.metadata.name}}']";
    let pair = "!= [object.metadata.namespace, object.metadata.name]";
    let host = "object.metadata.?annotations.?host.orValue('none')";
    // An empty text is none for the variable.
    let host = &format!("({host} == '' ? 'none' : {host})");
    let found = compared_without_errors(&old(others), &new(pair, host));
    assert!(is_relative(&found), "{:?}", found.answer);
    for (other, other_host) in [
        (pair.replace("!=", "==").as_str(), host.as_str()),
        ("!= [object.metadata.name, object.metadata.namespace]", host),
        ("!= [object.metadata.namespace, object.metadata.generateName]", host),
        (pair, "object.metadata.?annotations.?other.orValue('none')"),
    ] {
        let found = compared_without_errors(&old(others), &new(other, other_host));
        assert!(!is_relative(&found), "{other} {other_host}: {:?}", found.answer);
    }
    let swapped = "!= ['{{request.object.metadata.name}}', '{{request.object.metadata.namespace}}']";
    assert!(!is_relative(&compared_without_errors(&old(swapped), &new(pair, host))));
}

/// A rule with an API call in a loop, and two preconditions.
fn calling(first: &str, second: &str) -> String {
    let context = "[{name: other, apiCall: {urlPath: '/api/v1/namespaces/a/secrets/{{request.object.spec.hostname}}', jmesPath: metadata.labels.a}}]";
    let validate =
        "{message: m, deny: {conditions: {any: [{key: '{{ other }}', operator: Equals, value: b}]}}}";
    let admit = format!("preconditions: {{all: [{first}, {second}]}}\n    validate:");
    classic(context, validate).replace("validate:", &admit)
}

#[test]
fn conditions_that_cannot_fail_have_no_order() {
    let operation = "{key: '{{ request.operation || ''BACKGROUND'' }}', operator: NotEquals, value: DELETE}";
    let length =
        |of: &str| format!("{{key: '{{{{ {of} | length(@) }}}}', operator: GreaterThanOrEquals, value: 1}}");
    // By their texts: no object is evaluated.
    let is_equal = |one: &str, other: &str| {
        let found = compared(&calling(one, other), &calling(other, one));
        is_relative(&found) && found.objects == 0
    };
    let total = length("request.object.spec.initContainers[].name || `[]`");
    assert!(is_equal(&total, operation));
    assert!(is_equal(&length("request.object.spec.volumes[].secret || ''''"), &total));
    // The length of nothing, and of a number; a field that may not be there; data that has to be
    // loaded.
    for fails in ["request.object.spec.volumes[].secret", "request.object.spec.hostname || `1`"] {
        assert!(!is_equal(&length(fails), &total), "{fails}");
    }
    let missing = "{key: '{{ request.object.spec.hostname }}', operator: Equals, value: a}";
    let loads = "{key: '{{ other || ''x'' }}', operator: NotEquals, value: a}";
    assert!(!is_equal(loads, &total));
    assert_eq!(compared(&calling(missing, &total), &calling(&total, missing)).answer, Answer::Differs);
    // Others stand where they stood.
    let of_volumes = length("request.object.spec.volumes[].name || `[]`");
    assert!(!is_relative(&compared(&calling(&total, operation), &calling(&of_volumes, operation))));
}

#[test]
fn the_object_of_a_request_is_found_by_its_name() {
    let old = classic(
        "[{name: own, apiCall: {urlPath: '/api/v1/namespaces/{{request.namespace}}/pods/{{request.name}}', jmesPath: metadata.labels.exec}}]",
        "{message: m, deny: {conditions: {any: [{key: '{{ own }}', operator: Equals, value: 'false'}]}}}",
    )
    .replace("kinds: [Pod], operations: [CREATE, UPDATE]", "kinds: [Pod/exec], operations: [CONNECT]");
    let new = |name: &str, label: &str| {
        cel(&format!(
            "dyn(resource.get('v1', 'pods', request.namespace, {name})).metadata.labels.{label} != 'false'"
        ))
        .replace(
            "operations: [CREATE, UPDATE], resources: [pods]",
            "operations: [CONNECT], resources: [pods/exec]",
        )
    };
    let found = compared(&old, &new("request.name", "exec"));
    assert!(is_relative(&found), "{:?} {:?}", found.answer, found.reasons);
    assert!(!is_relative(&compared(&old, &new("request.name", "debug"))));
    assert!(!is_relative(&compared(&old, &new("request.namespace", "exec"))));
    assert!(!is_relative(&compared(&old, &new("object.container", "exec"))));
}

#[test]
fn what_is_sent_to_exec_has_types() {
    let old = classic(
        "[]",
        "{message: m, deny: {conditions: {any: [{key: '{{ request.object.container }}', operator: Equals, value: web}, {key: '{{ request.object.stdin || `false` }}', operator: Equals, value: true}]}}}",
    )
    .replace("kinds: [Pod], operations: [CREATE, UPDATE]", "kinds: [Pod/exec], operations: [CONNECT]");
    let new = |expression: &str| {
        cel(expression).replace(
            "operations: [CREATE, UPDATE], resources: [pods]",
            "operations: [CONNECT], resources: [pods/exec]",
        )
    };
    let found = compared(&old, &new("object.container != 'web' && !object.?stdin.orValue(false)"));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    let found = compared(&old, &new("object.container != 'web' && !object.?tty.orValue(false)"));
    assert_eq!(found.answer, Answer::Differs);
}

#[test]
fn an_entry_under_the_name_of_the_namespace_is_the_same() {
    let context = "[{name: dict, configMap: {name: allowed, namespace: team}}]";
    let old = |key: &str| {
        let validate = "{message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.hostname || '''' }}', operator: NotEquals, value: '{{ dict.data.KEY || '''' }}'}]}}}";
        classic(context, &validate.replace("KEY", key))
    };
    let new = |key: &str, other: &str| {
        let host = "object.spec.?hostname.orValue('')";
        cel(&format!(
            "{host} == ('data' in variables.dict && KEY in variables.dict.data ? variables.dict.data[OTHER] : '')"
        ).replace("KEY", key).replace("OTHER", other))
        .replace("  validations:", "  variables: [{name: dict, expression: \"dyn(resource.get('v1', 'configmaps', 'team', 'allowed'))\"}]\n  validations:")
    };
    let answer = |old: &str, new: &str| {
        let sides = [old, new].map(|text| side(text).without_patterns());
        let [old, new] = &sides;
        compare(old, new, Options { question: EQUIVALENT_BUT_FOR_ERRORS, ..Options::default() })
    };
    let by_namespace = old("\"{{request.namespace}}\"");
    let own = "request.namespace";
    let found = answer(&by_namespace, &new(own, own));
    assert!(is_relative(&found), "{:?} {:?}", found.answer, found.reasons);
    assert!(is_relative(&answer(&old("one"), &new("'one'", "'one'"))));
    for (key, other) in [("'one'", "'one'"), ("'one'", own), (own, "'one'"), ("request.name", "request.name")]
    {
        let found = answer(&by_namespace, &new(key, other));
        assert!(!is_relative(&found), "{key} {other}: {:?}", found.answer);
    }
    assert!(!is_relative(&answer(&old("\"{{request.name}}\""), &new(own, own))));
    assert!(!is_relative(&answer(&old("one"), &new(own, own))));
}

#[test]
fn a_text_that_is_a_list_has_the_same_items() {
    let context = "[{name: dict, configMap: {name: allowed, namespace: team}}]";
    let old = |operator: &str, entry: &str| {
        let validate = "{message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.priorityClassName || '''' }}', operator: OPERATOR, value: '{{ dict.data.ENTRY || '''' }}'}]}}}";
        classic(context, &validate.replace("OPERATOR", operator).replace("ENTRY", entry))
    };
    let new = |is_list: &str, in_list: &str, other: &str| {
        let text = "variables.all";
        let expression = format!("TEXT.{is_list} ? {in_list} : ({other})");
        let get = "dyn(resource.get('v1', 'configmaps', 'team', 'allowed'))";
        let entry = "'data' in variables.dict && has(variables.dict.data.one) ? variables.dict.data.one : ''";
        cel(&expression.replace("TEXT", text).replace("NAME", "object.spec.?priorityClassName.orValue('')"))
            .replace("  validations:", &format!("  variables: [{{name: dict, expression: \"{get}\"}}, {{name: all, expression: \"{entry}\"}}]\n  validations:"))
    };
    let answer = |old: &str, new: &str| {
        let sides = [old, new].map(|text| side(text).without_patterns());
        let [old, new] = &sides;
        compare(old, new, Options { question: EQUIVALENT_BUT_FOR_ERRORS, ..Options::default() })
    };
    let (begins, listed) = ("startsWith('[')", "NAME in json.unmarshal(TEXT)");
    let same = "TEXT == NAME || TEXT == '*'";
    let found = answer(&old("AnyNotIn", "one"), &new(begins, listed, same));
    assert!(is_relative(&found), "{:?} {:?}", found.answer, found.reasons);
    assert!(is_relative(&answer(&old("AllNotIn", "one"), &new(begins, listed, same))));
    for (other, new) in [
        (old("AnyIn", "one"), new(begins, listed, same)),
        (old("AnyNotIn", "two"), new(begins, listed, same)),
        (old("AnyNotIn", "one"), new("startsWith('{')", listed, same)),
        (old("AnyNotIn", "one"), new(begins, "!(NAME in json.unmarshal(TEXT))", same)),
        (old("AnyNotIn", "one"), new(begins, "object.metadata.name in json.unmarshal(TEXT)", same)),
        (old("AnyNotIn", "one"), new(begins, listed, "TEXT == NAME || TEXT == 'a'")),
        (old("AnyNotIn", "one"), new(begins, listed, "true")),
        (old("AnyNotIn", "one"), new(begins, "true", same)),
        // An integer is none of the texts for an expression.
        (
            old("AnyNotIn", "one").replace("priorityClassName", "priority"),
            new(begins, listed, same).replace("priorityClassName", "priority"),
        ),
        // One language takes the default for an empty text, too.
        (
            old("AnyNotIn", "one").replace("priorityClassName || ''''", "priorityClassName || ''a''"),
            new(begins, listed, same)
                .replace("priorityClassName.orValue('')", "priorityClassName.orValue('a')"),
        ),
    ] {
        let found = answer(&other, &new);
        assert!(!is_relative(&found), "{:?}\n{other}\n{new}", found.answer);
    }
}

#[test]
fn a_name_in_double_quotes_is_a_field_that_nothing_has() {
    let check = |value: &str| {
        format!(
            "{{message: m, deny: {{conditions: {{any: [{{key: '{{{{ request.object.spec.hostname || {value} }}}}', operator: Equals, value: a}}]}}}}}}"
        )
    };
    let found = compared(&classic("[]", &check("\"\"")), &classic("[]", &check("''b''")));
    assert_eq!(found.answer, Answer::Proved);
}
