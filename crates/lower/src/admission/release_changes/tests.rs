use ephor_value::release::Release;

use super::{ReleaseChange, release_changes, typed_parts};

const BOTH: [Release; 2] = [Release::V1_36, Release::V1_37];

fn policy(resources: &str, rest: &str) -> ephor_value::Value {
    let rules = format!("matchConstraints: {{resourceRules: [{{{resources}, operations: ['*']}}]}}");
    let text = format!(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {{name: a}}, \
         spec: {{{rules}, {rest}}}}}"
    );
    ephor_document::yaml_value(&text).unwrap()
}

const PODS: &str = "apiGroups: [''], apiVersions: [v1], resources: [pods]";

/// The parts of a validation of pods that mean something else on 1.37.
fn parts(expression: &str) -> Vec<String> {
    let expression = expression.replace('\'', "''");
    let of = policy(PODS, &format!("validations: [{{expression: '{expression}'}}]"));
    release_changes(&of, &[], BOTH).into_iter().map(|change| change.part).collect()
}

#[test]
fn what_compares_scalars_means_the_same() {
    for expression in [
        "object.spec.containers.all(c, c.image.startsWith('a/') && c.name != 'x')",
        "object.spec.?securityContext.?runAsNonRoot.orValue(false) == true",
        "(object.spec.containers + object.spec.?initContainers.orValue([]) + object.spec.?ephemeralContainers.orValue([])).all(c, c.?securityContext.?privileged.orValue(false) == false)",
        "'team' in object.metadata.?labels.orValue({}) && object.metadata.labels['team'] in ['a', 'b']",
        "object.metadata.labels.exists(k, k in object.metadata.?annotations.orValue({}))",
        "oldObject == null || object.spec.nodeName == oldObject.spec.nodeName",
        "object.metadata.?labels == oldObject.metadata.?labels || true",
        "request.userInfo.groups.exists(g, g == 'system:masters') && request.operation in ['CREATE', 'UPDATE']",
        "object.spec.containers.map(c, c.name) == ['a']",
        "object.spec.containers[0].name == 'a' && object.spec.containers[size(object.spec.containers) - 1].name == 'b'",
        "quantity(object.spec.containers[0].resources.limits['memory']).isLessThan(quantity('1Gi'))",
        "has(object.spec.volumes) ? object.spec.volumes.filter(v, has(v.hostPath)).size() == 0 : true",
        "dyn(object.spec.hostNetwork) == true",
        "object.spec.containers.all(c, c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))",
        "object.spec.terminationGracePeriodSeconds == 30 && namespaceObject.metadata.name != 'a'",
        "[1, 2].exists(x, x == object.spec.containers.size())",
    ] {
        assert_eq!(parts(expression), Vec::<String>::new(), "{expression}");
    }
}

#[test]
fn parts_that_see_types_of_objects_are_found_with_their_text() {
    for (expression, part) in [
        ("object.spec == oldObject.spec", "object.spec == oldObject.spec"),
        ("object.spec.containers.exists(c, c == 'x')", "c == 'x'"),
        ("object.spec.containers == 'x'", "object.spec.containers == 'x'"),
        ("1 in dyn(object.metadata.labels)", "1 in dyn(object.metadata.labels)"),
        ("object.spec.containers[dyn(0.0)].name == 'a'", "object.spec.containers[dyn(0.0)]"),
        (
            "optional.ofNonZeroValue(object.spec.securityContext).hasValue()",
            "optional.ofNonZeroValue(object.spec.securityContext)",
        ),
        ("[object.spec] == [1]", "[object.spec] == [1]"),
        (
            "object.spec.containers.all(c, c.resources == object.spec.containers[0].resources)",
            "c.resources == object.spec.containers[0].resources",
        ),
        (
            "object.spec.containers.map(c, c.resources).distinct().size() == 1",
            "object.spec.containers.map(c, c.resources).distinct()",
        ),
    ] {
        assert_eq!(parts(expression), [part], "{expression}");
    }
}

#[test]
fn calls_that_another_release_of_cel_refuses_are_found() {
    for (expression, part) in [
        (
            "object.spec.containers.all(c, c.volumeMounts.orValue([]).size() == 0)",
            "c.volumeMounts.orValue([])",
        ),
        (
            "lists.range(size(object.spec.containers) - 2).size() == 0",
            "lists.range(size(object.spec.containers) - 2)",
        ),
    ] {
        assert_eq!(parts(expression), [part], "{expression}");
    }
    assert_eq!(parts("lists.range(3).size() == 3"), Vec::<String>::new());
}

#[test]
fn fields_and_defaults_of_one_release_are_found() {
    let known = parts("has(object.spec.evictionResponders)");
    assert_eq!(known, ["has(object.spec.evictionResponders)"]);
    let sets = "apiGroups: [apps], apiVersions: [v1], resources: [statefulsets]";
    let expression = "has(object.spec.updateStrategy.rollingUpdate.maxUnavailable)";
    let of = policy(sets, &format!("validations: [{{expression: '{expression}'}}]"));
    let found = release_changes(&of, &[], BOTH);
    let texts: Vec<&str> = found.iter().map(|change| &*change.text).collect();
    assert_eq!(
        texts,
        [
            "reads `maxUnavailable`, for which 1.37 has the default 1",
            "reads `maxUnavailable`, of which 1.36 does not keep all that 1.37 does"
        ]
    );
}

