//! What API servers admit: fields that stand in place of each other, and those that they fill in
//! for some objects alone.

use ephor_compare::{Answer, Verdict};

use super::{checking, compared};

/// A ValidatingPolicy of objects of a resource.
fn requiring(group: &str, resource: &str, expression: &str) -> String {
    super::requiring(resource, expression).replacen("apiGroups: ['']", &format!("apiGroups: ['{group}']"), 1)
}

#[test]
fn an_object_may_have_another_field_in_place_of_one_that_the_smallest_has() {
    for (group, resource, expression) in [
        ("networking.k8s.io", "ingresses", "has(object.spec.defaultBackend)"),
        (
            "networking.k8s.io",
            "ingresses",
            "!has(object.spec.defaultBackend) || !has(object.spec.defaultBackend.service.port.name)",
        ),
        (
            "networking.k8s.io",
            "ingresses",
            "object.spec.?rules.orValue([]).all(r, r.?http.?paths.orValue([]).all(p, has(p.path)))",
        ),
        ("", "services", "has(object.spec.ports)"),
        ("", "services", "has(object.spec.clusterIP)"),
        ("apps", "deployments", "has(object.spec.selector.matchLabels)"),
        ("apps", "deployments", "has(object.spec.strategy.rollingUpdate)"),
        ("batch", "jobs", "has(object.spec.completions)"),
        ("", "persistentvolumes", "has(object.spec.hostPath)"),
        ("", "pods", "object.spec.?volumes.orValue([]).all(v, has(v.emptyDir))"),
        ("", "pods", "object.spec.containers.all(c, c.?envFrom.orValue([]).all(e, has(e.configMapRef)))"),
        ("", "pods", "object.spec.containers.all(c, !has(c.livenessProbe) || has(c.livenessProbe.exec))"),
        (
            "networking.k8s.io",
            "networkpolicies",
            "object.spec.?ingress.orValue([]).all(c, c.?from.orValue([]).all(e, has(e.podSelector)))",
        ),
        ("rbac.authorization.k8s.io", "rolebindings", "object.?subjects.orValue([]).all(s, has(s.apiGroup))"),
        ("rbac.authorization.k8s.io", "clusterroles", "object.?rules.orValue([]).all(r, has(r.resources))"),
    ] {
        let always = requiring(group, resource, "true");
        let found = compared(&requiring(group, resource, expression), &always);
        assert_eq!(found.answer, Answer::Differs, "{expression}");
    }
}

#[test]
fn an_object_may_have_a_field_that_needs_another_one() {
    for (resource, expression) in [
        ("services", "!has(object.spec.sessionAffinityConfig)"),
        ("services", "!has(object.spec.loadBalancerSourceRanges)"),
        ("pods", "object.spec.?initContainers.orValue([]).all(c, c.?env.orValue([]).all(e, !has(e.value)))"),
        ("pods", "object.spec.?tolerations.orValue([]).all(t, !has(t.value))"),
    ] {
        let found = compared(&requiring("", resource, expression), &requiring("", resource, "true"));
        assert_eq!(found.answer, Answer::Differs, "{expression}");
    }
}

#[test]
fn what_goes_with_a_field_may_be_elsewhere_in_the_object() {
    for (resource, expression) in [
        ("pods", "object.spec.containers.all(c, c.?volumeMounts.orValue([]).all(m, !has(m.readOnly)))"),
        ("pods", "object.spec.containers.all(c, !has(c.volumeDevices))"),
        ("pods", "object.spec.?initContainers.orValue([]).all(c, !has(c.livenessProbe))"),
        ("pods", "object.spec.?dnsPolicy.orValue('') != 'None'"),
        (
            "services",
            "object.spec.?ports.orValue([]).all(p, p.?name.orValue('') != 'c' || p.?nodePort.orValue(0) < 30003)",
        ),
    ] {
        let found = compared(&requiring("", resource, expression), &requiring("", resource, "true"));
        assert_eq!(found.answer, Answer::Differs, "{expression}");
    }
}

#[test]
fn texts_that_no_server_admits_do_not_stand_for_others_that_it_does() {
    let of = |name: &str| {
        let condition = |key: &str, operator: &str, value: &str| {
            format!("{{key: '{{{{ element.{key} }}}}', operator: {operator}, value: {value}}}")
        };
        let port = condition("nodePort || `0`", "LessThan", "30002");
        let named = condition("name || ''''", "AnyIn", &format!("[a, {name}]"));
        checking(
            "Service",
            &format!(
                "foreach: [{{list: request.object.spec.ports, deny: {{conditions: {{any: [{port}, {named}]}}}}}}]"
            ),
        )
    };
    assert_eq!(compared(&of("NodePort"), &of("c")).answer, Answer::Differs);
}

