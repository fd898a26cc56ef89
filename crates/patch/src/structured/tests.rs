use super::*;

fn yaml(text: &str) -> Value {
    ephor_document::yaml_value(text).unwrap()
}

fn part(v: &Value) -> Part {
    match v {
        Value::Map(m) => Part::Fields(m.iter().map(|(k, v)| (k.clone(), part(v))).collect()),
        Value::List(l) => Part::Items(l.iter().map(part).collect()),
        scalar => Part::Scalar(scalar.clone()),
    }
}

fn pod(object: &str, change: &str) -> Result<String, String> {
    let types = Types::built_in();
    let def = types.named("core/v1.Pod").unwrap();
    merge(&yaml(object), &part(&yaml(change)), def, types)
        .map(|v| ephor_value::print::json(&v))
        .map_err(|e| e.to_string())
}

fn names(old: &[&str], new: &[&str]) -> Vec<String> {
    let list = |names: &[&str]| {
        let items: Vec<String> = names.iter().map(|n| format!("{{name: {n}}}")).collect();
        format!("{{spec: {{containers: [{}]}}}}", items.join(", "))
    };
    let types = Types::built_in();
    let def = types.named("core/v1.Pod").unwrap();
    let out = merge(&yaml(&list(old)), &part(&yaml(&list(new))), def, types).unwrap();
    let items = out.at(&["spec", "containers"]).and_then(Value::as_list).unwrap();
    items.iter().map(|c| c.text_at(&["name"]).to_string()).collect()
}

#[test]
fn items_keep_their_order_and_new_ones_go_where_the_change_has_them() {
    assert_eq!(names(&["a", "b"], &["c"]), ["a", "b", "c"]);
    assert_eq!(names(&["a", "b"], &["b", "a"]), ["b", "a"]);
    assert_eq!(names(&["a", "b"], &["c", "b"]), ["a", "c", "b"]);
    assert_eq!(names(&["a", "b", "c"], &["c", "x", "a"]), ["b", "c", "x", "a"]);
}

