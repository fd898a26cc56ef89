//! Files that commands write: none is lost without a word.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use regex::Regex;

use crate::common::{Files, POLICY, RESOURCES};

/// Files that write by themselves, and why.
const WRITERS: &[(&str, &str)] = &[
    ("src/cli/apply/render/changes.rs", "`-o` appends each object, as Kyverno does"),
    ("src/cli/create/from_run.rs", "a temporary file that is read at once"),
    ("src/cli/lsp/show.rs", "a temporary file with a text that an editor opens"),
    ("src/cli/outputs.rs", "every other file of the commands is written through it"),
    ("src/cli/prompt.rs", "the folder of the history of prompts"),
];

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => sources(&path, out),
            false => out.push(path),
        }
    }
}

#[test]
fn commands_write_files_in_one_place_which_refuses_two_of_one_path() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    sources(&root.join("src"), &mut all);
    let tests = Regex::new(r"(?s)#\[cfg\(test\)\].*\z").unwrap();
    let writes =
        Regex::new(r"fs::(write|rename|copy|create_dir)|File::create|OpenOptions|remove_file").unwrap();
    let mut found = Vec::new();
    for path in all {
        let text = std::fs::read_to_string(&path).unwrap();
        if writes.is_match(&tests.replace(&text, "")) {
            found.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
    found.sort();
    let known: Vec<&str> = WRITERS.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, known, "write files through `cli::outputs`, or list the file here with its reason");
}

const SECOND: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: two}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Secret]}}]}\n    validate: {message: no, deny: {}}\n";

fn names(files: &Files, folder: &str) -> Vec<String> {
    let mut all = Vec::new();
    if files.path(folder).exists() {
        sources(&files.path(folder), &mut all);
    }
    let mut names: Vec<String> =
        all.iter().map(|path| path.strip_prefix(files.path(folder)).unwrap().display().to_string()).collect();
    names.sort();
    names
}

/// The files that hold policies, tests aside.
fn policies(files: &Files, folder: &str) -> Vec<String> {
    names(files, folder).into_iter().filter(|name| !name.contains(".kyverno-test")).collect()
}

#[test]
fn files_of_one_name_migrate_below_the_folder_that_they_have_in_common() {
    let files = Files::new(&[("a/policy.yaml", POLICY), ("b/policy.yaml", SECOND), ("r.yaml", RESOURCES)]);
    let ran = files.run(&["migrate", "a/policy.yaml", "b/policy.yaml", "--out", "new"]);
    assert!(ran.err.is_empty(), "{}", ran.err);
    assert_eq!(policies(&files, "new"), ["a/policy.yaml", "b/policy.yaml"]);
    let applied = files.run(&["apply", "new", "-r", "r.yaml"]);
    assert!(applied.out.contains("fail: 1"), "{}", applied.out);
}

#[test]
fn folders_of_one_name_migrate_below_the_folder_that_they_have_in_common() {
    let files = Files::new(&[("x/policies/p.yaml", POLICY), ("y/policies/p.yaml", SECOND)]);
    files.run(&["migrate", "x/policies", "y/policies", "--out", "new"]);
    assert_eq!(policies(&files, "new"), ["x/policies/p.yaml", "y/policies/p.yaml"]);
}

#[test]
fn a_file_that_two_arguments_name_migrates_once() {
    let files = Files::new(&[("a/p.yaml", POLICY)]);
    let ran = files.run(&["migrate", "a", "a/p.yaml", "./a/p.yaml", "--out", "new"]);
    assert_eq!(policies(&files, "new").len(), 1, "{}", ran.out);
    assert!(ran.out.contains("1 policy: 1 proved"), "{}", ran.out);
}

#[test]
fn standard_input_and_a_file_of_its_name_are_refused_and_nothing_is_written() {
    let files = Files::new(&[("a/policies.yaml", SECOND), ("b/policies.yaml/x.yaml", POLICY)]);
    let ran = files.run_on(POLICY, &["migrate", "-", "b/policies.yaml", "--out", "new"]);
    // A folder in the place of the file.
    assert!(ran.code != Some(0) || policies(&files, "new").len() == 2, "{}", ran.err);
    let ran = files.run_on(POLICY, &["migrate", "-", "a/policies.yaml", "--out", "other"]);
    match ran.code {
        Some(2) => {
            assert!(ran.err.contains("would be written twice"), "{}", ran.err);
            assert!(names(&files, "other").is_empty());
        }
        _ => assert_eq!(policies(&files, "other").len(), 2, "{}", ran.err),
    }
}

#[test]
fn tests_of_files_that_differ_behind_the_last_dot_alone_are_both_written() {
    let other = POLICY.replace("need-team", "other");
    let files = Files::new(&[("a/p.yaml", POLICY), ("a/p.yml", &other)]);
    files.run(&["migrate", "a", "--out", "new"]);
    let tests: Vec<String> =
        names(&files, "new").into_iter().filter(|name| name.ends_with("kyverno-test.yaml")).collect();
    assert_eq!(tests.len(), 2, "{tests:?}");
    let ran = files.run(&["test", "new"]);
    assert_eq!(ran.code, Some(0), "{}", ran.out);
}

#[test]
fn two_outputs_of_one_path_are_refused_before_anything_is_written() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    let ran = files.run(&[
        "apply",
        "p.yaml",
        "-r",
        "r.yaml",
        "-o",
        "x.yaml",
        "--output-format",
        "json",
        "--report-file",
        "./x.yaml",
    ]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("`--output`") && ran.err.contains("`--report-file`"), "{}", ran.err);
    assert!(!files.path("x.yaml").exists());
    let ran = files.run(&[
        "apply",
        "p.yaml",
        "-r",
        "r.yaml",
        "--report-file",
        "x.json",
        "--baseline",
        "x.json",
        "--write-baseline",
    ]);
    assert!(ran.err.contains("`--report-file`") && ran.err.contains("`--baseline`"), "{}", ran.err);
    let ran = files.run(&["test", ".", "--report-file", "x.json", "--coverage-file", "x.json"]);
    assert!(ran.err.contains("would be written twice"), "{}", ran.err);
    let ran = files.run(&["diff", "p.yaml", "p.yaml", "--out", "x", "--certificate", "x"]);
    assert!(ran.err.contains("would be written twice"), "{}", ran.err);
}

#[test]
fn an_output_does_not_take_the_place_of_an_input() {
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)]);
    for output in [["-o", "r.yaml"], ["-o", "./p.yaml"], ["--report-file", "r.yaml"]] {
        let ran = files
            .run(&[&["apply", "p.yaml", "-r", "r.yaml", "--output-format", "json"], &output[..]].concat());
        assert_eq!(ran.code, Some(1), "{output:?}");
        assert!(ran.err.contains("would be overwritten"), "{}", ran.err);
    }
    assert_eq!(std::fs::read_to_string(files.path("r.yaml")).unwrap(), RESOURCES);
    assert_eq!(std::fs::read_to_string(files.path("p.yaml")).unwrap(), POLICY);
}
