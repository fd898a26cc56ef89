//! `ephor jp` as a program: output, exit codes and texts recorded from Kyverno 1.19.1's commands.
#![allow(clippy::expect_used)]

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{Files, Ran};

const OBJECT: &str = r#"{"a": {"b": [3, 1, 2], "s": "x<y", "e": ""}, "n": 1.0}"#;

fn files() -> Files {
    Files::new(&[("in.json", OBJECT), ("q1", "a.b\n"), ("q2", "n"), ("null.json", "null")])
}

/// Runs `ephor jp` with a text as its standard input.
fn jp(files: &Files, args: &[&str], input: &str) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ephor"))
        .arg("jp")
        .args(args)
        .current_dir(files.dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that reads nothing closes the pipe.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    Ran {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Standard output of a run that ends well.
fn out(args: &[&str], input: &str) -> String {
    let ran = jp(&files(), args, input);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{args:?}");
    ran.out
}

/// The first line on standard error of a run that fails; what was printed before it.
fn failure(args: &[&str], input: &str) -> (String, String) {
    let ran = jp(&files(), args, input);
    assert_eq!(ran.code, Some(1), "{args:?}");
    assert!(ran.ended_well(), "{}", ran.err);
    (ran.err.lines().next().unwrap_or_default().to_string(), ran.out)
}

#[test]
fn a_query_prints_its_text_and_indented_json() {
    assert_eq!(out(&["query", "-i", "in.json", "a.b"], ""), "# a.b\n[\n  3,\n  1,\n  2\n]\n");
    assert_eq!(out(&["query", "-i", "in.json", " n "], ""), "#  n \n1\n");
}

#[test]
fn compact_results_have_sorted_keys_and_escaped_brackets() {
    let shown = out(&["query", "-c", "-i", "in.json", "a"], "");
    assert_eq!(shown, "# a\n{\"b\":[3,1,2],\"e\":\"\",\"s\":\"x\\u003cy\"}\n");
}

#[test]
fn unquoted_texts_are_raw_and_other_results_json() {
    let shown = out(&["query", "--unquoted=true", "-c", "--input=in.json", "a.s", "a.e", "n"], "");
    assert_eq!(shown, "# a.s\nx<y\n# a.e\n\n# n\n1\n");
}

#[test]
fn expressions_of_arguments_come_before_those_of_files() {
    let shown = out(&["query", "-c", "-i", "in.json", "-q", "q1", "a.s", "-q", "q2,q1"], "");
    assert_eq!(shown, "# a.s\n\"x\\u003cy\"\n# a.b\n\n[3,1,2]\n# n\n1\n# a.b\n\n[3,1,2]\n");
}

#[test]
fn what_is_missing_is_read_from_standard_input() {
    let head = "Reading from terminal input.\n";
    let shown = out(&["query", "-i", "in.json"], "n\n");
    assert_eq!(shown, format!("{head}Enter a jmespath expression and hit Ctrl+D.\n# n\n\n1\n"));
    let shown = out(&["query", "x"], "x: 12345678901234567890\n");
    assert_eq!(shown, format!("{head}Enter input object and hit Ctrl+D.\n# x\n12345678901234567000\n"));
    let shown = out(&["query", "-i", "null.json", "x"], "x: 3");
    assert_eq!(shown, format!("{head}Enter input object and hit Ctrl+D.\n# x\n3\n"));
    let (error, _) = failure(&["query"], "");
    assert_eq!(error, "Error: at least one query or input object is required");
}

#[test]
fn only_the_first_document_is_read_and_a_note_says_so() {
    let ran = jp(&files(), &["query", "-c", "x"], "x: 1\n---\nx: 2\n");
    assert!(ran.out.ends_with("# x\n1\n"), "{}", ran.out);
    assert_eq!(ran.err, "warning: the input has 2 documents, expressions are evaluated on the first\n");
}

#[test]
fn the_first_failing_query_ends_the_run() {
    let (error, before) = failure(&["query", "-i", "in.json", "n", "zz", "n"], "");
    assert_eq!(error, "Error: error evaluating JMESPath expression: Unknown key \"zz\" in path");
    assert_eq!(before, "# n\n1\n");
    let (error, before) = failure(&["query", "-i", "in.json", "to_number('inf')"], "");
    assert_eq!(error, "Error: error marshalling result to JSON: json: unsupported value: +Inf");
    assert_eq!(before, "# to_number('inf')\n");
}

#[test]
fn errors_have_the_words_of_kyverno() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["query", "-i", "in.json", "a["],
            "failed to compile JMESPath: a[, error: SyntaxError: Expected tStar, received: tEOF",
        ),
        (
            &["query", "-i", "in.json", ""],
            "failed to compile JMESPath: , error: SyntaxError: Incomplete expression",
        ),
        (&["query", "-i", "nofile", "n"], "failed open file nofile: open nofile: no such file or directory"),
        (
            &["query", "-i", "nofile", "-q", "nofile2"],
            "failed open file nofile2: open nofile2: no such file or directory",
        ),
        (&["query", "-i", ".", "n"], "failed to read file .: read .: is a directory"),
        (&["query", "-i", "null.json"], "at least one query or input object is required"),
        (&["query", "--input"], "flag needs an argument: --input"),
        (&["query", "-x"], "unknown shorthand flag: 'x' in -x"),
        (
            &["query", "-i", "in.json", "--", "-c"],
            "failed to compile JMESPath: -c, error: SyntaxError: Invalid token: tNumber",
        ),
        (&["parse", "-f", "nofile"], "failed open file nofile: open nofile: no such file or directory"),
        (&["bogus"], "unknown command \"bogus\" for \"ephor jp\""),
    ];
    for (args, text) in cases {
        assert_eq!(failure(args, "").0, format!("Error: {text}"));
    }
    let (error, _) = failure(&["query", "x"], "{\"x\": [1,");
    assert_eq!(
        error,
        "Error: error parsing input json: error converting YAML to JSON: yaml: line 1: did not find expected node content"
    );
}

