//! Who makes a request: several groups and roles, and the anonymous user.

use ephor_compare::Answer;

use super::{checking, compared, requiring};

const GROUPS: &str = "request.userInfo.groups";

fn of(expression: &str) -> String {
    requiring("configmaps", &expression.replace("GROUPS", GROUPS))
}

#[test]
fn a_user_may_have_several_groups() {
    for (old, new) in [
        ("!('a' in GROUPS)", "!('a' in GROUPS) || 'b' in GROUPS"),
        ("GROUPS.size() < 4", "GROUPS.size() < 3"),
        ("GROUPS.size() < 4", "GROUPS.size() < 5"),
        ("GROUPS.all(g, g.startsWith('system:'))", "GROUPS.exists(g, g.startsWith('system:'))"),
        ("GROUPS[0] != 'a'", "!('a' in GROUPS)"),
    ] {
        assert_eq!(compared(&of(old), &of(new)).answer, Answer::Differs, "{old}, {new}");
    }
    for (old, new) in [
        ("!('a' in GROUPS) || 'b' in GROUPS", "'b' in GROUPS || !('a' in GROUPS)"),
        ("!('a' in GROUPS || 'b' in GROUPS)", "!GROUPS.exists(g, g == 'a' || g == 'b')"),
        (
            "!('a' in GROUPS) && request.userInfo.username != 'bob'",
            "!('a' in GROUPS || request.userInfo.username == 'bob')",
        ),
    ] {
        assert_eq!(compared(&of(old), &of(new)).answer, Answer::Proved, "{old}, {new}");
    }
}

#[test]
fn the_anonymous_user_is_not_known() {
    assert_eq!(compared(&of("'system:authenticated' in GROUPS"), &of("true")).answer, Answer::Differs);
    let named = "request.userInfo.username == 'system:anonymous' || 'system:authenticated' in GROUPS";
    assert_eq!(compared(&of(named), &of("true")).answer, Answer::Proved);
}

#[test]
fn rules_that_select_groups_and_roles_see_several_of_them() {
    let of = |selected: &str, left_out: &str| {
        let policy = checking("ConfigMap", "pattern: {metadata: {labels: {x: '?*'}}}");
        policy.replacen(
            "    match: {any: [{resources: {",
            &format!(
                "    exclude: {{any: [{{{left_out}}}]}}\n    match: {{any: [{{{selected}, resources: {{"
            ),
            1,
        )
    };
    let group = |name: &str| format!("subjects: [{{kind: Group, name: {name}}}]");
    let none = group("never");
    let found = compared(&of(&group("a"), &group("b")), &of(&group("a"), &none));
    assert_eq!(found.answer, Answer::Differs);
    let found = compared(
        &of("clusterRoles: [a]", "clusterRoles: [b]"),
        &of("clusterRoles: [a]", "clusterRoles: [c]"),
    );
    assert_eq!(found.answer, Answer::Differs);
    // The anonymous user has this group alone.
    let [known, unknown] = ["'system:authenticated'", "'system:unauthenticated'"].map(group);
    let found = compared(&of(&unknown, &known), &of(&group("never"), &known));
    assert_eq!(found.answer, Answer::Differs);
    let found = compared(&of(&group("a"), &group("b")), &of(&group("a"), &group("b")));
    assert_eq!(found.answer, Answer::Proved);
}

#[test]
fn the_roles_that_expressions_read_are_those_of_their_constants() {
    let of = |operator: &str| {
        checking(
            "ConfigMap",
            &format!(
                "deny: {{conditions: {{all: [{{key: '{{{{ request.roles || `[]` }}}}', operator: {operator}, value: 'a:edit'}}]}}}}"
            ),
        )
    };
    assert_eq!(compared(&of("AllIn"), &of("NotEquals")).answer, Answer::Differs);
    assert_eq!(compared(&of("AnyIn"), &of("AllIn")).answer, Answer::Differs);
}

#[test]
fn a_namespace_is_in_the_namespace_that_it_is() {
    let of = |pattern: &str| {
        let policy = checking("Namespace", "pattern: {metadata: {name: abc}}");
        policy.replacen(
            "operations: [CREATE]",
            &format!("operations: [CREATE], namespaces: ['{pattern}']"),
            1,
        )
    };
    assert_eq!(compared(&of("a*"), &of("*b")).answer, Answer::Differs);
    let named = requiring("namespaces", "request.name == request.namespace");
    assert_eq!(compared(&named, &requiring("namespaces", "true")).answer, Answer::Proved);
    let other = requiring("namespaces", "request.namespace != 'b'");
    assert_eq!(compared(&other, &requiring("namespaces", "true")).answer, Answer::Differs);
}
