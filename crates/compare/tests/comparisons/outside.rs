//! Data from outside: both sides see the same answers to the same requests, and no others.

use ephor_compare::{Answer, Comparison};

use super::compared;

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