#[test]
fn errors_point_at_the_place_in_the_expression() {
    let ran = jp(&files(), &["query", "-i", "in.json", "a.b | lenght(@)"], "");
    let text = "Error: error evaluating JMESPath expression: unknown function: lenght\n  ┌ expression:1:7\n  │ a.b | lenght(@)\n  │       ^ did you mean `length`?\n";
    assert_eq!(ran.err, text);
    let ran = jp(&files(), &["query", "-i", "in.json", "a ||\n  ((b)"], "");
    assert!(ran.err.ends_with("  ┌ expression:2:7\n  │   ((b)\n  │       ^\n"), "{}", ran.err);
}

#[test]
fn a_list_that_is_sorted_in_one_query_is_sorted_in_the_next() {
    let shown = out(&["query", "-c", "-i", "in.json", "a.b", "sort_by(a.b, &@)", "a.b"], "");
    assert_eq!(shown, "# a.b\n[3,1,2]\n# sort_by(a.b, &@)\n[1,2,3]\n# a.b\n[1,2,3]\n");
}

#[test]
fn a_tree_is_printed_as_the_reference_prints_it() {
    let tree = "# a.b\nASTSubexpression {\n  children: {\n    ASTField {\n      value: \"a\"\n    }\n    ASTField {\n      value: \"b\"\n    }\n}\n\n";
    assert_eq!(out(&["parse", "a.b"], ""), tree);
    let prompt = "Reading from terminal input.\nEnter a jmespath expression and hit Ctrl+D.\n";
    assert_eq!(out(&["parse"], "a.b"), format!("{prompt}{tree}"));
    assert_eq!(out(&["parse", "-f", "q1,q2"], "").matches("\n# ").count(), 1);
}

#[test]
fn a_text_that_is_no_expression_gets_a_caret_under_the_byte() {
    for (text, shown) in [
        ("c[", "SyntaxError: Expected tStar, received: tEOF\nc[\n  ^\n"),
        ("a.b[\n0", "SyntaxError: Expected tRbracket, received: tEOF\na.b[\n0\n      ^\n"),
        ("é é", "SyntaxError: Unknown char: '\\u00e9'\né é\n ^\n"),
        ("", "SyntaxError: Incomplete expression\n\n^\n"),
        ("\"a\\q\"", "invalid character 'q' in string escape code\n"),
    ] {
        let ran = jp(&files(), &["parse", text], "");
        assert_eq!((ran.code, ran.err), (Some(1), format!("Error: {shown}")));
    }
}

