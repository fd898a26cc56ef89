//! Laws of rules that change objects.
#![allow(clippy::unwrap_used)]

use ephor_engine::Effect;
use ephor_engine::Status;
use ephor_patch::apply::apply;
use ephor_patch::diff::diff;
use ephor_policies::{Engine, Outcome, PolicySet};
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};
use proptest::prelude::*;

/// Documents as objects have them; keys in random order.
fn document(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        (-3i64..4).prop_map(Value::Int),
        Just(Value::Float(1.5)),
        "[a-c <]{1,3}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(depth, 20, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..3).prop_map(Value::list),
            proptest::collection::vec(("[a-f]", inner), 1..4).prop_map(object),
        ]
    });
    proptest::collection::vec(("[a-f]", value), 0..5).prop_map(object)
}

fn object(entries: Vec<(String, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect())
}

/// A custom resource with this specification.
fn widget(spec: &Value) -> Value {
    let mut m = Map::new();
    m.insert("kind", Value::from("Widget"));
    m.insert("spec", spec.clone());
    m.insert("apiVersion", Value::from("example.com/v1"));
    m.insert("metadata", object(vec![("name".into(), Value::from("w"))]));
    Value::Map(m)
}

/// What a mutate body does to an object.
fn run(body: &str, resource: &Value) -> Outcome {
    let policy = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Widget]}}}}]}}\n    mutate: {body}\n"
    );
    let engine = Engine::new(PolicySet::from_yaml(&policy).unwrap());
    engine.check_yaml(&in_order(resource)).unwrap()
}

/// JSON that keeps the order of keys.
fn in_order(v: &Value) -> String {
    match v {
        Value::Map(m) => {
            let members = m.iter().map(|(k, v)| format!("{}: {}", json(&Value::Str(k.clone())), in_order(v)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::List(l) => format!("[{}]", l.iter().map(in_order).collect::<Vec<_>>().join(", ")),
        other => json(other),
    }
}

fn merge(patch: &Value) -> String {
    format!("{{patchStrategicMerge: {{spec: {}}}}}", json(patch))
}

/// Whether the keys of `before` that are still there follow each other as before, at every level.
fn keeps_order(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Map(a), Value::Map(b)) => {
            let left: Vec<&Str> = a.keys().filter(|k| b.contains_key(k)).collect();
            let found: Vec<&Str> = b.keys().filter(|k| a.contains_key(k)).collect();
            left == found && left.iter().all(|k| keeps_order(&a.get(k).unwrap().clone(), b.get(k).unwrap()))
        }
        _ => true,
    }
}

/// A part of a document: some of its members, at every level.
fn part(v: &Value, chosen: &mut impl Iterator<Item = bool>) -> Value {
    match v {
        Value::Map(m) => {
            let members: Vec<_> = m.iter().filter(|_| chosen.next().unwrap_or(true)).collect();
            Value::Map(members.into_iter().map(|(k, v)| (k.clone(), part(v, chosen))).collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_rule_that_changes_nothing_gives_no_patch(
        spec in document(3),
        chosen in proptest::collection::vec(any::<bool>(), 16),
    ) {
        let resource = widget(&spec);
        let patch = part(&spec, &mut chosen.into_iter());
        let outcome = run(&merge(&patch), &resource);
        let (_, result) = outcome.results().next().unwrap();
        prop_assert_eq!(result.status, Status::Skip, "{}", result.message);
        prop_assert_eq!(&*result.message, "no patches applied");
        prop_assert!(outcome.object.is_none());
    }

    #[test]
    fn the_patch_of_a_merge_leads_to_the_changed_object(spec in document(3), patch in document(3)) {
        let resource = widget(&spec).with_whole_numbers();
        let outcome = run(&merge(&patch), &resource);
        let (_, result) = outcome.results().next().unwrap();
        match (&outcome.object, result.status) {
            (Some(after), Status::Pass) => {
                let operations = diff(&resource, after);
                prop_assert!(!operations.is_empty());
                prop_assert!(apply(&resource, &operations).unwrap().strict_eq(after));
                prop_assert!(matches!(result.effect.as_deref(), Some(Effect::Patched(o)) if o.strict_eq(after)));
            }
            (Some(Value::Null), Status::Error) | (None, Status::Skip) => {}
            (object, status) => prop_assert!(false, "{object:?} {status:?}"),
        }
    }

    #[test]
    fn keys_that_a_rule_does_not_touch_keep_their_order(spec in document(3), patch in document(2)) {
        let resource = widget(&spec);
        let outcome = run(&merge(&patch), &resource);
        if let Some(after @ Value::Map(_)) = &outcome.object {
            prop_assert!(keeps_order(&resource, after), "{} after {}", in_order(after), in_order(&resource));
        }
        let operations = r#"{patchesJson6902: '[{"op":"add","path":"/spec/a","value":1},{"op":"add","path":"/metadata/labels/x","value":"y"}]'}"#;
        let outcome = run(operations, &resource);
        if let Some(after @ Value::Map(_)) = &outcome.object {
            prop_assert!(keeps_order(&resource, after), "{} after {}", in_order(after), in_order(&resource));
        }
    }

    #[test]
    fn no_patch_and_no_object_makes_the_engine_panic(spec in document(3), patch in document(3), op in "[a-z0-9/~-]{0,8}") {
        run(&merge(&patch), &widget(&spec));
        let operations = format!("[{{op: add, path: /spec{op}, value: {}}}]", json(&patch));
        let body = format!("{{patchesJson6902: {}}}", json(&Value::from(operations)));
        run(&body, &widget(&spec));
    }
}

#[test]
fn an_outcome_has_the_object_after_each_policy_and_after_all() {
    let policy = |name: &str, label: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Widget]}}}}]}}\n    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{{label}}}}}}}}}\n"
        )
    };
    let set = format!("{}---\n{}", policy("one", "a: b"), policy("two", "c: d"));
    let engine = Engine::new(PolicySet::from_yaml(&set).unwrap());
    let outcome = engine.check_yaml(&in_order(&widget(&Value::Null))).unwrap();
    let labels = |v: &Option<Value>| v.as_ref().and_then(|o| o.at(&["metadata", "labels"]).map(json));
    let found: Vec<_> = outcome.policies.iter().map(|p| labels(&p.object)).collect();
    assert_eq!(found, [Some(r#"{"a":"b"}"#.into()), Some(r#"{"a":"b","c":"d"}"#.into())]);
    assert_eq!(labels(&outcome.object), Some(r#"{"a":"b","c":"d"}"#.into()));
}

#[test]
fn generated_objects_are_reported_with_their_rule() {
    let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Widget]}}]}\n    generate: {apiVersion: v1, kind: ConfigMap, name: g, namespace: shop, data: {data: {a: '{{ request.object.metadata.name }}'}}}\n";
    let engine = Engine::new(PolicySet::from_yaml(policy).unwrap());
    let outcome = engine.check_yaml(&in_order(&widget(&Value::Null))).unwrap();
    let (_, result) = outcome.results().next().unwrap();
    let Some(Effect::Generated(objects)) = result.effect.as_deref() else { panic!("no objects") };
    assert_eq!(objects.iter().map(|o| o.text_at(&["data", "a"])).collect::<Vec<_>>(), ["w"]);
}
