#![allow(clippy::unwrap_used)]

use super::*;

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn answer(object: &Value) -> Result<Value, String> {
    admitted(&kind_of(object).unwrap(), object).unwrap().map_err(|r| r.to_string())
}

/// The kinds of which there are facts.
fn kinds() -> Vec<[Str; 3]> {
    let all = crate::Kinds::built_in().all().iter();
    all.map(|r| r.kind_of("").unwrap()).filter(|kind| smallest(kind).is_some()).collect()
}

#[test]
fn the_smallest_object_of_each_kind_is_admitted_and_its_form_is_stable() {
    let kinds = kinds();
    assert_eq!(kinds.len(), 28);
    for kind in kinds {
        let form = answer(&smallest(&kind).unwrap()).unwrap_or_else(|e| panic!("{kind:?}: {e}"));
        assert_eq!(form.text_at(&["kind"]), &*kind[2]);
    }
}

#[test]
fn a_pod_is_seen_with_defaults_and_what_plugins_write() {
    let pod = read(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","labels":{}},"nonsense":1,
        "spec":{"containers":[{"name":"a","image":"a:1","args":[],"ports":[{"containerPort":80,"hostPort":0}]}]}}"#,
    );
    let form = answer(&pod).unwrap();
    assert_eq!(form.text_at(&["metadata", "namespace"]), "default");
    assert!(form.at(&["metadata", "labels"]).is_none() && form.get("nonsense").is_none());
    let container = &form.at(&["spec", "containers"]).unwrap().as_list().unwrap()[0];
    let wanted = read(
        r#"{"name":"a","image":"a:1","imagePullPolicy":"IfNotPresent","resources":{},
        "ports":[{"containerPort":80,"protocol":"TCP"}],"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}"#,
    );
    assert!(container.json_eq(&wanted), "{container:?}");
    assert_eq!(form.at(&["spec", "tolerations"]).unwrap().as_list().unwrap().len(), 2);
}

#[test]
fn refusals_name_the_field_and_custom_resources_are_unknown() {
    let pod = |spec: &str| {
        read(&format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a"}},"spec":{spec}}}"#))
    };
    let wrong = |spec: &str| answer(&pod(spec)).unwrap_err();
    assert_eq!(wrong(r#"{"containers":[]}"#), "spec.containers: required");
    assert_eq!(wrong(r#"{"containers":[{"name":"A","image":"a"}]}"#), "spec.containers[0].name: invalid");
    assert_eq!(
        wrong(r#"{"containers":[{"name":"a","image":"a","env":[{"name":"a","value":"a","valueFrom":{}}]}]}"#),
        "spec.containers[0].env[0].valueFrom: required"
    );
    let custom = ["a.test".into(), "v1".into(), "Thing".into()];
    assert!(admitted(&custom, &pod("{}")).is_none());
}

#[test]
fn the_smallest_item_of_a_list_is_found_by_its_path() {
    let deployment = ["apps".into(), "v1".into(), "Deployment".into()];
    let path = ["spec", "template", "spec", "containers", "[]", "ports"];
    assert!(required_item(&deployment, &path).unwrap().json_eq(&read(r#"{"containerPort":1}"#)));
    assert!(required_item(&deployment, &path[..4]).unwrap().json_eq(&read(r#"{"name":"a","image":"a"}"#)));
    assert!(required_item(&deployment, &["spec", "replicas"]).is_none());
}
