//! Rules that generate copies of objects that exist: equal ones are proved relative to these, and
//! what one token changes is found.

use ephor_compare::Answer;

use super::changes::{differ, tested};
use super::compared;

/// Relative to the objects that are copied.
fn proved(old: &str, new: &str) {
    let found = compared(old, new);
    assert!(
        matches!(&found.answer, Answer::ProvedRelative(_)),
        "{:?} {:?}\n{old}\n{new}",
        found.answer,
        found.reasons
    );
}

const COPY: &str = "{apiVersion: v1, kind: Secret, name: pull, namespace: '{{ request.object.metadata.name }}', clone: {namespace: base, name: pull}}";

/// A ClusterPolicy that generates something for each namespace.
fn classic(generate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Namespace], operations: [CREATE]}}}}]}}\n    generate: {generate}\n"
    )
}

fn generating(condition: &str, expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: GeneratingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints:\n    resourceRules: [{{apiGroups: [''], apiVersions: [v1], resources: [namespaces], operations: [CREATE]}}]\n  matchConditions: [{{name: a, expression: \"{condition}\"}}]\n  generate: [{{expression: \"{expression}\"}}]\n"
    )
}

const OTHER: &str = "object.metadata.name != 'base'";

#[test]
fn an_object_is_copied_into_each_namespace() {
    let old = classic(COPY);
    let new = |expression: &str| generating(OTHER, expression);
    let copy = "generator.Apply(object.metadata.name, [resource.Get('v1', 'secrets', 'base', 'pull')])";
    proved(&old, &new(copy));
    assert_eq!(compared(&old, &classic(COPY)).answer, Answer::Proved);
    for (is, other) in [
        ("'base'", "'bases'"),
        ("'pull'", "'pull-2'"),
        ("'secrets'", "'configmaps'"),
        ("(object.metadata.name, ", "('other', "),
        ("(object.metadata.name, ", "(object.metadata.name + 'x', "),
    ] {
        assert!(copy.contains(is));
        differ(&old, &new(&copy.replace(is, other)));
    }
    // An object is no copy of itself.
    differ(&old, &generating("true", copy));
    differ(&old, &generating("object.metadata.name != 'bases'", copy));
    differ(&old, &classic(&COPY.replace("name: pull}", "name: push}")));
    differ(&old, &classic(&COPY.replace("kind: Secret", "kind: ConfigMap")));
}

#[test]
fn a_copy_under_another_name_has_all_fields() {
    let old = classic(&COPY.replace("name: pull, namespace", "name: other, namespace"));
    let fields =
        "?'data': s.?data, ?'immutable': s.?immutable, ?'stringData': s.?stringData, ?'type': s.?type";
    let metadata = "'name': 'other', ?'labels': s.metadata.?labels, ?'annotations': s.metadata.?annotations";
    let new = |metadata: &str, fields: &str| {
        let object =
            format!("{{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {{{metadata}}}, {fields}}}");
        let read = "dyn(resource.Get('v1', 'secrets', 'base', 'pull'))";
        generating("true", &format!("generator.Apply(object.metadata.name, [cel.bind(s, {read}, {object})])"))
    };
    proved(&old, &new(metadata, fields));
    differ(&old, &new(metadata, &fields.replace(", ?'type': s.?type", "")));
    differ(&old, &new(metadata, &fields.replace("?'data': s.?data", "?'data': s.?stringData")));
    differ(&old, &new(&metadata.replace("?'annotations'", "?'labels'"), fields));
    differ(&old, &new(&metadata.replace("'other'", "'pull'"), fields));
    // What looks into the object is not followed.
    tested(&old, &new(metadata, &fields.replace("s.?type", "(s.type == 'a' ? s.?type : s.?type)")));
}

#[test]
fn all_objects_with_labels_are_copied() {
    let list = "{namespace: '{{ request.object.metadata.name }}', cloneList: {namespace: base, kinds: [v1/Secret], selector: {matchLabels: {a: b}}}}";
    let new = |labels: &str| {
        let read = format!("resource.List('v1', 'secrets', 'base'{labels})");
        generating(OTHER, &format!("generator.Apply(object.metadata.name, [{read}])"))
    };
    proved(&classic(list), &new(", {'a': 'b'}"));
    differ(&classic(list), &new(", {'a': 'c'}"));
    differ(&classic(list), &new(", {'b': 'b'}"));
    differ(&classic(list), &new(", {'a': 'b', 'b': 'b'}"));
    differ(&classic(list), &new(""));
    let all = list.replace(", selector: {matchLabels: {a: b}}", "");
    proved(&classic(&all), &new(""));
    differ(&classic(&all), &new(", {'a': 'b'}"));
    // Which ones expressions select is not known before.
    let other =
        list.replace("matchLabels: {a: b}", "matchExpressions: [{key: a, operator: In, values: [b]}]");
    tested(&classic(list), &classic(&other));
}

#[test]
fn a_policy_of_a_namespace_copies_into_it() {
    let old = classic(
        "{apiVersion: v1, kind: Secret, name: pull, namespace: here, clone: {namespace: here, name: base}}",
    )
    .replace("ClusterPolicy", "Policy")
    .replace("{name: p}", "{name: p, namespace: here}")
    .replace("[Namespace]", "[ConfigMap]");
    let fields =
        "?'data': s.?data, ?'immutable': s.?immutable, ?'stringData': s.?stringData, ?'type': s.?type";
    let new = |name: &str| {
        let metadata =
            "'name': 'pull', ?'labels': s.metadata.?labels, ?'annotations': s.metadata.?annotations";
        let object =
            format!("{{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {{{metadata}}}, {fields}}}");
        let read = format!("dyn(resource.Get('v1', 'secrets', '{name}'))");
        generating("true", &format!("generator.Apply([cel.bind(s, {read}, {object})])"))
            .replace("GeneratingPolicy", "NamespacedGeneratingPolicy")
            .replace("{name: p}", "{name: p, namespace: here}")
            .replace("[namespaces]", "[configmaps]")
    };
    proved(&old, &new("base"));
    // It copies another one than the old rule.
    tested(&old, &new("bases"));
}

#[test]
fn what_fails_or_comes_first_decides_about_other_copies() {
    let get = |name: &str, namespace: &str| format!("resource.Get('v1', 'secrets', '{namespace}', '{name}')");
    let list = |namespace: &str| format!("resource.List('v1', 'secrets', '{namespace}')");
    let all = |items: &[String]| {
        generating(OTHER, &format!("generator.Apply(object.metadata.name, [{}])", items.join(", ")))
    };
    let unproved = |old: &str, new: &str| {
        let found = compared(old, new);
        assert!(!matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_)), "{old}\n{new}");
    };
    // Of two copies to one place the last one stays.
    let [one, other] = [get("pull", "base"), get("pull", "bases")];
    unproved(&all(&[one.clone(), other.clone()]), &all(&[other.clone(), one.clone()]));
    unproved(&all(&[list("base"), list("bases")]), &all(&[list("bases"), list("base")]));
    unproved(&all(&[list("base"), other.clone()]), &all(&[other, list("base")]));
    // Where the first source is missing an expression ends, and of a ClusterPolicy the rule.
    let rules = classic(COPY).replace("  - name: r\n", "  - name: q\n");
    let second = classic(&COPY.replace("pull", "push"));
    let second = second.split_once("  rules:\n").unwrap().1;
    unproved(&format!("{rules}{second}"), &all(&[get("pull", "base"), get("push", "base")]));
}
