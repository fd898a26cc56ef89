//! Exceptions: rules of one text with other exceptions are others.

use ephor_compare::Answer;

use super::{checking, compared, requiring};

/// A rule about names of ConfigMaps, with an exception for what is selected so.
fn excepted(filter: &str, rest: &str) -> String {
    excepted_of("ConfigMap", filter, rest)
}

/// The same of other kinds.
fn excepted_of(kinds: &str, filter: &str, rest: &str) -> String {
    format!(
        "{}---
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {{name: e, namespace: default}}
spec:
  exceptions: [{{policyName: p, ruleNames: [r]}}]
  match: {{any: [{{{filter}}}]}}
{rest}",
        checking(kinds, "pattern: {metadata: {name: 'b*'}}")
    )
}

#[test]
fn what_an_exception_selects_decides() {
    let resources = |more: &str| format!("resources: {{kinds: [ConfigMap]{more}}}");
    let with = |more: &str| format!("{}, {more}", resources(""));
    for (old, new) in [
        (resources(", names: [a*]"), resources(", names: [ab]")),
        (resources(", namespaces: [a*]"), resources(", namespaces: [ab]")),
        (resources(", selector: {matchLabels: {b: c}}"), resources(", selector: {matchLabels: {b: d}}")),
        (
            resources(", namespaceSelector: {matchLabels: {b: c}}"),
            resources(", namespaceSelector: {matchLabels: {b: d}}"),
        ),
        (with("subjects: [{kind: User, name: alice}]"), with("subjects: [{kind: User, name: bob}]")),
        (with("clusterRoles: [a]"), with("clusterRoles: [b]")),
    ] {
        assert_eq!(compared(&excepted(&old, ""), &excepted(&new, "")).answer, Answer::Differs, "{old}");
        assert_eq!(compared(&excepted(&old, ""), &excepted(&old, "")).answer, Answer::Proved, "{old}");
    }
}

#[test]
fn conditions_of_exceptions_decide() {
    let of = |operator: &str| {
        let condition =
            format!("{{key: \"{{{{ request.object.data.x || '' }}}}\", operator: {operator}, value: a}}");
        excepted("resources: {kinds: [ConfigMap]}", &format!("  conditions: {{all: [{condition}]}}\n"))
    };
    assert_eq!(compared(&of("AnyIn"), &of("AnyNotIn")).answer, Answer::Differs);
    let of = |name: &str| {
        format!(
            "{}---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {{name: e, namespace: default}}
spec:
  policyRefs: [{{name: p, kind: ValidatingPolicy}}]
  matchConditions: [{{name: c, expression: \"object.metadata.name == '{name}'\"}}]
",
            requiring("configmaps", "has(object.data)")
        )
    };
    assert_eq!(compared(&of("a"), &of("b")).answer, Answer::Differs);
    assert_eq!(compared(&of("a"), &of("a")).answer, Answer::Proved);
}

#[test]
fn an_exception_for_one_kind_is_none_for_others() {
    let of =
        |kinds: &str, excepted: &str| excepted_of(kinds, &format!("resources: {{kinds: [{excepted}]}}"), "");
    let found =
        compared(&of("DaemonSet, Deployment", "Deployment"), &of("DaemonSet, Deployment", "DaemonSet"));
    assert_eq!(found.answer, Answer::Differs);
    assert_eq!(found.differences.len(), 2);
}
