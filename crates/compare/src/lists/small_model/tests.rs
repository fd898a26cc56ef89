//! How many items of lists matter, for rules of both languages.

#![allow(clippy::unwrap_used)]

use ephor_policies::policy_set::PolicySet;

use crate::lists::small_model::*;

fn of(validate: &str) -> (usize, usize) {
    let policy = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    validate: {validate}\n"
    );
    let found =
        Items::of(&PolicySet::from_yaml(&policy).unwrap().policies()[0], (&[], &[]), Shapes::default());
    (found.violated.total, found.satisfied.total)
}

#[test]
fn checks_of_each_item_need_one_to_be_violated_and_none_to_be_satisfied() {
    assert_eq!(of("{message: m, pattern: {spec: {a: [{b: [{c: x}]}]}}}"), (1, 0));
    assert_eq!(of("{cel: {expressions: [{expression: 'object.a.all(x, x.b.all(y, y == 1))'}]}}"), (1, 0));
    assert_eq!(of("{message: m, pattern: {spec: {^(a): [{b: 1}]}}}"), (0, 1));
    assert_eq!(of("{cel: {expressions: [{expression: 'object.a.all(x, x.b.exists(y, y == 1))'}]}}"), (1, 1));
}

#[test]
fn what_looks_for_an_item_needs_one_to_be_satisfied() {
    assert_eq!(of("{cel: {expressions: [{expression: 'object.a.exists(x, x == 1)'}]}}"), (0, 1));
    assert_eq!(of("{cel: {expressions: [{expression: '!object.a.all(x, x == 1)'}]}}"), (0, 1));
    assert_eq!(of("{cel: {expressions: [{expression: 'object.a.exists(x, x == 1) == true'}]}}"), (1, 1));
}

#[test]
fn operators_that_look_into_lists_need_an_item() {
    let deny = |key: &str| {
        of(&format!(
            "{{message: m, deny: {{conditions: {{any: [{{key: '{{{{ {key} }}}}', operator: AnyIn, value: [CREATE]}}]}}}}}}"
        ))
    };
    assert_eq!(deny("request.object.a[].b"), (1, 0));
    assert_eq!(deny("request.object.a"), (0, 0));
    assert_eq!(deny("request.operation"), (0, 0));
    assert_eq!(of("{cel: {expressions: [{expression: \"'x' in object.a\"}]}}"), (0, 1));
    assert_eq!(of("{cel: {expressions: [{expression: \"object.a in ['x']\"}]}}"), (0, 0));
}

#[test]
fn statements_about_an_item_and_about_other_lists_need_one_of_each() {
    let relation = "object.a.exists(x, object.b.exists(y, y.c.exists(z, z == x.c)))";
    assert_eq!(of(&format!("{{cel: {{expressions: [{{expression: '{relation}'}}]}}}}")), (0, 3));
    let local = "object.a.exists(x, x.b.exists(y, y.c.exists(z, z == x.c)))";
    assert_eq!(of(&format!("{{cel: {{expressions: [{{expression: '{local}'}}]}}}}")), (0, 2));
    let constant = "{cel: {variables: [{name: all, expression: '[1, 2]'}], expressions: [{expression: 'object.a.all(x, x.b in variables.all)'}]}}";
    assert_eq!(of(constant), (1, 0));
    let each = |value: &str| {
        of(&format!(
            "{{message: m, foreach: [{{list: request.object.a, deny: {{conditions: {{any: [{{key: '{{{{ element.b }}}}', operator: AnyIn, value: '{{{{ {value} }}}}'}}]}}}}}}]}}"
        ))
    };
    assert_eq!(each("element.c"), (1, 0));
    assert_eq!(each("request.object.d[].e"), (2, 0));
}

#[test]
fn a_length_that_has_a_name_is_compared_wherever_the_name_is() {
    let cel = |variable: &str, expression: &str| {
        of(&format!(
            "{{cel: {{variables: [{{name: count, expression: '{variable}'}}], expressions: [{{expression: '{expression}'}}]}}}}"
        ))
    };
    assert_eq!(cel("size(object.a)", "variables.count <= 2"), (3, 3));
    assert_eq!(cel("object.a", "size(variables.count) <= 2 && object.b <= 6"), (3, 3));
}

#[test]
fn a_length_needs_one_item_more() {
    assert_eq!(of("{cel: {expressions: [{expression: 'size(object.a) <= 2'}]}}"), (3, 3));
    let deny = "{message: m, deny: {conditions: {any: [{key: '{{ length(request.object.a) }}', operator: GreaterThan, value: 2}]}}}";
    assert_eq!(of(deny), (3, 0));
}

