//! `ephor cel` as a program: values, traces, issues and exit codes.
#![allow(clippy::expect_used)]

use std::process::Command;

use crate::common::{Files, Ran};

const OBJECT: &str = "spec: {replicas: 3, ports: [{p: 80}, {p: 443}]}\n";

fn cel(args: &[&str]) -> Ran {
    let files = Files::new(&[("in.yaml", OBJECT)]);
    let output = Command::new(env!("CARGO_BIN_EXE_ephor"))
        .arg("cel")
        .args(args)
        .current_dir(files.dir.path())
        .output()
        .expect("the program runs");
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_value_is_printed_in_the_notation_of_the_language() {
    let ran = cel(&["eval", "-i", "in.yaml", "object.spec.ports.map(x, dyn(x.p) * 1)"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "[80, 443]\n"), "{}", ran.err);
    let ran = cel(&["eval", "--env", "bare", "-s", "x=[1, 2]", "{'a': x, 'b': [1u, 2.0]}"]);
    assert_eq!(ran.out, "{\"a\": [1, 2], \"b\": [1u, 2.0]}\n");
}

#[test]
fn a_trace_shows_the_parts_and_the_rounds_of_loops() {
    let ran = cel(&[
        "eval",
        "-t",
        "-i",
        "in.yaml",
        "(object.spec.replicas + 1) * 2 > 3 && object.spec.ports.all(x, x.p > 80)",
    ]);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines.first().copied(),
        Some("(object.spec.replicas + 1) * 2 > 3 && object.spec.ports.all(x, x.p > 80) = false")
    );
    assert!(lines.contains(&"      object.spec.replicas + 1 = 4"), "{}", ran.out);
    assert!(lines.contains(&"    x = {\"p\": 443}"), "{}", ran.out);
    assert_eq!(lines.last().copied(), Some("        x.p = 443"));
}

#[test]
fn facts_are_type_cost_and_estimate() {
    let ran = cel(&["eval", "-f", "-i", "in.yaml", "object.spec.replicas > 1"]);
    assert_eq!(ran.out, "true\ntype: bool\ncost: 4\nestimated cost: 2 to 2\n");
}

#[test]
fn an_expression_without_a_value_fails_with_the_fault() {
    let ran = cel(&["eval", "-i", "in.yaml", "object.spec.nope"]);
    let place = "  ┌ expression:1:13\n  │ object.spec.nope\n  │             ^\n";
    assert_eq!((ran.code, ran.err), (Some(1), format!("Error: no such key: nope\n{place}")));
    let ran = cel(&["eval", "-i", "in.yaml", "object.spec.ports.all(x, x.q > 1 || object.spec.prots == 2)"]);
    assert!(ran.err.starts_with("Error: no such key: "), "{}", ran.err);
    let ran = cel(&["eval", "-i", "in.yaml", "1 < object.spec.replcas"]);
    assert!(ran.err.ends_with("^ did you mean `replicas`?\n"), "{}", ran.err);
}

#[test]
fn issues_have_a_line_a_column_and_a_caret() {
    let ran = cel(&["check", "object.spec.replicas +", "1 + 'a'", "object"]);
    assert_eq!(ran.code, Some(1));
    let places: Vec<&str> = ran.err.lines().filter_map(|l| l.split(" Syntax").next()).collect();
    assert!(
        ran.err.contains("ERROR: <input>:1:23: Syntax error: mismatched input '<EOF>' expecting"),
        "{places:?}"
    );
    let other = "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^";
    assert!(ran.err.contains(other), "{}", ran.err);
    assert_eq!(ran.out, "type: dyn\nestimated cost: 1 to 1\n");
}

#[test]
fn hostile_expressions_end_with_an_error() {
    let nested = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
    let chain = vec!["1"; 40_000].join("+");
    let long = format!("'{}'", "a".repeat(110_000));
    let endless = "[1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, [1,2,3,4,5,6,7,8,9,10].map(c, [1,2,3,4,5,6,7,8,9,10].map(d, [1,2,3,4,5,6,7,8,9,10].map(e, a+b+c+d+e)))))";
    let broken = "(".repeat(5_000);
    for (source, words) in [
        (nested.as_str(), "recursion limit exceeded"),
        (chain.as_str(), "max recursion depth exceeded"),
        (long.as_str(), "expression code point size exceeds limit"),
        (endless, "cost limit exceeded"),
        (broken.as_str(), "expression recursion limit exceeded: 250"),
        ("'aaaaaaaaaaaaaaaa'.matches('(a+)+(')", "invalid matches argument"),
    ] {
        let ran = cel(&["eval", source]);
        assert_eq!(ran.code, Some(1), "{words}");
        assert!(ran.err.contains(words), "{words}: {}", ran.err.chars().take(300).collect::<String>());
    }
}

#[test]
fn a_prompt_says_that_its_document_leaves_no_line_of_standard_input() {
    let files = Files::new(&[("in.yaml", OBJECT)]);
    for document in ["", OBJECT] {
        for arguments in [&["cel", "repl", "-"][..], &["cel", "repl", "-i", "-"]] {
            let ran = files.run_on(document, arguments);
            assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{arguments:?}");
            let why = "Error: an expression is required: `-` reads all of standard input as the document, and no line is left\n";
            assert!(ran.err.starts_with(why), "{}", ran.err);
        }
    }
    let ran = files.run_on("object.spec.replicas\n", &["cel", "repl", "in.yaml"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "3\n"), "{}", ran.err);
}
