//! Fields of which no schema says the type: they have the types that rules expect. And what API
//! servers refuse of objects of any kind.

use ephor_compare::{Answer, Universe};

use super::{compared, denying, requiring};

/// A ValidatingPolicy of objects of a kind that nothing is known of.
fn of(expression: &str) -> String {
    requiring("widgets", expression).replacen("apiGroups: ['']", "apiGroups: [example.com]", 1)
}

/// A ClusterPolicy of the same.
fn checking(check: &str) -> String {
    super::checking("example.com/v1/Widget", check)
}

fn each(list: &str, conditions: &str) -> String {
    checking(&format!("foreach: [{{list: '{list}', deny: {{conditions: {{any: [{conditions}]}}}}}}]"))
}

fn is_proved(old: &str, new: &str) -> bool {
    let found = compared(old, new);
    let is_proved = matches!(found.answer, Answer::ProvedRelative(_));
    if !is_proved {
        eprintln!("{:?} {:?} {:?}", found.answer, found.reasons, found.differences.first());
    }
    is_proved
}

const NAMED: &str = "{key: '{{ element.name }}', operator: Equals, value: ab}";

#[test]
fn what_both_sides_take_for_a_list_is_one() {
    for (old, right, wrong) in [
        (
            each("request.object.spec.parts", NAMED),
            "object.?spec.?parts.orValue([]).all(p, p.name != 'ab')",
            "object.?spec.?parts.orValue([]).all(p, p.name != 'ac')",
        ),
        (
            each("request.object.spec.parts[].items[]", NAMED),
            "object.?spec.?parts.orValue([]).all(p, p.?items.orValue([]).all(i, i.name != 'ab'))",
            "object.?spec.?parts.orValue([]).all(p, p.?item.orValue([]).all(i, i.name != 'ab'))",
        ),
        (
            checking("pattern: {spec: {=(names): ['a*']}}"),
            "has(object.spec) && object.spec.?names.orValue([]).all(n, string(n).startsWith('a'))",
            "has(object.spec) && object.spec.?names.orValue([]).all(n, string(n).startsWith('b'))",
        ),
    ] {
        if old.contains("foreach") {
            // That one item fails and another one is an error is one thing to the other side.
            let right = compared(&old, &of(right));
            let shapes = right.differences.iter().filter(|one| {
                let parts = one.object.at(&["spec", "parts"]);
                parts.is_some_and(|parts| parts.as_list().is_none())
            });
            assert_eq!(shapes.count(), 0, "{old}: {:?}", right.differences);
        } else {
            assert!(is_proved(&old, &of(right)), "{old}");
        }
        assert_eq!(compared(&old, &of(wrong)).answer, Answer::Differs, "{wrong}");
    }
}

#[test]
fn a_type_that_one_side_looks_for_is_tried() {
    for (old, new) in [
        // A list, and an object.
        (each("request.object.spec.parts", NAMED), of("object.?spec.?parts.?name.orValue('') != 'ab'")),
        // A loop takes both; nothing else says which it is.
        (
            of("!has(object.spec.m) || object.spec.m.all(k, k != 'a')"),
            of("!has(object.spec.m) || object.spec.m.all(k, k != 'b')"),
        ),
        (of("!has(object.spec.m) || type(object.spec.m) != map"), of("true")),
        (of("!has(object.spec.m) || type(object.spec.m) != list"), of("true")),
        // A list in another rule of one side.
        (
            of("object.?spec.?parts.?name.orValue('') != 'ab'"),
            of(
                "type(object.?spec.?parts.orValue('')) == list ? object.spec.parts.size() < 1 : object.?spec.?parts.?name.orValue('') != 'ab'",
            ),
        ),
        // A number where the other side has a text.
        (of("object.?spec.?count.orValue(0) != 3"), of("object.?spec.?count.orValue('') != 'a'")),
        // An object where a loop would take one for a list of one.
        (
            denying(
                "example.com/v1/Widget",
                "{key: \"{{ request.object.spec.a.name || '' }}\", operator: Equals, value: ab}",
            ),
            each("request.object.spec.a", NAMED),
        ),
    ] {
        assert_eq!(compared(&old, &new).answer, Answer::Differs, "{old}\n{new}");
    }
}

#[test]
fn numbers_are_no_texts_where_a_text_is_looked_for() {
    let old = denying(
        "example.com/v1/Widget",
        "{key: \"{{ request.object.spec.hosts[?!ends_with(@, '.example')] | length(@) }}\", operator: GreaterThan, value: 0}",
    );
    let new = |ending: &str| {
        of(&format!("object.spec.hosts.filter(h, !string(h).endsWith('{ending}')).size() == 0"))
    };
    let found = compared(&old, &new(".example"));
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    assert_eq!(compared(&old, &new(".exampl")).answer, Answer::Differs);
}

/// A ValidatingAdmissionPolicy that updates of Namespaces are seen by.
fn admission(expression: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: p}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [UPDATE], resources: [namespaces]}}]
  validations:
  - expression: \"{expression}\"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: b}}
