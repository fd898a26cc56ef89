//! Parts of a request that the results of a policy depend on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use ephor_analysis::reads::*;
use ephor_policies::PolicySet;

/// What is read under a tree, one place a line: `a.b[]` all of it, `a.b[]?` its shape.
fn places(tree: &ReadTree, at: &str, out: &mut Vec<String>) {
    let ReadTree { whole, named: _, compared: _, names, keys, items, nested } = tree;
    if *names {
        out.push(format!("{at}.?"));
    }
    if *whole {
        out.push(at.to_string());
        return;
    }
    if keys.is_empty() && items.is_none() && nested.is_none() && !at.is_empty() {
        out.push(format!("{at}?"));
    }
    for (key, below) in keys {
        let next = if at.is_empty() { key.to_string() } else { format!("{at}.{key}") };
        places(below, &next, out);
    }
    for (below, mark) in [(items, "[]"), (nested, "[[]]")] {
        if let Some(below) = below {
            places(below, &format!("{at}{mark}"), out);
        }
    }
}

fn of(policy: &str) -> Result<Reads, Untracked> {
    let set = PolicySet::from_yaml(policy).unwrap();
    of_policy(&set.policies()[0], "Pod", set.exceptions(), &[], ephor_lower::LATE)
}

fn render(tree: &ReadTree) -> String {
    let mut out = Vec::new();
    places(tree, "", &mut out);
    out.sort();
    out.join(" ")
}

/// A policy on pods with one rule of this body.
fn rule(body: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n{body}"
    )
}

