#![allow(clippy::unwrap_used)]

use super::apply;
use crate::operation::decode;
use ephor_document::yaml_value;
use ephor_value::print::json;

/// The document after a patch, or why it failed.
fn patched(document: &str, patch: &str) -> Result<String, String> {
    let document = yaml_value(document).unwrap();
    let patch = decode(patch).map_err(|e| e.to_string())?;
    apply(&document, &patch.operations).map(|v| json(&v)).map_err(|e| e.to_string())
}

#[test]
fn adding_creates_the_containers_above_and_pads_lists() {
    assert_eq!(patched("{}", "- {op: add, path: /a/b, value: 1}").unwrap(), r#"{"a":{"b":1}}"#);
    assert_eq!(patched("{}", "- {op: add, path: /a/2, value: 1}").unwrap(), r#"{"a":[null,null,1]}"#);
    assert_eq!(patched("{}", "- {op: add, path: /a/-, value: 1}").unwrap(), r#"{"a":[1]}"#);
    assert_eq!(
        patched("{c: [x]}", "- {op: add, path: /c/3/name, value: q}").unwrap(),
        r#"{"c":["x",null,null,{"name":"q"}]}"#
    );
    assert_eq!(
        patched("{}", "- {op: add, path: /x/-/name, value: q}").unwrap_err(),
        r#"add operation does not apply: doc is missing path: "/x/-/name": missing value"#
    );
}

#[test]
fn lists_are_not_padded_without_end() {
    assert!(patched("{}", "- {op: add, path: /a/2000000000, value: 1}").is_err());
    assert!(patched("{a: []}", "- {op: add, path: /a/2000000000/b, value: 1}").is_err());
}

#[test]
fn negative_indices_count_from_the_end() {
    let add = |i: i32| patched("{l: [a, b]}", &format!("- {{op: add, path: /l/{i}, value: x}}"));
    assert_eq!(add(-1).unwrap(), r#"{"l":["a","b","x"]}"#);
    assert_eq!(add(-3).unwrap(), r#"{"l":["x","a","b"]}"#);
    assert!(add(-4).unwrap_err().contains("Unable to access invalid index: -4"));
    assert_eq!(patched("{l: [a, b]}", "- {op: remove, path: /l/-1}").unwrap(), r#"{"l":["a"]}"#);
}

#[test]
fn removing_what_is_not_there_is_no_failure() {
    assert_eq!(patched("{a: 1}", "- {op: remove, path: /b/c}").unwrap(), r#"{"a":1}"#);
    assert_eq!(patched("{l: [a]}", "- {op: remove, path: /l/7}").unwrap(), r#"{"l":["a"]}"#);
    assert!(patched("{l: [a]}", "- {op: remove, path: /l/-}").unwrap_err().contains("invalid syntax"));
}

#[test]
fn tokens_are_unescaped_in_one_pass() {
    assert_eq!(patched("{a/b: 1}", "- {op: replace, path: /a~1b, value: 2}").unwrap(), r#"{"a/b":2}"#);
    assert_eq!(patched("{a~1b: 1}", "- {op: replace, path: /a~01b, value: 2}").unwrap(), r#"{"a~1b":2}"#);
}

#[test]
fn an_empty_token_writes_the_empty_key_and_leads_nowhere() {
    assert_eq!(patched("{}", "- {op: add, path: /, value: 1}").unwrap(), r#"{"":1}"#);
    assert!(
        patched("{a: {}}", "- {op: replace, path: /a//z, value: 1}").unwrap_err().contains("missing path")
    );
}

#[test]
fn a_failed_patch_has_no_effect() {
    let failed = patched(
        "{a: 1}",
        "[{\"op\":\"remove\",\"path\":\"/a\"},{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]",
    );
    assert_eq!(failed.unwrap_err(), "testing value /a failed: test failed");
}

#[test]
fn a_missing_key_passes_a_test_for_null() {
    assert_eq!(patched("{a: 1}", "- {op: test, path: /b}").unwrap(), r#"{"a":1}"#);
    assert!(patched("{a: 1}", "- {op: test, path: /b/c}").unwrap_err().contains("is missing path"));
}

#[test]
fn errors_have_the_texts_of_the_library() {
    let value = "value: 1";
    for (document, operation, text) in [
        (
            "{}",
            "op: move, from: '', path: /a",
            "unable to move entire document to another path: invalid state detected",
        ),
        (
            "{}",
            "op: move, from: /x/y, path: /a",
            "move operation does not apply: doc is missing from path: /x/y: missing value",
        ),
        (
            "{a: 1}",
            "op: move, from: /a, path: /x/y",
            "move operation does not apply: doc is missing destination path: /x/y: missing value",
        ),
        (
            "{}",
            "op: move, from: /a, path: /b",
            "error in move for path: 'a': unable to get nonexistent key: a: missing value",
        ),
        (
            "{}",
            "op: copy, from: /x/y, path: /a",
            "copy operation does not apply: doc is missing from path: \"/x/y\": missing value",
        ),
        (
            "{a: 1}",
            "op: copy, from: /a, path: /x/y",
            "copy operation does not apply: doc is missing destination path: /x/y: missing value",
        ),
        (
            "{}",
            "op: copy, from: /a, path: /b",
            "error in copy for from: '/a': unable to get nonexistent key: a: missing value",
        ),
        (
            "{a: 1, l: []}",
            "op: copy, from: /a, path: /l/9",
            "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced",
        ),
        (
            "{}",
            "op: replace, path: /x/y, VALUE",
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        (
            "{}",
            "op: replace, path: /x, VALUE",
            "replace operation does not apply: doc is missing key: /x: missing value",
        ),
        (
            "{}",
            "op: replace, path: '', VALUE",
            "replace operation value must be object or array: invalid state detected",
        ),
        (
            "{}",
            "op: test, path: /x/y, VALUE",
            "test operation does not apply: is missing path: /x/y: missing value",
        ),
        (
            "{l: []}",
            "op: test, path: /l/x, VALUE",
            "error in test for path: '/l/x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            "{l: []}",
            "op: add, path: /l/x, VALUE",
            "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            "{l: []}",
            "op: add, path: /l/9, VALUE",
            "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        ("{a: 1}", "op: add, path: /a/b/c, VALUE", "invalid state detected"),
        (
            "{}",
            "op: add, path: /a/-2/c, VALUE",
            "Unable to ensure path for negative index other than -1: -2: invalid index referenced",
        ),
        (
            "{l: []}",
            "op: remove, path: /l/x",
            "error in remove for path: '/l/x': strconv.Atoi: parsing \"x\": invalid syntax",
        ),
    ] {
        let patch = format!("- {{{}}}", operation.replace("VALUE", value));
        assert_eq!(patched(document, &patch).unwrap_err(), text, "{operation}");
    }
}

#[test]
fn a_test_of_an_api_server_whose_path_leads_nowhere_is_a_failure() {
    let of = |path: &str| {
        let document = yaml_value("{labels: {a: b}, list: [x]}").unwrap();
        let patch = decode(&format!("- {{op: test, path: {path}, value: b}}")).unwrap();
        super::apply_exactly(&document, patch.operations.first().unwrap()).map_err(|e| e.to_string())
    };
    assert!(of("/labels/a").unwrap().is_some());
    assert_eq!(of("/labels/c").unwrap(), None);
    assert_eq!(
        of("/other/c").unwrap_err(),
        "test operation does not apply: is missing path: /other/c: missing value"
    );
    assert!(of("/list/3").unwrap_err().starts_with("error in test for path: '/list/3'"));
}

/// The document after an operation of an API server's mutation; `None` where a test fails.
fn exactly(document: &str, action: crate::operation::Action, path: &str) -> Result<Option<String>, String> {
    let operation = crate::operation::Operation { path: path.into(), action };
    super::apply_exactly(&yaml_value(document).unwrap(), &operation)
        .map(|document| document.map(|document| json(&document)))
        .map_err(|e| e.to_string())
}

#[test]
fn tests_of_mutations_take_null_for_nothing_and_an_empty_key_for_a_key() {
    use crate::operation::Action::{Copy, Test};
    let passes = |value, path| exactly("{n: null, m: {'': e}}", Test(value), path).unwrap().is_some();
    assert!(!passes(Some(ephor_value::Value::Null), "/n"));
    assert!(passes(None, "/n"));
    assert!(passes(None, "/nope"));
    assert!(passes(Some("e".into()), "/m/"));
    let copied = exactly("{m: {'': e}}", Copy("/m/".into()), "/z").unwrap();
    assert_eq!(copied.unwrap(), r#"{"m":{"":"e"},"z":"e"}"#);
    let in_list = exactly("{l: [a]}", Test(Some("a".into())), "/l/").unwrap_err();
    assert_eq!(in_list, "error in test for path: '/l/': strconv.Atoi: parsing \"\": invalid syntax");
}

#[test]
fn mutations_add_and_remove_no_whole_document() {
    use crate::operation::Action::{Add, Copy, Remove, Replace};
    let missing =
        |name: &str| format!("{name} operation does not apply: doc is missing path: \"\": missing value");
    let map = || yaml_value("{a: b}").unwrap();
    assert_eq!(exactly("{}", Add(map()), "").unwrap_err(), missing("add"));
    assert_eq!(exactly("{}", Remove, "").unwrap_err(), missing("remove"));
    assert_eq!(exactly("{}", Replace(map()), "").unwrap().unwrap(), r#"{"a":"b"}"#);
    let scalar = exactly("{}", Replace("a".into()), "").unwrap_err();
    assert_eq!(scalar, "replace operation value must be object or array: %!w(<nil>)");
    let copy = exactly("{}", Copy("".into()), "/a").unwrap_err();
    assert_eq!(copy, "copy operation failed to decode from: operation, missing from field: missing value");
    let onto = exactly("{a: b}", Copy("/a".into()), "").unwrap_err();
    assert_eq!(onto, "copy operation does not apply: doc is missing destination path: : missing value");
}
