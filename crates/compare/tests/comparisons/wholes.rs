//! Objects that are compared as a whole: two values stand for equal and different ones, as long as
//! nothing else is read of them.

use ephor_compare::Answer;
use ephor_value::print::json;

use super::compared;

/// A policy of Deployments in CEL; `expression`: what it requires of each container.
fn requiring(expression: &str) -> String {
    let each = format!("object.spec.template.spec.containers.all(c, {expression})");
    super::requiring("deployments", &each)
}

/// A policy that denies Deployments with containers of which a filter finds some.
fn denying(filter: &str) -> String {
    let found = format!("request.object.spec.template.spec.containers[?{filter}] | length(@)");
    let condition = format!("{{key: \"{{{{ {found} }}}}\", operator: GreaterThan, value: 0}}");
    super::denying("Deployment", &condition)
}

#[test]
fn probes_that_are_compared_with_each_other_are_proved_in_both_languages() {
    let old = denying("readinessProbe == livenessProbe");
    let found = compared(&old, &requiring("c.?readinessProbe != c.?livenessProbe"));
    let objects: Vec<String> = found.differences.iter().map(|d| json(&d.object)).collect();
    assert_eq!(found.answer, Answer::Proved, "{objects:?}");
}

#[test]
fn a_policy_that_says_a_little_more_or_less_of_them_differs() {
    let old = denying("readinessProbe == livenessProbe");
    for expression in [
        // One that is missing is equal to one that is missing.
        "!has(c.readinessProbe) || c.?readinessProbe != c.?livenessProbe",
        "has(c.livenessProbe) && c.?readinessProbe != c.?livenessProbe",
        // Another probe.
        "c.?readinessProbe != c.?startupProbe",
        // Less of it.
        "c.?readinessProbe.?httpGet != c.?livenessProbe.?httpGet",
    ] {
        assert_eq!(compared(&old, &requiring(expression)).answer, Answer::Differs, "{expression}");
    }
}

#[test]
fn what_is_read_of_them_besides_leaves_their_comparison_open() {
    let (same, other) = ("c.?readinessProbe != c.?livenessProbe", "c.?livenessProbe.?tcpSocket.hasValue()");
    let found = compared(
        &requiring(&format!("({same}) == true || {other}")),
        &requiring(&format!("{other} || ({same}) == true")),
    );
    assert!(!matches!(found.answer, Answer::Differs), "{:?}", found.answer);
    let more = "c.?readinessProbe != c.?livenessProbe && c.?readinessProbe.?periodSeconds.orValue(1) != 7";
    let found = compared(&requiring(same), &requiring(more));
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
    let found = compared(
        &requiring(&format!("{same} || c.?livenessProbe.orValue({{}}).size() > 4")),
        &requiring(&format!("{same} || c.?livenessProbe.orValue({{}}).size() > 5")),
    );
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}

#[test]
fn how_many_fields_an_object_has_is_proved_in_both_languages() {
    let context = "spec.template.spec.securityContext";
    let old = super::denying(
        "Deployment",
        &format!(
            "{{key: \"{{{{ request.object.{context}.keys(@) | length(@) }}}}\", operator: Equals, value: 0}}"
        ),
    );
    let requiring = |test: &str| super::requiring("deployments", &format!("object.{context}{test}"));
    let found = compared(&old, &requiring(".size() > 0"));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    let found = compared(&old, &requiring(".exists(k, true)"));
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    for test in [
        ".size() > 1",
        ".size() != 1",
        ".exists(k, k != 'runAsUser')",
        ".exists(k, k.startsWith('run'))",
        ".exists(k, k == object.metadata.name) || true",
    ] {
        assert_eq!(compared(&old, &requiring(test)).answer, Answer::Differs, "{test}");
    }
    let named = requiring(".exists(k, k == object.metadata.name)");
    let found = compared(&named, &requiring(".exists(k, k == object.metadata.namespace)"));
    assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{:?}", found.answer);
}