#[test]
fn fields_whose_values_a_release_drops_are_found() {
    let found = |expression: &str, releases: [Release; 2]| {
        let of = policy(PODS, &format!("validations: [{{expression: '{expression}'}}]"));
        release_changes(&of, &[], releases).into_iter().map(|change| change.text).collect::<Vec<_>>()
    };
    let overridden = "has(object.spec.hostnameOverride)";
    let text = "reads `hostnameOverride`, of which 1.34 does not keep all that 1.36 does";
    assert_eq!(found(overridden, [Release::V1_34, Release::V1_36]), [text]);
    assert_eq!(found(overridden, [Release::V1_35, Release::V1_36]), Vec::<String>::new());
    let projected = "object.spec.volumes.all(v, v.projected.sources.all(s, !has(s.podCertificate)))";
    assert_eq!(found(projected, BOTH).len(), 1);
}

#[test]
fn custom_resources_stay_trees() {
    let widgets = "apiGroups: [ex.org], apiVersions: [v1], resources: [widgets]";
    let of =
        policy(widgets, "validations: [{expression: 'object.spec == oldObject.spec && object.spec == 1'}]");
    assert_eq!(release_changes(&of, &[], BOTH), []);
}

#[test]
fn only_the_kinds_for_which_a_part_differs_are_named() {
    let both = "apiGroups: ['', apps], apiVersions: [v1], resources: [pods, deployments]";
    let of = policy(both, "validations: [{expression: 'dyn(object).spec.template == 1'}]");
    let found = release_changes(&of, &[], BOTH);
    let kinds: Vec<&[String]> = found.iter().map(|change| &change.kinds[..]).collect();
    assert_eq!(kinds, [["apps/v1, Kind=Deployment"]]);
}

#[test]
fn mutations_of_kinds_with_other_fields_are_no_proof() {
    let mutation = |resources: &str| {
        let text = format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {{name: a}}, spec: {{matchConstraints: \
             {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [{resources}], operations: [CREATE]}}]}}, mutations: \
             [{{patchType: JSONPatch, jsonPatch: {{expression: '[JSONPatch{{op: \"remove\", path: \"/metadata/labels\"}}]'}}}}]}}}}"
        );
        release_changes(&ephor_document::yaml_value(&text).unwrap(), &[], BOTH).len()
    };
    assert_eq!(mutation("configmaps"), 0);
    assert_eq!(mutation("pods"), 1);
}

#[test]
fn what_once_was_a_false_proof_is_found() {
    for expression in [
        "!(object.metadata.labels == [])",
        "!(object.spec.containers == {})",
        "!(object.spec.containers == {'a': 1})",
        "!(object.metadata.?labels.orValue({}) == dyn([]))",
        "object.spec.containers.exists(c, c.?args.orValue([]) == {})",
        "!(object.spec.securityContext == (has(object.spec.nodeName) ? object.spec.securityContext : dyn([])))",
        "!(object.metadata.labels[?1].hasValue())",
        "!(optional.of(object.metadata.labels)[?1].hasValue())",
        "!({dyn(1): 'x'}.exists(k, k in object.metadata.labels))",
        "([] + object.spec.containers[0].args)[dyn(0u)] == 'a'",
        "!(dyn([] + object.spec.containers[0].args) == 'x')",
        "object.status.qosClass == 'BestEffort'",
        "has(dyn(variables).s.evictionResponders)",
        "object.exists(k, v, k == 'spec' && has(v.evictionResponders))",
    ] {
        assert_ne!(parts(expression), Vec::<String>::new(), "{expression}");
    }
    let sets = "apiGroups: [apps], apiVersions: [v1], resources: [statefulsets]";
    let any = "apiGroups: [apps], apiVersions: ['*'], resources: [statefulsets]";
    let rolling = "object.spec.updateStrategy.rollingUpdate";
    for (kinds, expression) in [
        (sets, format!("'maxUnavailable' in {rolling}")),
        (sets, format!("size({rolling}) == 1")),
        (sets, format!("{rolling}.all(k, k in ['partition'])")),
        (sets, format!("{rolling}[?'max' + 'Unavailable'].hasValue()")),
        (sets, "object.spec.updateStrategy == oldObject.spec.updateStrategy".into()),
        (any, format!("has({rolling}.maxUnavailable)")),
    ] {
        let quoted = expression.replace('\'', "''");
        let of = policy(kinds, &format!("validations: [{{expression: '{quoted}'}}]"));
        assert_ne!(release_changes(&of, &[], BOTH), [], "{expression}");
    }
    let deployments = "apiGroups: [apps], apiVersions: [v1], resources: [deployments]";
    let of = policy(
        deployments,
        "validations: [{expression: 'object.spec.template.spec == oldObject.spec.template.spec'}]",
    );
    assert_ne!(release_changes(&of, &[], [Release::V1_34, Release::V1_36]), []);
}

#[test]
fn variables_are_what_their_expressions_give() {
    let of = |use_of: &str| {
        let text = format!(
            "variables: [{{name: c, expression: 'object.spec.containers'}}, {{name: o, expression: 'object.spec.?hostname'}}], \
             validations: [{{expression: '{use_of}'}}]"
        );
        release_changes(&policy(PODS, &text), &[], BOTH).len()
    };
    assert_eq!(of("variables.c.all(c, c.name != \"a\") && variables.o.orValue(\"a\") == \"a\""), 0);
    assert_eq!(of("variables.c == variables.c"), 1);
}

#[test]
fn two_releases_that_see_alike_differ_by_cel_alone() {
    let of = policy(PODS, "validations: [{expression: 'object.spec == oldObject.spec'}]");
    assert_eq!(release_changes(&of, &[], [Release::V1_37, Release::V1_38]), Vec::<ReleaseChange>::new());
    assert_eq!(release_changes(&of, &[], [Release::V1_36; 2]), []);
    assert_eq!(typed_parts(&of, &[], Release::V1_36), []);
    assert_eq!(typed_parts(&of, &[], Release::V1_37).len(), 1);
}