#[test]
fn an_amount_is_shown_in_another_notation_than_it_is_written_in() {
    let of = |operator: &str| {
        let condition =
            format!("{{key: '{{{{ element.emptyDir.sizeLimit }}}}', operator: {operator}, value: '0.1'}}");
        checking(
            "Pod",
            &format!(
                "foreach: [{{list: request.object.spec.volumes, deny: {{conditions: {{all: [{condition}]}}}}}}]"
            ),
        )
    };
    // It is `100m` in clusters, which equals 0.1 and is another text.
    assert_eq!(compared(&of("AllIn"), &of("Equals")).answer, Answer::Differs);
}

#[test]
fn what_every_object_has_is_proved_to_be_there() {
    for (group, resource, expression) in [
        (
            "networking.k8s.io",
            "ingresses",
            "has(object.spec.defaultBackend) || object.spec.?rules.orValue([]).size() > 0",
        ),
        ("apps", "deployments", "has(object.spec.selector) && has(object.spec.template.metadata.labels)"),
        ("", "services", "has(object.spec.type) && has(object.spec.sessionAffinity)"),
        ("rbac.authorization.k8s.io", "roles", "object.rules == null || object.rules.all(r, has(r.verbs))"),
    ] {
        let always = requiring(group, resource, "true");
        let found = compared(&requiring(group, resource, expression), &always);
        assert_eq!(found.answer, Answer::Proved, "{expression}: {:?}", found.reasons);
    }
}

#[test]
fn what_is_recorded_of_some_objects_alone_proves_nothing_of_the_others() {
    let of = |expression: &str| {
        requiring("autoscaling", "horizontalpodautoscalers", expression).replace("[v1]", "[v2]")
    };
    let always = of("true");
    for expression in
        ["has(object.spec.scaleTargetRef.apiVersion)", "object.spec.metrics.all(m, has(m.resource))"]
    {
        let found = compared(&of(expression), &always);
        assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{expression}");
    }
}

#[test]
fn a_conditional_anchor_decides_about_all_of_a_pattern() {
    let of = |class: &str| {
        checking(
            "Ingress",
            &format!(
                "pattern: {{metadata: {{labels: {{'a*': '!a'}}}}, spec: {{(ingressClassName): {class}}}}}"
            ),
        )
    };
    assert_eq!(compared(&of("'?*'"), &of("ab")).answer, Answer::Differs);
    assert_eq!(compared(&of("'?*'"), &of("'?*'").replace("m,", "other,")).answer, Answer::Proved);
    let of_items = |name: &str| {
        checking(
            "Pod",
            &format!(
                "pattern: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{(name): {name}, image: x}}]}}}}"
            ),
        )
    };
    assert_eq!(compared(&of_items("a"), &of_items("c")).answer, Answer::Differs);
}

#[test]
fn a_label_that_is_read_alone_and_with_all_others_is_one_of_both() {
    let of = |any: &str| {
        checking(
            "Ingress",
            &format!(
                "anyPattern: [{{metadata: {{=(labels): {{'*': {any}}}}}}}, {{metadata: {{labels: {{=(b): 'a?'}}}}}}]"
            ),
        )
    };
    assert_eq!(compared(&of("'?*'"), &of("a-b")).answer, Answer::Differs);
}

#[test]
fn fields_without_a_schema_are_what_they_are_compared_with() {
    let of = |expression: &str| requiring("example.com", "widgets", expression);
    for (old, new) in [
        ("object.?spec.?names.orValue([]) == ['ab']", "object.?spec.?names.orValue([]) == ['ba']"),
        ("object.?spec.?map.orValue({}) == {'a': 'b'}", "object.?spec.?map.orValue({}) == {'a': 'c'}"),
        (
            "object.?metadata.?labels[?'a'].orValue('') in object.spec.names",
            "object.?metadata.?labels[?'b'].orValue('') in object.spec.names",
        ),
        (
            "'ab' in object.spec.items.filter(x, size(x.name) >= 2).map(v, v.name)",
            "'cd' in object.spec.items.filter(x, size(x.name) >= 2).map(v, v.name)",
        ),
    ] {
        assert_eq!(compared(&of(old), &of(new)).answer, Answer::Differs, "{old}");
    }
    let of = |key: &str| {
        checking("example.com/v1/Widget", &format!("pattern: {{spec: {{{key}: '?*', names: ['a | b']}}}}"))
    };
    assert_eq!(compared(&of("mode"), &of("=(mode)")).answer, Answer::Differs);
}

#[test]
fn what_differs_in_files_hides_no_difference_of_the_form_that_webhooks_see() {
    let group = "rbac.authorization.k8s.io";
    let items = "object.?rules.orValue([]).all(r, r.?name.orValue('') != 'b')";
    let of = |word: &str| {
        requiring(
            group,
            "roles",
            &format!(
                "(oldObject.?rules.orValue([]).size() == 0 {word} object.metadata.name in ['ab']) && {items}"
            ),
        )
    };
    // Without rules there is null in clusters, on which the loop fails; with rules the names
    // decide.
    let found = compared(&of("||"), &of("&&"));
    assert_eq!(found.answer, Answer::Differs);
    assert!(
        found
            .differences
            .iter()
            .any(|one| one.new.verdict == Verdict::Fail && one.old.verdict == Verdict::Pass)
    );
}