#[test]
fn operators_that_compare_two_lists_need_an_item_of_each_or_one_for_each() {
    let deny = |operator: &str, key: &str| {
        let policy = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    validate: {{message: m, deny: {{conditions: {{any: [{{key: {key}, operator: {operator}, value: '{{{{ request.object.b[].c }}}}'}}]}}}}}}\n"
        );
        let set = PolicySet::from_yaml(&policy).unwrap();
        let found = Items::of(&set.policies()[0], (&[], &[]), Shapes::default());
        (found.violated.total, found.satisfied.total, found.violated_by_others, found.satisfied_by_others)
    };
    let list = "'{{ request.object.a[].c }}'";
    assert_eq!(deny("AnyIn", list), (2, 0, false, false));
    assert_eq!(deny("AllNotIn", list), (0, 2, false, false));
    assert_eq!(deny("AllIn", list), (2, 2, true, false));
    assert_eq!(deny("AnyNotIn", list), (2, 2, false, true));
    assert_eq!(deny("AllIn", "[x, y, z]"), (3, 1, false, false));
}

#[test]
fn variables_are_counted_where_they_are_read() {
    let cel = |expression: &str| {
        of(&format!(
            "{{cel: {{variables: [{{name: names, expression: 'object.a.filter(x, x.b).map(x, x.c)'}}], expressions: [{{expression: '{expression}'}}]}}}}"
        ))
    };
    assert_eq!(cel("object.d in variables.names"), (0, 1));
    assert_eq!(cel("!(object.d in variables.names)"), (1, 0));
    assert_eq!(cel("variables.names.exists(n, n == object.d)"), (0, 1));
    assert_eq!(cel("size(variables.names) > 0").0, 2);
}

#[test]
fn conditions_of_a_policy_must_hold_for_a_violation() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    celPreconditions: [{name: some, expression: 'object.a.exists(x, x.b)'}]
    validate: {cel: {expressions: [{expression: 'object.a.all(x, x.c)'}]}}
";
    let set = PolicySet::from_yaml(policy).unwrap();
    let found = Items::of(&set.policies()[0], (&[], &[]), Shapes::default());
    assert_eq!((found.violated.total, found.satisfied.total), (2, 0));
}

#[test]
fn entries_of_a_context_are_counted_where_they_are_read() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - name: names
      variable: {jmesPath: \"request.object.spec.volumes[?contains(keys(@), 'emptyDir')].name\"}
    validate:
      message: m
      foreach:
      - list: request.object.spec.[initContainers, containers][]
        preconditions: {any: [{key: '{{ element.volumeMounts[].name }}', operator: AnyIn, value: '{{ names }}'}]}
        pattern: {image: 'a*'}
";
    let set = PolicySet::from_yaml(policy).unwrap();
    let found = Items::of(&set.policies()[0], (&[], &[]), Shapes::default());
    assert_eq!((found.violated.total, found.satisfied.total, found.satisfied_by_others), (3, 0, false));
}

#[test]
fn two_counts_of_one_list_differ_by_an_item() {
    let of = |operator: &str, one: &str, other: &str| {
        let count = |test: &str| format!("\"{{{{ request.object.a[].b[?{test}][] | length(@) }}}}\"");
        of(&format!(
            "{{message: m, deny: {{conditions: {{any: [{{key: {}, operator: {operator}, value: {}}}]}}}}}}",
            count(one),
            count(other)
        ))
    };
    assert_eq!(of("NotEquals", "c == 'x'", "c == 'x' && d"), (1, 0));
    assert_eq!(of("Equals", "c == 'x' && d && e", "c == 'x'"), (0, 1));
    // Tests of which neither is a part of the other.
    assert_ne!(of("NotEquals", "c == 'x'", "d && c == 'x'"), (1, 0));
}

#[test]
fn what_texts_with_inner_variables_say_of_lists_counts() {
    let of = |key: &str| {
        of(&format!(
            "{{message: m, foreach: [{{list: request.object.v, deny: {{conditions: {{any: [{{key: \"{{{{ {key} }}}}\", operator: GreaterThan, value: 2}}]}}}}}}]}}"
        ))
    };
    // An item of `v`, and three of `a`.
    assert_eq!(of("request.object.a[?b == '{{element.name}}'] | length(@)"), (4, 0));
    assert_eq!(of("element.size"), (1, 0));
}

#[test]
fn conditional_expressions_that_decide_need_what_their_parts_need() {
    let of = |expression: &str| of(&format!("{{cel: {{expressions: [{{expression: '{expression}'}}]}}}}"));
    assert_eq!(of("has(object.a) ? object.a.all(x, x == 1) : true"), (1, 0));
    assert_eq!(of("object.a.exists(x, x == 1) ? object.b.all(x, x == 1) : true"), (2, 0));
    assert_eq!(of("object.a.exists(x, x == 1) ? object.b.all(x, x == 1) : false"), (1, 1));
}
