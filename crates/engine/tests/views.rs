//! Expressions on views of typed objects, as cel-go 0.29.2 with k8s.io/apiserver 0.37.2 answers them.
#![allow(clippy::unwrap_used)]

use ephor_cel::library::{Admission, admission};
use ephor_engine::eval::{Env, eval};
use ephor_functions::{CelLevel, Context};
use ephor_kubernetes::views::viewed;
use ephor_value::release::Release;
use ephor_value::{Str, Value};

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c","labels":{"app":"a","tier":"b"}},
"spec":{"containers":[{"name":"a","image":"x","command":["a","b"],"resources":{"limits":{"memory":"128Mi","cpu":"1"}}},
{"name":"b","image":"y","resources":{"limits":{"memory":"134217728","cpu":"1000m"}}}],"securityContext":{}}}"#;

/// What an expression gives of the pod, as a tree or as a view.
fn result(source: &str, is_view: bool) -> String {
    let tree = ephor_document::json::parse(POD).unwrap();
    let kind = ["", "v1", "Pod"].map(Str::from);
    let object = if is_view { viewed(&tree, &kind, Release::V1_37) } else { tree };
    let level = CelLevel::of_server(Release::V1_37);
    let env = admission(Admission { level, ..Admission::default() });
    let cx = Context { cel_level: level, ..Context::default() };
    let program = ephor_cel::compile(source, &env, &cx).unwrap();
    let root = Value::map([("object", object)]);
    match eval(&program.expr, Env::new(&root, &cx)) {
        Ok(value) => ephor_value::print::json(&value),
        Err(fault) => fault.cel_text(),
    }
}

#[test]
fn views_meet_other_values_in_ways_of_their_own() {
    const NONE: &str = "no such overload";
    for (source, of_tree, of_view) in [
        ("object.spec == 1", "false", NONE),
        ("1 == object.spec", "false", "false"),
        ("object.spec != 1", "true", "true"),
        ("object.spec == null", "false", "false"),
        ("object.metadata.labels == [1]", "false", NONE),
        ("[1] == object.metadata.labels", "false", "false"),
        ("object.spec.containers == {'a': 1}", "false", NONE),
        ("object.spec.containers == [1, 2]", "false", "false"),
        ("[1, 2] == object.spec.containers", "false", "false"),
        ("object.spec == {'containers': dyn(1), 'securityContext': dyn({})}", "false", NONE),
        ("{'containers': dyn(1), 'securityContext': dyn({})} == object.spec", "false", "false"),
        ("object.spec.containers == [object.spec.containers[0], dyn(1)]", "false", "false"),
        ("object.metadata.labels[?dyn(1)].hasValue()", "false", "unsupported map key type: types.Int"),
        ("[object.spec] == [1]", "false", "true"),
        ("{'a': object.spec} == {'a': 1}", "false", "true"),
        ("{'a': 1} == {'a': object.spec}", "false", "false"),
        ("object.spec in [1]", "false", "false"),
        ("1 in object.metadata.labels", "false", "unsupported map key type: types.Int"),
        ("object.metadata.labels[dyn(1)]", "no such key: 1", "unsupported map key type: types.Int"),
        ("object.spec.containers[0u].name", "\"a\"", "unsupported index type: types.Uint"),
        ("object.spec.containers[1.0].name", "\"b\"", "unsupported index type: types.Double"),
        ("object.spec.containers[?0u].hasValue()", "true", "true"),
        ("object.spec.containers[5]", "index out of bounds: 5", "index out of bounds: 5"),
        ("optional.ofNonZeroValue(object.spec.securityContext).hasValue()", "false", "true"),
        ("object.spec.containers[0].resources == object.spec.containers[1].resources", "false", "true"),
        (
            "object.spec.containers[0].resources.limits == object.spec.containers[1].resources.limits",
            "false",
            "false",
        ),
        ("object.spec.containers.exists(c, c == 'x')", "false", NONE),
        ("object.spec.containers.map(c, c.name) == ['a', 'b']", "true", "true"),
        ("object.metadata.labels == {'app': 'a', 'tier': 'b'}", "true", "true"),
    ] {
        let got = (result(source, false), result(source, true));
        assert_eq!((&*got.0, &*got.1), (of_tree, of_view), "{source}");
    }
}
