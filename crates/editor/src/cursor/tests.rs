use ephor_value::place::dotted;

use super::*;

/// The cursor where `|` with two bars stands in a text.
fn at(text: &str) -> Cursor {
    let offset = text.find("‖").unwrap();
    cursor(&text.replace('‖', ""), offset)
}

fn path(text: &str) -> String {
    let found = at(text);
    let what = if found.value.is_some() { "value" } else { "key" };
    format!("{what} {}", dotted(&found.path))
}

#[test]
fn a_key_is_in_the_mapping_of_its_column() {
    let text =
        "spec:\n  rules:\n  - name: a\n    match:\n      any:\n      - resources:\n          kinds: [Pod]\n";
    for (typed, expected) in [
        ("‖", "key "),
        ("  ‖", "key spec"),
        ("  - ‖", "key spec.rules[1]"),
        ("    val‖", "key spec.rules[0]"),
        ("      ‖", "key spec.rules[0].match"),
        ("      - ‖", "key spec.rules[0].match.any[1]"),
        ("        sub‖", "key spec.rules[0].match.any[0]"),
        ("    validate:\n      ‖", "key spec.rules[0].validate"),
        ("    validate:\n    ‖", "key spec.rules[0]"),
    ] {
        assert_eq!(path(&format!("{text}{typed}")), expected, "{typed:?}");
    }
}

#[test]
fn a_value_is_behind_its_colon() {
    let found = at("a:\n- b: \"x y‖\"\n");
    assert_eq!(dotted(&found.path), "a[0].b");
    let value = found.value.unwrap();
    assert_eq!((value.before.as_str(), value.style), ("x y", Style::Double));
    assert_eq!(path("a: ‖"), "value a");
    assert_eq!(path("http://x: y: ‖z"), "value http://x");
    assert_eq!(path("'a b': ‖z"), "value a b");
    assert_eq!(path("a‖: z"), "key ");
}

#[test]
fn lists_and_mappings_in_flow_style_may_be_open() {
    assert_eq!(path("a: {b: [x, y‖"), "value a.b[1]");
    assert_eq!(path("a: {b: [x], c‖"), "key a");
    assert_eq!(path("a: {b: {c: ‖}}"), "value a.b.c");
    assert_eq!(path("a: {b: 'x, ‖"), "value a.b");
    assert_eq!(path("a: [{b: c},\n  {d: ‖"), "value a[1].d");
    assert_eq!(path("a: {b: c}\nd: ‖"), "value d");
}

#[test]
fn a_block_is_one_value() {
    let text = "v:\n- expression: >-\n    a.b ==\n      c.‖\n  message: x\n";
    let found = at(text);
    assert_eq!(dotted(&found.path), "v[0].expression");
    let value = found.value.unwrap();
    assert_eq!((value.before.as_str(), value.style), ("a.b ==\n  c.", Style::Block));
    assert_eq!(path("v: |\n  a: b\nc: ‖"), "value c");
    assert_eq!(path("v: |\n  a: ‖"), "value v");
}

#[test]
fn documents_are_apart() {
    let found = at("a: b\n---\nc:\n  ‖d: e\n---\nf: g\n");
    assert_eq!(dotted(&found.path), "c");
    assert_eq!(found.document, Span { start: 9, end: 19 });
}

#[test]
fn every_byte_of_any_text_has_a_cursor() {
    let texts =
        ["a: [\"x\n- - b:\n|\n\u{feff}'", "- {a: 'é\n  - ]}: >\n", "---\n---x\n\r\n- \"", "::: -\n -\t-"];
    for text in texts {
        for offset in 0..=text.len() + 1 {
            let found = cursor(text, offset);
            assert!(found.word.start <= found.word.end && found.word.end <= text.len(), "{text:?} {offset}");
        }
    }
}

#[test]
fn a_cursor_in_an_open_collection_of_many_lines_is_found_in_one_walk() {
    // Reading all again for each line would take minutes.
    let text = format!("a: {{b: [\n{}", "  x: {y: z},\n".repeat(100_000));
    let found = cursor(&text, text.len());
    assert_eq!(dotted(&found.path), "a.b[100000]");
}

#[test]
fn what_is_nested_without_end_has_a_path_that_ends() {
    for text in ["[".repeat(100_000), "- ".repeat(100_000), "{a: ".repeat(100_000)] {
        assert!(cursor(&text, text.len()).path.len() <= 1_000);
    }
}