spec: {{policyName: p, validationActions: [Deny]}}
"
    )
}

/// A ValidatingPolicy of the same.
fn kyvernos(expression: &str) -> String {
    requiring("namespaces", expression).replace("[CREATE]", "[UPDATE]")
}

#[test]
fn admission_policies_see_updates_as_an_api_server_shows_them() {
    let same = |key: &str| {
        format!("object.metadata.?labels.?{key}.orValue('') == oldObject.metadata.?labels.?{key}.orValue('')")
    };
    let found = compared(&kyvernos(&same("a")), &admission(&same("a")));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.differences);
    assert_eq!(compared(&kyvernos(&same("a")), &admission(&same("b"))).answer, Answer::Differs);
    let found = compared(&kyvernos("false"), &admission("request.operation != 'UPDATE'"));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.differences);
}

#[test]
fn an_object_that_is_updated_stays_where_it_is() {
    let of = |expression: &str| requiring("configmaps", expression).replace("[CREATE]", "[UPDATE]");
    let always = of("true");
    for key in ["name", "namespace"] {
        let found = compared(&of(&format!("object.metadata.{key} == oldObject.metadata.{key}")), &always);
        assert_eq!(found.answer, Answer::Proved, "{key}: {:?}", found.differences);
        let found = compared(&of(&format!("oldObject.metadata.{key} != 'team-a'")), &always);
        assert_eq!(found.answer, Answer::Differs, "{key}");
        let found = compared(
            &of(&format!("oldObject.metadata.{key} != 'team-a'")),
            &of(&format!("object.metadata.{key} != 'team-a'")),
        );
        assert_eq!(found.answer, Answer::Proved, "{key}: {:?}", found.differences);
        let found = compared(
            &of(&format!("oldObject.metadata.{key} != 'team-a'")),
            &of(&format!("object.metadata.{key} != 'team-b'")),
        );
        assert_eq!(found.answer, Answer::Differs, "{key}");
    }
}

#[test]
fn no_request_is_in_a_namespace_that_is_a_pattern() {
    let old = |name: &str| {
        super::checking(
            "Pod/exec",
            &format!("deny: {{conditions: {{any: [{{key: '{{{{ request.namespace }}}}', operator: AnyIn, value: [{name}, 'team-*']}}]}}}}"),
        )
        .replace("[CREATE]", "[CONNECT]")
    };
    let new =
        requiring("pods/exec", "!(request.namespace == 'vault' || request.namespace.startsWith('team-'))")
            .replace("[CREATE]", "[CONNECT]");
    let found = compared(&old("vault"), &new);
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.differences);
    assert!(found.differences.iter().all(|one| one.universe == Universe::Files));
    assert_eq!(compared(&old("vaul"), &new).answer, Answer::Differs);
}

#[test]
fn an_object_that_may_be_in_a_cluster_shows_a_difference_before_one_in_files() {
    let of = |on: &str| {
        super::checking(
            "example.com/v1/Widget",
            &format!(
                "anyPattern: [{{(metadata): {{name: 'a*'}}, spec: {{on: {on}}}}}, {{spec: {{count: '>1'}}}}]"
            ),
        )
    };
    let found = compared(&of("false"), &of("true"));
    assert_eq!(found.answer, Answer::Differs);
}

#[test]
fn a_field_without_a_schema_has_the_type_of_what_it_is_compared_with() {
    let old = |limit: &str| {
        super::checking(
            "example.com/v1/Widget",
            &format!(
                "deny: {{conditions: {{any: [{{key: \"{{{{ request.object.spec.timeout || '1s' }}}}\", operator: DurationGreaterThan, value: {limit}}}]}}}}"
            ),
        )
    };
    let new = |limit: &str| {
        requiring(
            "widgets",
            &format!(
                "object.?spec.?timeout.orValue('') == '' || !object.spec.timeout.matches('^[-+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$') || duration(object.spec.timeout) <= duration('{limit}')"
            ),
        )
        .replace("apiGroups: ['']", "apiGroups: [example.com]")
    };
    // A number in its place fails in one language and is a duration in the other.
    let found = compared(&old("30s"), &new("30s"));
    assert!(matches!(&found.answer, Answer::ProvedRelative(_)), "{:?} {:?}", found.answer, found.differences);
    assert_eq!(compared(&old("30s"), &new("31s")).answer, Answer::Differs);
    // Where one side takes it for a number, it may be one.
    let count = |value: &str| {
        super::checking("example.com/v1/Widget", &format!("pattern: {{spec: {{count: {value}}}}}"))
    };
    assert_eq!(compared(&count("3"), &count("'3'")).answer, Answer::Differs);
}

#[test]
fn a_namespace_has_a_label_with_its_name() {
    let of = |most: u32| {
        requiring("namespaces", &format!("object.?metadata.?labels.orValue({{}}).size() <= {most}"))
    };
    assert_eq!(compared(&of(2), &of(1)).answer, Answer::Differs);
    assert_eq!(compared(&of(2), &of(2).replace("<= 2", "< 3")).answer, Answer::Proved);
}