fn cel(expression: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [example.com], apiVersions: [v1], resources: [things], operations: [CREATE]}}]}}\n  validations: [{{expression: \"{expression}\"}}]"
    )
}

#[test]
fn whether_an_object_has_a_key_reads_this_key_alone() {
    let reads = |key: &str| {
        let policy = rule(&format!(
            "    validate: {{message: m, deny: {{conditions: {{all: [{{key: \"{{{{ {key} }}}}\", operator: Equals, value: true}}]}}}}}}"
        ));
        let set = PolicySet::from_yaml(&policy).unwrap();
        let (reads, _) =
            tested_by_policy(&set.policies()[0], "Pod", &[], &[], ephor_lower::LATE, false).unwrap();
        render(&reads.object)
    };
    assert_eq!(reads("contains(keys(request.object.spec), 'hostPID')"), "spec.hostPID?");
    assert!(reads("contains(keys(request.object.spec), request.object.kind)").contains("spec.?"));
}

#[test]
fn what_is_compared_with_something_empty_is_read_by_its_shape() {
    let tested = |policy: &str| {
        let set = PolicySet::from_yaml(policy).unwrap();
        let (reads, _) =
            tested_by_policy(&set.policies()[0], "Pod", &[], &[], ephor_lower::LATE, false).unwrap();
        render(&reads.object)
    };
    let equals = |value: &str| {
        tested(&rule(&format!(
            "    validate: {{message: m, deny: {{conditions: {{all: [{{key: '{{{{ request.object.metadata.finalizers || `[]` }}}}', operator: Equals, value: {value}}}]}}}}}}"
        )))
    };
    assert_eq!(equals("[]"), "metadata.finalizers?");
    assert_eq!(equals("[a]"), "metadata.finalizers");
    assert_eq!(tested(&cel("object.?spec.?a.orValue([]) != []")), "spec.a[]?");
}

#[test]
fn patterns_read_the_places_that_they_name() {
    let reads = of(&rule(
        "    validate: {message: m, pattern: {spec: {'=(hostNetwork)': false, containers: [{image: '!*:latest', '=(ports)': [{'=(hostPort)': 0}]}]}}}",
    ));
    assert_eq!(
        render(&reads.unwrap().shown),
        "spec.containers[].image spec.containers[].ports[].hostPort spec.hostNetwork"
    );
    let reads = of(&rule("    validate: {message: m, pattern: {metadata: {labels: {team: '*', 'a?': b}}}}"));
    assert_eq!(render(&reads.unwrap().shown), "metadata.labels", "keys with wildcards can be any");
}

#[test]
fn variables_read_the_places_that_lead_to_their_values() {
    let reads = of(&rule(
        "    context: [{name: shown, variable: {jmesPath: 'request.object.spec.containers[].image'}}]\n    validate: {message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.volumes[].hostPath.path }}', operator: AnyIn, value: [/etc]}]}}}",
    ));
    let reads = reads.unwrap();
    let volumes = "spec.volumes[].hostPath.path spec.volumes[][[]].hostPath.path";
    assert_eq!(
        render(&reads.object),
        format!("spec.containers[].image? spec.containers[][[]].image? {volumes}"),
        "of a binding that nothing mentions only the shape"
    );
    let reads = of(&rule(
        "    context: [{name: names, variable: {jmesPath: 'request.object.spec.containers[*].name'}}]\n    validate: {message: m, deny: {conditions: {any: [{key: '{{ length(names) }}', operator: GreaterThan, value: 3}]}}}",
    ));
    assert_eq!(render(&reads.unwrap().object), "spec.containers[].name?", "bindings by how they are used");
}

#[test]
fn elements_of_loops_are_places_in_lists() {
    let reads = of(&rule(
        "    validate:\n      message: m\n      foreach:\n      - list: request.object.spec.containers\n        deny: {conditions: {any: [{key: '{{ element.image }}', operator: Equals, value: '*:latest'}]}}",
    ));
    assert_eq!(render(&reads.unwrap().object), "spec.containers.image spec.containers[].image");
}

#[test]
fn strict_expressions_read_as_far_as_they_go() {
    let reads = of(&cel(
        "object.spec.containers.all(c, !has(c.securityContext) || c.securityContext.privileged != true)",
    ));
    assert_eq!(render(&reads.unwrap().object), "spec.containers[].securityContext.privileged?");
    let reads = of(&cel(
        "(object.spec.containers + object.spec.?initContainers.orValue([])).exists(c, c.image == 'a')",
    ));
    assert_eq!(render(&reads.unwrap().object), "spec.containers[].image? spec.initContainers[].image?");
    let reads = of(&cel("size(object.metadata.?labels.orValue({})) > 2"));
    assert_eq!(render(&reads.unwrap().object), "metadata.labels[]?", "how many, not which");
}

#[test]
fn names_and_users_count_where_they_are_read() {
    let reads = of(&cel("request.name != 'a' && request.namespace != 'b'")).unwrap();
    assert_eq!((reads.name, reads.user, reads.distinguishes_objects()), (true, false, true));
    let reads = of(&cel("request.userInfo.username != 'a'")).unwrap();
    assert_eq!((reads.name, reads.user), (false, true));
    let reads = of(&cel("object.spec == oldObject.spec")).unwrap();
    assert_eq!(
        (render(&reads.object), render(&reads.old), reads.distinguishes_objects()),
        ("spec".into(), "spec".into(), false)
    );
    assert!(of(&cel("object.metadata.uid != ''")).unwrap().distinguishes_objects());
}

/// A rule that compares a key.
fn deny(key: &str) -> String {
    rule(&format!(
        "    validate: {{message: m, deny: {{conditions: {{any: [{{key: \"{key}\", operator: Equals, value: a}}]}}}}}}"
    ))
}

#[test]
fn rules_that_read_external_data_are_reported() {
    let external = |policy: &str| of(policy).unwrap().external;
    assert!(!external(&deny("{{ to_upper(request.object.metadata.labels.a) }}")));
    assert!(!external(&cel("timestamp(object.metadata.labels.at) > timestamp('2020-01-01T00:00:00Z')")));
    assert!(external(&deny("{{ time_now() }}")));
    assert!(external(&deny("{{ random('[a-z]') }}")));
    assert!(external(&cel("time.now() > timestamp('2020-01-01T00:00:00Z')")));
    assert!(external(&cel("object.spec.a == 'b' || resource.List('v1', 'pods', '').items.size() > 0")));
    assert!(external(&rule(
        "    context: [{name: found, apiCall: {urlPath: /api/v1/namespaces, jmesPath: 'length(items)'}}]\n    validate: {message: m, deny: {conditions: {any: [{key: '{{ found }}', operator: Equals, value: 1}]}}}"
    )));
}

#[test]
fn texts_that_are_resolved_in_rounds_are_read_as_long_as_they_stay_texts() {
    let nested = of(&deny("{{ to_upper('{{ request.object.metadata.labels.a }}') }}"));
    assert_eq!(render(&nested.unwrap().object), "metadata.labels.a");
    let touching = of(&deny("{{ request.object.kind }}{{ request.object.metadata.labels.a }}"));
    assert_eq!(render(&touching.unwrap().object), "kind metadata.labels.a");
    for key in [
        "{{ request.object.metadata.annotations.{{ request.object.metadata.labels.a }} }}",
        "{{ to_upper(`{{ request.object.metadata.labels.a }}`) }}",
    ] {
        assert_eq!(of(&deny(key)), Err(Untracked), "{key}");
    }
}

#[test]
fn the_whole_request_is_never_the_same() {
    for key in ["{{ request.uid }}", "{{ to_string(request) }}", "{{ to_string(@) }}"] {
        assert_eq!(of(&deny(key)), Err(Untracked), "{key}");
    }
}

#[test]
fn a_tree_that_holds_another_one_stays_as_it_is() {
    let step = |k: &str| Step::Key(k.into());
    let mut tree = ReadTree::default();
    tree.add(&[step("a"), Step::Items, step("b")], true);
    tree.add(&[step("a"), Step::Items], false);
    let mut twice = tree.clone();
    twice.merge(&tree);
    assert_eq!((render(&tree), &twice), ("a[].b".into(), &tree));
    tree.add(&[step("a")], true);
    tree.add(&[step("a"), step("c")], true);
    assert_eq!(render(&tree), "a");
}
