#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::locate::{Position, locate, locate_key};
use super::resource::{ResourceOptions, resources};
use super::split::{Part, SeparatorError, split, utf8};
use super::{Duplicates, MAX_DEPTH, json, parse_stream, yaml, yaml_value};
use crate::write::{Style, to_string};
use ephor_value::place::{PathPart, dotted};
use ephor_value::{Map, Value, print};

fn yaml_json(text: &str) -> String {
    match yaml_value(text) {
        Ok(v) => print::json(&v),
        Err(e) => e.to_string(),
    }
}

#[test]
fn types_scalars_by_the_rules_of_yaml_1_1() {
    for (text, expected) in [
        ("[y, Yes, ON, true, TRUE, tRue]", r#"[true,true,true,true,true,"tRue"]"#),
        ("[n, No, OFF, false, fAlse]", r#"[false,false,false,false,"fAlse"]"#),
        ("[~, null, Null, NULL, '']", r#"[null,null,null,null,""]"#),
        ("[0x1F, 010, 0o17, 0b11, 1_000, -5, +7]", "[31,8,15,3,1000,-5,7]"),
        ("[09, 0.5, 1e3, .5, 1., 1e400, 0o8, 1:30]", r#"[9,0.5,1000,0.5,1,"1e400","0o8","1:30"]"#),
        ("[18446744073709551615, 18446744073709551616]", "[18446744073709551615,18446744073709552000]"),
        ("[2024-01-02, !!timestamp 2024-01-02]", r#"["2024-01-02","2024-01-02"]"#),
        ("[!!str 5, !!int '5', !!float 5, !foo 5, ! '5']", r#"["5",5,5,"5","5"]"#),
        ("!!binary aGk=", r#""hi""#),
        ("!!set {b, c}", r#"{"b":null,"c":null}"#),
    ] {
        assert_eq!(yaml_json(text), expected, "{text}");
    }
}

#[test]
fn integers_keep_their_kind() {
    let v = yaml_value("[1, 9223372036854775808, 1.5, 1.0]").unwrap();
    assert!(matches!(
        v.as_list().unwrap(),
        [Value::Int(1), Value::UInt(9_223_372_036_854_775_808), Value::Float(_), Value::Int(1)]
    ));
}

#[test]
fn keys_of_every_scalar_type_become_text() {
    assert_eq!(yaml_json("{1: a, 1.50: b, y: c, 0x10: d}"), r#"{"1":"a","1.5":"b","16":"d","true":"c"}"#);
    assert_eq!(yaml_json("~: d"), r#"unsupported map key of type: %!s(<nil>), key: <nil>, value: "d""#);
    assert_eq!(yaml_json("? [1]\n: b"), "yaml: invalid map key: []interface {}{1}");
}

#[test]
fn merge_keys_add_entries_where_they_stand() {
    assert_eq!(yaml_json("<<: {a: 2, b: 3}\na: 1"), r#"{"a":1,"b":3}"#);
    assert_eq!(yaml_json("a: 1\n<<: {a: 2, b: 3}"), r#"{"a":2,"b":3}"#);
    assert_eq!(yaml_json("<<: [{a: 2}, {a: 3, b: 1}]"), r#"{"a":2,"b":1}"#);
    assert_eq!(yaml_json("<<: 5"), "yaml: map merge requires map or sequence of maps as the value");
}

#[test]
fn aliases_share_what_they_repeat_and_are_limited() {
    assert_eq!(yaml_json("a: &x {b: 1}\nc: *x"), r#"{"a":{"b":1},"c":{"b":1}}"#);
    assert_eq!(yaml_json("a: *nope"), "yaml: unknown anchor 'nope' referenced");
    assert_eq!(yaml_json("a: &x [*x]"), "yaml: anchor 'x' value contains itself");
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_string();
    for i in 1..9 {
        let refs = vec![format!("*a{}", i - 1); 10].join(",");
        bomb.push_str(&format!("a{i}: &a{i} [{refs}]\n"));
    }
    assert_eq!(yaml_json(&bomb), "yaml: document contains excessive aliasing");
}

#[test]
fn syntax_errors_have_the_texts_of_the_decoder() {
    for (text, expected) in [
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("x:\n  a: b: c", "yaml: line 2: mapping values are not allowed in this context"),
        ("a:\n\t- 1", "yaml: line 2: found character that cannot start any token"),
        ("a: [1", "yaml: line 1: did not find expected ',' or ']'"),
        ("a: \"x", "yaml: found unexpected end of stream"),
        ("a: b\nc", "yaml: line 3: could not find expected ':'"),
        ("%YAML 1.2\n---\na: 1", "yaml: found incompatible YAML document"),
        ("a: .inf", "json: unsupported value: +Inf"),
        ("a: \u{7}", "yaml: control characters are not allowed"),
    ] {
        assert_eq!(yaml_json(text), expected, "{text:?}");
    }
}

#[test]
fn a_key_that_comes_twice_is_an_error_in_policies_only() {
    let text = "spec:\n  a: 1\n  b:\n    c: 1\n  background: true\n  background: false\n";
    assert_eq!(
        yaml::parse(text, Duplicates::LastWins).unwrap().at(&["spec", "background"]).unwrap().as_bool(),
        Some(false)
    );
    assert_eq!(
        yaml::parse(text, Duplicates::Error).unwrap_err().to_string(),
        "yaml: unmarshal errors:\n  line 6: key \"background\" already set in map"
    );
}

#[test]
fn deep_documents_are_refused_on_a_small_stack_and_allowed_ones_fit_it() {
    let work = || {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(yaml_json(&deep(MAX_DEPTH + 1)).contains("exceeded max depth"));
        assert!(yaml_json(&"- ".repeat(100_000)).contains("exceeded max depth"));
        let mut chain = "a0: &a0 []\n".to_string();
        for i in 1..2 * MAX_DEPTH {
            chain.push_str(&format!("a{i}: &a{i} [*a{}]\n", i - 1));
        }
        assert!(yaml_json(&chain).contains("exceeded max depth"));
        let value = yaml_value(&deep(MAX_DEPTH)).unwrap();
        assert!(to_string(&value, Style::Object).contains("[]"));
        assert!(print::json(&value.with_float_numbers()).len() > MAX_DEPTH);
        assert!(json::parse(&deep(100_000)).is_err());
        drop(value);
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn a_literal_block_may_end_with_the_file() {
    assert_eq!(yaml_json("a: |\n  x\n  y"), r#"{"a":"x\ny"}"#);
    assert_eq!(yaml_json("a: |+\n  x\n\n"), r#"{"a":"x\n\n"}"#);
    assert_eq!(yaml_json("a: >-\n  x\n  y\n\n  z"), r#"{"a":"x y\nz"}"#);
    assert_eq!(yaml_json("a: |"), r#"{"a":""}"#);
}

#[test]
fn json_keeps_number_kinds_and_the_last_of_equal_keys() {
    let v = json::parse(r#"{"a": 1, "b": 1.0, "c": 18446744073709551615, "a": 2}"#).unwrap();
    assert!(matches!(v.get("a"), Some(Value::Int(2))));
    assert!(matches!(v.get("b"), Some(Value::Float(_))));
    assert!(matches!(v.get("c"), Some(Value::UInt(u64::MAX))));
    assert!(json::parse("{} x").is_err());
    assert!(v.strict_eq(&json::from_serde(json::to_serde(&v))));
}

#[test]
fn streams_are_cut_at_separator_lines() {
    let texts = |text| {
        split(text).unwrap().iter().map(|p: &Part<'_>| (p.line, p.text.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(texts("a: 1\n---\nb: 2\n"), [(1, "a: 1\n".to_string()), (3, "b: 2\n".to_string())]);
    assert_eq!(
        texts("---\na: 1\n--- # c\r\nb: 2"),
        [(1, "---\na: 1\n".to_string()), (4, "b: 2".to_string())]
    );
    assert_eq!(texts("# only\n\n---\n# comments\n"), []);
    assert_eq!(texts("a: 1\n---\n---\n---\nb: 2\n").len(), 3);
    assert_eq!(texts("\u{feff}a: 1\n")[0].1, "a: 1\n");
    assert_eq!(texts(""), []);
    assert_eq!(split("a: 1\n---x\n").unwrap_err(), SeparatorError { line: 2, text: "x".into() });
    let separator = split("a: 1\n---x\n").unwrap_err();
    assert_eq!(separator.to_string(), "invalid Yaml document separator: x");
    assert_eq!(utf8(b"a\nb\xff").unwrap_err().to_string(), "invalid UTF-8 at byte 3 (line 2)");
}

fn load(text: &str, float_numbers: bool) -> String {
    match resources("r.yaml", text, ResourceOptions { float_numbers }) {
        Ok(docs) => {
            docs.iter().map(|d| format!("{}:{}", d.line, print::json(&d.value))).collect::<Vec<_>>().join(" ")
        }
        Err(e) => e.to_string(),
    }
}

#[test]
fn resources_need_a_kind_and_a_version() {
    assert_eq!(load("apiVersion: v1\n", false), "Object 'Kind' is missing in 'apiVersion: v1\n'");
    assert_eq!(load("kind: Pod\n", false), "Object 'apiVersion' is missing in 'kind: Pod\n'");
    assert_eq!(load("---\n---\nkind: Pod\n", false), "Object 'Kind' is missing in '---\n'");
    assert_eq!(load("kind: Pod\napiVersion: a/b/c\n", false), "unexpected GroupVersion string: a/b/c");
    assert!(load("- a\n", false).starts_with("couldn't get version/kind"));
}

#[test]
fn resources_get_the_default_namespace_unless_their_kind_has_none() {
    let of = |api: &str, kind: &str| {
        load(&format!("{{apiVersion: {api}, kind: {kind}, metadata: {{name: x}}}}"), false)
    };
    assert!(of("v1", "Pod").contains(r#""namespace":"default""#));
    assert!(!of("v1", "Node").contains("default"));
    assert!(!of("rbac.authorization.k8s.io/v1", "ClusterRole").contains("default"));
    assert!(of("x.io/v1", "ClusterRole").contains("default"));
    assert!(of("kyverno.io/v1", "ClusterPolicy").contains("default"));
    assert!(load("{apiVersion: v1, kind: Pod}", false).contains(r#""namespace":"default""#));
    for metadata in ["x", "[a]", "~", "1"] {
        let text = format!("{{apiVersion: v1, kind: Pod, metadata: {metadata}}}");
        assert!(!load(&text, false).contains("default"), "{metadata}");
    }
}

#[test]
fn nulls_that_should_be_maps_of_text_become_empty_objects() {
    let text =
        "{apiVersion: v1, kind: Node, metadata: {labels: null, name: null}, spec: [{nodeSelector: ~}]}";
    assert_eq!(
        load(text, false),
        r#"1:{"apiVersion":"v1","kind":"Node","metadata":{"labels":{},"name":null},"spec":[{"nodeSelector":{}}]}"#
    );
}

#[test]
fn lists_are_expanded_into_their_items() {
    let text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Node, n: 1}\n- {apiVersion: v1, kind: Node}\n";
    assert_eq!(
        load(text, true),
        r#"1:{"apiVersion":"v1","kind":"Node","false":1} 1:{"apiVersion":"v1","kind":"Node"}"#.replace(
            "\"apiVersion\":\"v1\",\"kind\":\"Node\",\"false\":1",
            "\"apiVersion\":\"v1\",\"false\":1,\"kind\":\"Node\""
        )
    );
    assert!(
        load("{apiVersion: v1, kind: PodList, items: [{metadata: {name: x}}]}", false)
            .contains(r#""kind":"Pod""#)
    );
}

#[test]
fn numbers_become_doubles_where_the_options_say_so() {
    let docs = resources("r", "{apiVersion: v1, kind: Node, a: 5}", ResourceOptions { float_numbers: true })
        .unwrap();
    assert!(matches!(docs[0].value.get("a"), Some(Value::Float(_))));
}

#[test]
fn large_streams_keep_their_order() {
    let text: String =
        (0..5000).map(|i| format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: p{i}\n---\n")).collect();
    let docs = resources("r", &text, ResourceOptions::default()).unwrap();
    assert_eq!(docs.len(), 5000);
    assert!(docs.iter().enumerate().all(|(i, d)| d.value.text_at(&["metadata", "name"]) == format!("p{i}")));
    assert_eq!(docs[1].line, 6);
}

#[test]
fn a_bad_document_leaves_the_others_of_a_policy_file() {
    let parts = parse_stream("p.yaml", "a: 1\n---\na: [\n---\nb: 2\n", Duplicates::Error).unwrap();
    assert_eq!(parts.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(parts[1].as_ref().unwrap_err().line, 3);
}

#[test]
fn parts_of_a_document_are_found_in_its_text() {
    let text = "spec:\n  rules:\n  - name: é\n    'match': {any: [x, y], z: *a}\n  - name: two # c\n";
    let key = |k: &str| PathPart::Key(k.into());
    let path = [key("spec"), key("rules"), PathPart::Index(1), key("name")];
    assert_eq!(dotted(&path), "spec.rules[1].name");
    assert_eq!(locate(text, &path), Some(Position { line: 5, col: 11, len: 3 }));
    assert_eq!(locate_key(text, &path), Some(Position { line: 5, col: 5, len: 4 }));
    let any = [key("spec"), key("rules"), PathPart::Index(0), key("match"), key("any"), PathPart::Index(1)];
    assert_eq!(locate(text, &any), Some(Position { line: 4, col: 24, len: 1 }));
    assert_eq!(locate(text, &[key("spec"), key("nope")]), None);
    assert_eq!(
        locate("a: &x {b: 1}\nc: *x\n", &[key("c"), key("b")]),
        Some(Position { line: 2, col: 4, len: 2 })
    );
    assert_eq!(locate("{n: 5}", &[key("false")]), Some(Position { line: 1, col: 5, len: 1 }));
}

fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[ -~]{0,12}",
        "[a-c0-9:#'\"\\-?,\\[\\]{}&*!|>%@`~.\n\t\r \\\\é\u{2028}\u{85}]{0,10}",
        "([a-z]{1,9} ){8,30}",
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-1e300f64..1e300).prop_map(Value::Float),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::list),
            prop::collection::vec((text.clone(), inner), 0..5)
                .prop_map(|e| Value::Map(e.into_iter().map(|(k, v)| (k.into(), v)).collect::<Map>())),
        ]
    })
}

#[test]
fn a_key_that_looks_like_a_merge_is_printed_as_text() {
    let v = Value::Map([("<<".into(), Value::Null)].into_iter().collect::<Map>());
    for style in [Style::Report, Style::Object] {
        let text = to_string(&v, style);
        assert_eq!(text, "\"<<\": null\n");
        assert!(yaml_value(&text).unwrap().json_eq(&v));
    }
}

proptest! {
    #[test]
    fn what_is_printed_as_yaml_reads_back_the_same(v in values()) {
        for style in [Style::Report, Style::Object] {
            let text = to_string(&v, style);
            let back = yaml_value(&text);
            prop_assert!(back.as_ref().is_ok_and(|b| b.json_eq(&v)), "{text:?}\n{back:?}\n{v:?}");
        }
    }

    #[test]
    fn json_text_reads_the_same_as_yaml(v in values()) {
        let text = print::json(&v);
        prop_assert!(json::parse(&text).is_ok_and(|b| b.json_eq(&v)));
    }

    #[test]
    fn no_text_makes_the_parsers_panic(text in "[a-c0 \n\t\r:#'\"\\-?,\\[\\]{}&*!|>%@~.<\\\\xuUé\u{feff}\u{2028}\u{85}]{0,40}") {
        let _ = yaml::parse(&text, Duplicates::Error);
        let _ = yaml_value(&text);
        let _ = json::parse(&text);
        let _ = resources("r", &text, ResourceOptions::default());
        let _ = locate(&text, &[PathPart::Key("a".into()), PathPart::Index(0)]);
    }
}

#[test]
fn items_of_lists_are_located_on_their_own_in_every_form() {
    use super::locate::{Position, items};
    let path = [PathPart::Key("spec".into()), PathPart::Key("image".into())];
    let block = "kind: List\nmetadata: {items: [1]}\nitems:\n- kind: A\n  spec:\n    image: x\n- kind: B\n  spec:\n    image: yy\n";
    let found = |text: &str| items(text).iter().map(|i| i.locate(text, &path, false)).collect::<Vec<_>>();
    let at = |line, col, len| Some(Position { line, col, len });
    assert_eq!(found(block), [at(6, 12, 1), at(9, 12, 2)]);
    let indented = "items:\n  - spec: {image: x}\n  - spec:\n      image: y\nkind: List\n";
    assert_eq!(found(indented), [at(2, 19, 1), at(4, 14, 1)]);
    let json = "{\"kind\":\"List\",\"items\":[{\"spec\":{\"image\":\"x\"}},\n {\"spec\":{\"image\":\"y\"}}]}";
    assert_eq!(found(json), [at(1, 42, 3), at(2, 19, 3)]);
    assert!(found("kind: Pod\n").is_empty() && found("- a\n- b\n").is_empty());
}
