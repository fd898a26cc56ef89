//! The order of the items of lists that are merged by keys.
//!
//! The orders of [`RECORDED`] are those of Kyverno 1.19.1's command line.

#![allow(clippy::unwrap_used)]

use ephor_compare::{Apart, Side};
use ephor_migrate::{DocumentOutcome, Limits, Options, file};
use ephor_policies::load::{Reader, argument_for};
use ephor_sources::files::SourceText;
use ephor_value::Value;

/// How a policy changes containers; their order behind it and behind the migrated one, and whether
/// the answer names it.
const RECORDED: [(&str, &str, &str, bool); 10] = [
    (
        "patchStrategicMerge: {spec: {containers: [{(image): '*:latest', imagePullPolicy: Always}]}}",
        "b a c",
        "a b c",
        true,
    ),
    (
        "patchStrategicMerge: {spec: {containers: [{name: b, imagePullPolicy: Always}]}}",
        "b a c",
        "a b c",
        true,
    ),
    (
        "patchStrategicMerge: {spec: {containers: [{name: c, imagePullPolicy: Always}]}}",
        "c a b",
        "a b c",
        true,
    ),
    ("patchStrategicMerge: {spec: {containers: [{name: z, image: 'z:1'}]}}", "z a b c", "a b c z", true),
    (
        "patchStrategicMerge: {spec: {containers: [{(name): b, imagePullPolicy: Always}]}}",
        "b a c",
        "a b c",
        true,
    ),
    (
        "patchStrategicMerge: {spec: {containers: [{(name): b, +(imagePullPolicy): Always}]}}",
        "b a c",
        "a b c",
        true,
    ),
    (
        "patchStrategicMerge: {spec: {containers: [{(name): '*', imagePullPolicy: Always}]}}",
        "a b c",
        "a b c",
        false,
    ),
    (
        "foreach: [{list: request.object.spec.containers, preconditions: {all: [{key: '{{ element.image }}', operator: Equals, value: '*:latest'}]}, \
         patchStrategicMerge: {spec: {containers: [{(name): '{{ element.name }}', imagePullPolicy: Always}]}}}]",
        "b a c",
        "a b c",
        true,
    ),
    (
        "foreach: [{list: request.object.spec.containers, preconditions: {all: [{key: '{{ element.image }}', operator: Equals, value: '*:latest'}]}, \
         patchStrategicMerge: {spec: {containers: [{name: '{{ element.name }}', imagePullPolicy: Always}]}}}]",
        "b a c",
        "a b c",
        true,
    ),
    (
        "foreach: [{list: request.object.spec.containers, patchStrategicMerge: {spec: {containers: [{(name): '{{ element.name }}', imagePullPolicy: Always}]}}}]",
        "a b c",
        "a b c",
        true,
    ),
];

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: a, image: 'a:1'}, {name: b, image: 'b:latest'}, {name: c, \
                   image: 'c:1'}]}}";

/// The names of the containers behind a policy.
fn order(policy: &str) -> String {
    let source = SourceText { name: "p.yaml".into(), text: policy.into() };
    let side = Side::new(argument_for(&[source], Reader::Scan), "p.yaml").unwrap();
    let changed =
        side.judge_object(&ephor_document::yaml_value(POD).unwrap(), "CREATE").unwrap().changed.unwrap();
    let containers = changed.at(&["spec", "containers"]).and_then(Value::as_list).unwrap().to_vec();
    containers.iter().map(|one| one.text_at(&["name"]).to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_order_of_items_is_named_wherever_a_merge_may_move_them() {
    for (change, old_order, new_order, is_named) in RECORDED {
        let old = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: m}}, spec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, mutate: \
             {{{change}}}}}]}}}}"
        );
        let migrated = file("old.yaml", &old, &Options::default(), Limits::default()).unwrap();
        let DocumentOutcome::Moved(_, proof) = &migrated.parts.first().unwrap().outcome else {
            panic!("{change}")
        };
        let claim = &proof.as_ref().as_ref().unwrap().claim;
        assert_eq!((&*order(&old), &*order(&migrated.migrated())), (old_order, new_order), "{change}");
        assert_eq!(claim.apart.contains(&Apart::Order), is_named, "{change}");
        assert_eq!(claim.but_for().contains(&"the order of items"), is_named, "{change}: {:?}", claim.answer);
        assert!(is_named || old_order == new_order, "{change}");
    }
}
