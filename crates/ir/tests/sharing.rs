//! Keys of programs that compute the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use ephor_ir::check::Check;
use ephor_ir::rule::Body;
use ephor_ir::sharing::*;
use ephor_policies::PolicySet;

/// The key of the validation of a policy with variables.
fn key(variables: &[(&str, &str)], validation: &str) -> Option<Shared> {
    let variables: String = variables
        .iter()
        .map(|(name, text)| format!("  - name: {name}\n    expression: '{text}'\n"))
        .collect();
    let policy = format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  \
         matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  \
         variables:\n{variables}  validations:\n  - expression: '{validation}'\n"
    );
    let set = PolicySet::from_yaml(&policy).unwrap();
    let rule = &set.policies()[0].rules[0];
    let Body::Validate { check: Check::Assert(validations), .. } = &rule.body else { panic!("{rule:?}") };
    let source = &validations[0].check;
    source
        .sharing
        .of(source.program.as_ref().unwrap(), &rule.expressions.as_ref().unwrap().variables)
        .cloned()
}

const CONTAINERS: &str = "object.spec.containers + object.spec.?initContainers.orValue([])";
const OTHERS: (&str, &str) = ("others", "object.metadata.labels");

#[test]
fn programs_that_compute_the_same_have_one_key_whatever_their_variables_are_called() {
    let one = key(&[("all", CONTAINERS)], "variables.all.all(c, has(c.image))").unwrap();
    let other = key(&[OTHERS, ("each", CONTAINERS)], "variables.each.all(x, has(x.image))").unwrap();
    assert_eq!(one.key, other.key);
    assert_eq!((&*one.variables, &*other.variables), (&[0][..], &[1][..]));
}

#[test]
fn programs_that_compute_something_else_have_other_keys() {
    let validations = [
        ("object.spec.containers", "variables.all.all(c, has(c.image))"),
        (CONTAINERS, "variables.all.all(c, has(c.image))"),
        (CONTAINERS, "variables.all.exists(c, has(c.image))"),
        (CONTAINERS, "variables.all.all(c, has(c.name))"),
        (CONTAINERS, "variables.all.all(c, has(c.image)) && variables.all.size() > 1"),
    ];
    let mut keys: Vec<u128> =
        validations.iter().map(|(all, text)| key(&[("all", all)], text).unwrap().key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), validations.len());
}

#[test]
fn programs_that_read_more_than_the_object_or_external_data_are_not_shared() {
    for validation in [
        "object.spec.containers.all(c, c.name != request.name)",
        "object.spec.containers.all(c, c.name != namespaceObject.metadata.name)",
        "object.spec.containers.all(c, has(c.image) && oldObject == null)",
        "object.spec.containers.all(c, resource.Get(\"v1\", \"configmaps\", \"a\", c.name).kind == c.name)",
    ] {
        assert!(key(&[OTHERS], validation).is_none(), "{validation}");
    }
}

#[test]
fn variables_that_may_not_be_read_are_not_computed_for_others() {
    let sometimes = "object.spec.containers.all(c, has(c.image)) || variables.others.size() > 1";
    assert!(key(&[OTHERS], sometimes).is_none());
    let always = "variables.others.size() > 1 || object.spec.containers.all(c, has(c.image))";
    assert!(key(&[OTHERS], always).is_some());
}

#[test]
fn small_programs_are_not_looked_for() {
    assert!(key(&[OTHERS], "object.spec.hostNetwork != true").is_none());
}
