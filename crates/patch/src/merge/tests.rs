#![allow(clippy::unwrap_used)]

use super::merge;
use ephor_document::yaml_value;
use ephor_value::print::json;

fn merged(object: &str, patch: &str) -> String {
    match merge(&yaml_value(object).unwrap(), &yaml_value(patch).unwrap()) {
        Ok(v) => json(&v),
        Err(e) => format!("error: {e}"),
    }
}

/// A pod with these containers, and the containers after a patch.
fn containers(there: &str, patch: &str) -> String {
    let object = format!("{{apiVersion: v1, kind: Pod, spec: {{containers: {there}}}}}");
    let patched = merge(
        &yaml_value(&object).unwrap(),
        &yaml_value(&format!("{{spec: {{containers: {patch}}}}}")).unwrap(),
    );
    json(patched.unwrap().at(&["spec", "containers"]).unwrap())
}

#[test]
fn objects_are_merged_key_by_key_and_null_removes() {
    assert_eq!(
        merged("{a: 1, b: {c: 1, d: 2}}", "{b: {c: 3, e: 4}, a: null}"),
        r#"{"b":{"c":3,"d":2,"e":4}}"#
    );
}

#[test]
fn keys_keep_their_order_and_new_ones_follow_in_the_order_of_the_patch() {
    let object = yaml_value("{z: 1, b: {w: 1, c: 2}, a: 1}").unwrap();
    let patch = yaml_value("{q: 1, b: {x: 1, w: 2}, d: 1}").unwrap();
    let patched = merge(&object, &patch).unwrap();
    let keys =
        |v: &ephor_value::Value| v.as_map().unwrap().keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(keys(&patched), ["z", "b", "a", "q", "d"]);
    assert_eq!(keys(patched.get("b").unwrap()), ["w", "c", "x"]);
}

#[test]
fn numbers_in_the_place_of_texts_become_texts() {
    assert_eq!(
        merged("{a: '1', b: 1, c: 'x'}", "{a: 7, b: '7', c: true, d: 7}"),
        r#"{"a":"7","b":"7","c":"true","d":7}"#
    );
}

#[test]
fn lists_without_schema_are_replaced() {
    assert_eq!(merged("{l: [{name: a}]}", "{l: [{name: b}]}"), r#"{"l":[{"name":"b"}]}"#);
}

#[test]
fn items_of_the_patch_come_first() {
    assert_eq!(
        containers("[{name: a}, {name: b}]", "[{name: z}, {name: b, x: 1}]"),
        r#"[{"name":"z"},{"name":"b","x":1},{"name":"a"}]"#
    );
}

#[test]
fn an_item_without_key_removes_every_item_with_one() {
    assert_eq!(containers("[{name: a}, {name: b}]", "[{image: zz}]"), "[]");
}

#[test]
fn items_with_several_keys_keep_their_order_and_may_lose_changes() {
    assert_eq!(
        containers(
            "[{name: a, ports: [{containerPort: 80}, {containerPort: 81, protocol: UDP}]}]",
            "[{name: a, ports: [{containerPort: 80, protocol: TCP, name: w}, {containerPort: 82}]}]"
        ),
        r#"[{"name":"a","ports":[{"containerPort":82},{"containerPort":80},{"containerPort":81,"protocol":"UDP"}]}]"#
    );
}

#[test]
fn directives_delete_and_replace() {
    assert_eq!(containers("[{name: a}, {name: b}]", "[{name: a, $patch: delete}]"), r#"[{"name":"b"}]"#);
    assert_eq!(containers("[{name: a}, {name: b}]", "[{$patch: replace}, {name: c}]"), r#"[{"name":"c"}]"#);
    assert_eq!(merged("{a: {b: 1}}", "{a: {$patch: replace, c: 2}}"), r#"{"a":{"c":2}}"#);
    assert_eq!(merged("{a: {b: 1}}", "{a: {$patch: bogus}}"), "error: unknown patch strategy 'bogus'");
}

#[test]
fn sets_are_united() {
    let object = "{apiVersion: v1, kind: Pod, metadata: {finalizers: [a/b, c/d]}}";
    assert!(merged(object, "{metadata: {finalizers: [e/f, a/b]}}").contains(r#"["e/f","a/b","c/d"]"#));
}

#[test]
fn nodes_of_different_kinds_do_not_merge() {
    assert_eq!(
        merged("{m: {a: 1}}", "{m: [l]}"),
        "error: wrong node kind: expected MappingNode but got SequenceNode: node contents:\n[\"l\"]\n"
    );
}

#[test]
fn documents_without_end_are_refused() {
    let deep = |n: usize| {
        (0..n).fold(ephor_value::Value::Null, |v, _| {
            ephor_value::Value::Map([("a".into(), v)].into_iter().collect())
        })
    };
    let compare = move || {
        assert!(merge(&deep(10_200), &deep(10_200)).is_err());
        assert!(merge(&deep(9_900), &deep(9_900)).is_ok());
    };
    // Values as deep as this are taken apart on the stack of a server's thread.
    std::thread::Builder::new().stack_size(64 << 20).spawn(compare).unwrap().join().unwrap();
}