#[test]
fn keys_of_items_take_the_defaults_of_the_schema() {
    let port = |extra: &str| {
        pod(
            "{spec: {containers: [{name: a, ports: [{containerPort: 80, protocol: TCP}]}]}}",
            &format!("{{spec: {{containers: [{{name: a, ports: [{{containerPort: 80{extra}}}]}}]}}}}"),
        )
        .unwrap()
    };
    assert!(port(", name: web").contains(r#"[{"containerPort":80,"name":"web","protocol":"TCP"}]"#));
    assert!(port(", protocol: UDP").contains(r#"},{"containerPort":80,"protocol":"UDP"}]"#));
}

#[test]
fn an_object_of_an_unknown_type_is_replaced_by_scalars_and_by_nothing_else() {
    let types = Types::built_in();
    let def = types.named("apps/v1.ControllerRevision").unwrap();
    let data = |change: &str| {
        let change = part(&yaml(&format!("{{data: {change}}}")));
        merge(&yaml("{data: {a: 1}}"), &change, def, types)
            .map(|v| ephor_value::print::json(&v))
            .map_err(|e| e.to_string())
    };
    assert_eq!(data("x").unwrap(), r#"{"data":"x"}"#);
    assert_eq!(data("1").unwrap(), r#"{"data":1}"#);
    for change in ["{}", "{a: 2}", "[]", "[1]"] {
        let error = "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .data";
        assert_eq!(data(change).unwrap_err(), error, "{change}");
    }
}

#[test]
fn a_structure_without_fields_takes_maps_only() {
    use ephor_value::release::Release;
    let types = Types::of_release(Release::V1_37);
    let def = types.named("scheduling/v1alpha3.WorkloadPodGroupSchedulingPolicy").unwrap();
    let basic = |change: &str| merge(&yaml("{}"), &part(&yaml(&format!("{{basic: {change}}}"))), def, types);
    assert!(basic("{}").is_ok() && basic("{x: 1}").is_ok());
    let error = basic("1").unwrap_err().to_string();
    assert!(error.ends_with(".basic: expected map, got &{1}"), "{error}");
}

#[test]
fn what_is_replaced_as_a_whole_may_not_be_merged() {
    let text = pod(
        "{}",
        "{spec: {tolerations: [{key: a}], nodeSelector: {a: b}, containers: [{name: a, args: [x]}]}}",
    );
    let places = ".spec.tolerations, .spec.nodeSelector, .spec.containers[0].args";
    assert_eq!(
        text.unwrap_err(),
        format!("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {places}")
    );
}

#[test]
fn an_error_names_the_path_of_the_change_that_does_not_fit() {
    let error = |change: &str| pod("{}", change).unwrap_err();
    let head = "failed to convert patch object to typed object: ";
    assert_eq!(error("{spec: {nonsense: 1}}"), format!("{head}.spec.nonsense: field not declared in schema"));
    assert_eq!(
        error("{spec: {containers: {a: b}}}"),
        format!("{head}.spec.containers: expected list, got &{{map[a:b]}}")
    );
    assert_eq!(
        error("{spec: {priority: x}}"),
        format!("{head}.spec.priority: expected numeric (int or float), got string")
    );
    assert_eq!(
        error("{spec: {containers: [{name: a}, {name: a}]}, nope: 1}"),
        format!(
            "{head}errors:\n  .spec.containers: duplicate entries for key [name=\"a\"]\n  .nope: field not declared in schema"
        )
    );
}

#[test]
fn sets_are_united_and_labels_merged() {
    let object = "{metadata: {finalizers: [a], labels: {x: v}}}";
    let out = pod(object, "{metadata: {finalizers: [b, a], labels: {z: w}}}").unwrap();
    assert_eq!(out, r#"{"metadata":{"finalizers":["b","a"],"labels":{"x":"v","z":"w"}}}"#);
}

#[test]
fn what_cannot_be_a_part_is_shown_as_go_prints_it() {
    let opaque = |shown: &str, go: &str, native| {
        Part::Opaque(Box::new(Opaque { value: Value::Null, shown: shown.into(), go: go.into(), native }))
    };
    let error = |path: &[&str], part: Part| {
        let change = path.iter().rev().fold(part, |part, key| Part::Fields(vec![((*key).into(), part)]));
        let types = Types::built_in();
        merge(&yaml("{}"), &change, types.named("core/v1.Pod").unwrap(), types).unwrap_err().to_string()
    };
    let unsigned = || opaque("5", "0x5", "uint64");
    assert!(
        error(&["metadata", "annotations", "t"], unsigned())
            .ends_with(".metadata.annotations.t: expected string, got &value.valueUnstructured{Value:0x5}")
    );
    let number = error(&["spec", "terminationGracePeriodSeconds"], unsigned());
    assert!(number.ends_with("expected numeric (int or float), got uint64"), "{number}");
    let set = error(&["metadata", "finalizers"], Part::Items(vec![Part::whole(&yaml("{a: 1}"))]));
    assert!(
        set.ends_with("element 0: associative list without keys has an element that's a map type"),
        "{set}"
    );
    let null = error(&["metadata", "finalizers"], Part::Items(vec![Part::Scalar(Value::Null)]));
    assert!(null.ends_with("has an element that's an explicit null"), "{null}");
}

#[test]
fn nothing_is_merged_into_what_has_parts_and_takes_the_place_of_what_has_none() {
    let merged = |change: &str| pod("{spec: {hostname: a, overhead: {cpu: '1'}}}", change).unwrap();
    assert_eq!(merged("{spec: null}"), r#"{"spec":{"hostname":"a","overhead":{"cpu":"1"}}}"#);
    assert_eq!(merged("{spec: {hostname: null}}"), r#"{"spec":{"hostname":null,"overhead":{"cpu":"1"}}}"#);
}