#[test]
fn the_nodes_of_the_engine_are_shown_before_and_after_optimisation() {
    let shown = out(&["parse", "--ir", "a.b || c"], "");
    assert!(
        shown.starts_with("# a.b || c\nbefore:\n  or(") || shown.contains("unchanged:\n  or("),
        "{shown}"
    );
    let shown = out(&["parse", "--ir", "add(`1`, `2`)"], "");
    assert_eq!(shown, "# add(`1`, `2`)\nbefore:\n  call[add](1.0, 2.0)\nafter:\n  3.0\n\n");
}

#[test]
fn functions_are_listed_by_signature_found_by_words_and_shown_with_examples() {
    let list = out(&["function"], "");
    assert_eq!(list.matches("\nName: ").count() + 1, 51);
    assert!(list.starts_with("Name: add\n  Signature: add(any, any) any\n  Note:      "), "{list}");
    assert!(!list.contains("Example"));
    assert!(out(&["function", "--all"], "").contains("Name: length\n"));
    let one = out(&["function", "truncate"], "");
    assert!(one.starts_with("Name: truncate\n  Signature: truncate(string, number) string\n"), "{one}");
    assert!(one.ends_with("  Example:   truncate('deployment', `6`) => \"deploy\"\n\n"), "{one}");
    assert!(out(&["function", "--search", "cron"], "").starts_with("Name: time_to_cron\n"));
    let ran = jp(&files(), &["function", "truncat"], "");
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    assert_eq!(ran.err, "warning: no function `truncat`; did you mean `truncate`?\n");
}

#[test]
fn the_prompt_answers_lines_of_a_pipe_and_keeps_a_history() {
    let files = files();
    let lines = "n\n:compact\na.b\na[\nmissing\n:quit\nn\n";
    let ran = jp(&files, &["repl", "in.json", "--history", "state/history"], lines);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "1\ncompact: on\n[3,1,2]\n"));
    assert!(
        ran.err.contains("SyntaxError: Expected tStar, received: tEOF\n  ┌ expression:1:3\n"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("Unknown key \"missing\" in path\n"), "{}", ran.err);
    let history = std::fs::read_to_string(files.path("state/history")).expect("a history");
    assert!(history.contains("a.b\n"), "{history}");
    assert_eq!(jp(&files, &["repl", "nofile"], "").code, Some(1));
}

/// Recorded from Kyverno with the same zone.
#[test]
fn times_know_the_zone_of_the_machine() {
    if !std::path::Path::new("/usr/share/zoneinfo/Europe/Berlin").exists() {
        println!("skipped: no time zone database");
        return;
    }
    let cases = [
        ("time_parse('2006-01-02 MST', '2024-07-01 CEST')", "\"2024-07-01T00:00:00+02:00\""),
        ("time_parse('2006-01-02 MST', '2024-12-01 CEST')", "\"2024-11-30T23:00:00+01:00\""),
        ("time_parse('2006-01-02 MST', '1900-07-01 LMT')", "\"1900-07-01T00:06:32+01:00\""),
        ("time_parse('2006-01-02 MST', '2024-07-01 IST')", "\"2024-07-01T00:00:00Z\""),
        ("regex_match('[+]0[12]:00$', time_now())", "true"),
    ];
    for (expression, result) in cases {
        let files = files();
        let output = Command::new(env!("CARGO_BIN_EXE_ephor"))
            .args(["jp", "query", "-i", "in.json", expression])
            .current_dir(files.dir.path())
            .env("TZ", "Europe/Berlin")
            .output()
            .expect("the program starts");
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("# {expression}\n{result}\n"));
    }
}

#[test]
fn every_command_has_help() {
    for args in
        [&["--help"][..], &[], &["query", "--help"], &["parse", "-h"], &["function", "-h"], &["repl", "-h"]]
    {
        assert!(out(args, "").contains("Usage:\n  ephor jp"), "{args:?}");
    }
}
