//! Runs on parts of the objects, and the report of all results.

use std::fmt::Write;

use crate::common::{Files, POLICY, Ran};

/// A policy that deletes, so that its results follow those of all objects.
const CLEANUP: &str = "apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: no-pods}
spec:
  schedule: '0 0 * * *'
  match: {any: [{resources: {kinds: [Pod]}}]}
  conditions: {all: [{key: '{{ target.metadata.name }}', operator: NotEquals, value: pod-3}]}
";

/// A policy whose severity, category and description formats show.
const PINNED: &str = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: pinned
  annotations:
    policies.kyverno.io/title: Images are pinned
    policies.kyverno.io/description: See https://example.com/tags.
    policies.kyverno.io/category: Images
    policies.kyverno.io/severity: high
spec:
  autogen: {podControllers: {controllers: []}}
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.all(c, !c.image.endsWith(':latest'))
    message: no latest
  - expression: object.metadata.?generateName.orValue('') != 'once-3-'
    message: not this one
";

/// A policy that the check refuses.
const REFUSED: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: refused}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: m, pattern: {metadata: {name: '{{ element.name }}'}}}
";

/// ConfigMaps, Pods, Pods without a name, and copies of earlier objects.
fn objects(count: usize) -> String {
    let mut out = String::new();
    for i in 0..count {
        let team = if i % 3 == 0 { "" } else { ", labels: {team: a}" };
        let tag = if i % 4 == 0 { "latest" } else { "v1" };
        let pod = format!("spec: {{containers: [{{name: a, image: 'nginx:{tag}'}}]}}");
        let _ = match i % 5 {
            0 => write!(
                out,
                "apiVersion: v1\nkind: Pod\nmetadata: {{generateName: once-{i}-, namespace: web}}\n{pod}\n---\n"
            ),
            1 => write!(
                out,
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{i}, namespace: web}}\n{pod}\n---\n"
            ),
            2 => write!(
                out,
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{}, namespace: web}}\n{pod}\n---\n",
                i - 1
            ),
            _ => write!(
                out,
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: map-{i}, namespace: web{team}}}\n---\n"
            ),
        };
    }
    out
}

fn files(count: usize) -> Files {
    Files::new(&[
        ("p/team.yaml", POLICY),
        ("p/pinned.yaml", PINNED),
        ("p/refused.yaml", REFUSED),
        ("objects.yaml", &objects(count)),
    ])
}

/// All formats, and the shards' own.
const FORMATS: [&str; 8] = ["text", "sarif", "junit", "json", "jsonl", "markdown", "github", "html"];

/// A report without the time that its run took.
fn timeless(text: &str) -> String {
    let time = regex::Regex::new(r#"(\btime="|"seconds":)[0-9.e-]+"#).unwrap();
    let text = time.replace_all(text, "${1}0");
    let moment = regex::Regex::new("20[0-9-]{8}T[0-9:]{8}Z").unwrap();
    moment.replace_all(&text, "2000-01-01T00:00:00Z").into_owned()
}

/// Runs all shards, the last one first, and merges their results into a format.
fn merged(files: &Files, of: usize, flags: &[&str], format: &str) -> Ran {
    for shard in (1..=of).rev() {
        let (shard, file) = (format!("{shard}/{of}"), format!("shards/{shard}.jsonl"));
        let mut arguments = vec!["apply", "p", "-r", "objects.yaml", "--quiet", "--shard", &shard];
        arguments.extend(["--report-file", &file]);
        arguments.extend(flags);
        let ran = files.run(&arguments);
        assert!(ran.ended_well(), "{shard}: {}", ran.err);
    }
    files.run(&["report", "merge", "shards", "--output-format", format])
}

fn with_folder(files: Files) -> Files {
    std::fs::create_dir(files.path("shards")).unwrap();
    files
}

#[test]
fn the_report_of_eight_shards_is_that_of_one_run_byte_for_byte() {
    for flags in [&[][..], &["--only-failures"]] {
        let files = with_folder(files(400));
        let whole = |format: &str| {
            let mut arguments =
                vec!["apply", "p", "-r", "objects.yaml", "--quiet", "--output-format", format];
            arguments.extend(flags);
            files.run(&arguments)
        };
        let first = merged(&files, 8, flags, "json");
        let counts: serde_json::Value = serde_json::from_str(&first.out).unwrap();
        assert!(counts["summary"]["fail"].as_u64() > Some(80), "{}", counts["summary"]);
        for format in FORMATS {
            let expected = whole(format);
            let found = files.run(&["report", "merge", "shards", "--output-format", format]);
            assert_eq!((found.code, &*found.err), (expected.code, ""), "{format}");
            let (found, expected) = (timeless(&found.out), timeless(&expected.out));
            let differs = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
            assert!(found == expected, "{format} differs: {differs:?}");
        }
    }
}

#[test]
fn results_of_policies_that_delete_follow_those_of_all_objects_of_all_shards() {
    let files = with_folder(files(60));
    files.write("p/cleanup.yaml", CLEANUP.as_bytes());
    let expected = files.run(&["apply", "p", "-r", "objects.yaml", "--quiet", "--output-format", "json"]);
    let found = merged(&files, 3, &[], "json");
    assert!(expected.out.contains("no-pods"), "{}", expected.out);
    assert!(found.out == expected.out, "other results of three shards");
}

#[test]
fn rules_of_a_shard_see_the_objects_of_all_shards() {
    let files = with_folder(files(60));
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: counts}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - name: others
      apiCall: {urlPath: /api/v1/namespaces/web/configmaps, jmesPath: 'items | length(@)'}
    validate: {message: 'there are {{ others }}', deny: {conditions: {all: [{key: '{{ others }}', operator: GreaterThan, value: 1}]}}}
";
    files.write("p/counts.yaml", policy.as_bytes());
    let expected = files.run(&["apply", "p", "-r", "objects.yaml", "--quiet", "--output-format", "json"]);
    assert!(expected.out.contains("there are 24"), "{}", expected.out);
    assert!(merged(&files, 4, &[], "json").out == expected.out, "other results of four shards");
}

#[test]
fn a_shard_that_was_killed_and_runs_again_changes_nothing() {
    let files = with_folder(files(100));
    let expected = merged(&files, 3, &[], "json");
    let file = std::fs::read(files.path("shards/2.jsonl")).unwrap();
    // Killed while its results were copied: what is there is refused, with the shard to run again.
    files.write("shards/2.jsonl", &file[..file.len() / 2]);
    let broken = files.run(&["report", "merge", "shards", "--output-format", "json"]);
    assert_eq!((broken.code, &*broken.out), (Some(2), ""), "{}", broken.err);
    assert!(
        broken.err.contains("shards/2.jsonl: breaks off behind")
            && broken.err.contains("run shard 2/3 again")
    );
    // Killed before: nothing is there.
    std::fs::remove_file(files.path("shards/2.jsonl")).unwrap();
    let missing = files.run(&["report", "merge", "shards"]);
    assert_eq!(missing.code, Some(2));
    assert!(missing.err.contains("there are no results of shard 2/3"), "{}", missing.err);
    let waits = files.run(&["report", "merge", "shards", "--if-complete", "--report-file", "all.json"]);
    assert_eq!(
        (waits.code, &*waits.err),
        (Some(0), "results of 1 of 3 shards are missing: nothing is merged\n")
    );
    assert!(!files.path("all.json").exists());
    let again = files.run(&[
        "apply",
        "p",
        "-r",
        "objects.yaml",
        "--quiet",
        "--shard",
        "2/3",
        "--report-file",
        "shards/2.jsonl",
    ]);
    assert_eq!(again.code, Some(1), "{}", again.err);
    let found = files.run(&["report", "merge", "shards", "--output-format", "json", "--if-complete"]);
    assert_eq!((found.code, found.out == expected.out), (expected.code, true));
}

#[test]
fn files_that_are_not_those_of_one_run_are_refused() {
    let files = with_folder(files(40));
    merged(&files, 2, &[], "json");
    let refused = |why: &str| {
        let ran = files.run(&["report", "merge", "shards"]);
        assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{}", ran.err);
        assert!(ran.err.contains(why) && ran.err.contains("help: "), "{why}: {}", ran.err);
    };
    let first = std::fs::read_to_string(files.path("shards/1.jsonl")).unwrap();
    files.write("shards/3.jsonl", first.as_bytes());
    refused("shard 1/2 is there twice: shards/1.jsonl and shards/3.jsonl");
    files.write("shards/3.jsonl", b"{\"a\": 1}\n");
    refused("shards/3.jsonl:1: this is not a file of results as JSON lines");
    files.write("shards/3.jsonl", first.replacen("\"shard\":\"1/2\"", "\"shard\":\"3/3\"", 1).as_bytes());
    refused("are results of different runs");
    std::fs::remove_file(files.path("shards/3.jsonl")).unwrap();
    let other = files.run(&[
        "apply",
        "p/team.yaml",
        "-r",
        "objects.yaml",
        "--quiet",
        "--shard",
        "2/2",
        "--report-file",
        "shards/2.jsonl",
    ]);
    assert!(other.ended_well(), "{}", other.err);
    refused("are results of different runs");
}

#[test]
fn a_line_that_is_no_result_is_named_by_file_and_number() {
    let files = with_folder(files(40));
    merged(&files, 1, &[], "json");
    let text = std::fs::read_to_string(files.path("shards/1.jsonl")).unwrap();
    let at = text.lines().position(|line| line.starts_with("{\"result\"")).unwrap();
    for (from, to) in
        [("\"result\":\"", "\"result\":\"no"), ("\"policy\":", "\"policy\":9"), ("{\"order\"", "[\"order\"")]
    {
        let lines: Vec<String> = text
            .lines()
            .enumerate()
            .map(|(i, line)| if i == at { line.replacen(from, to, 2) } else { line.into() })
            .collect();
        files.write("shards/1.jsonl", (lines.join("\n") + "\n").as_bytes());
        let ran = files.run(&["report", "merge", "shards"]);
        assert_eq!(ran.code, Some(2), "{to}");
        assert!(ran.err.contains(&format!("shards/1.jsonl:{}: ", at + 1)), "{to}: {}", ran.err);
    }
}

#[test]
fn a_pod_of_an_indexed_job_takes_the_shard_of_its_index() {
    let files = with_folder(files(40));
    let of_job = |index: Option<&str>| {
        let mut program = files.program(&[
            "apply",
            "p",
            "-r",
            "objects.yaml",
            "--quiet",
            "--shard",
            "job/4",
            "--output-format",
            "jsonl",
        ]);
        match index {
            Some(index) => program.env("JOB_COMPLETION_INDEX", index),
            None => program.env_remove("JOB_COMPLETION_INDEX"),
        };
        Ran::new(program.output().unwrap())
    };
    let expected = files.run(&[
        "apply",
        "p",
        "-r",
        "objects.yaml",
        "--quiet",
        "--shard",
        "3/4",
        "--output-format",
        "jsonl",
    ]);
    assert_eq!(timeless(&of_job(Some("2")).out), timeless(&expected.out));
    for (index, says) in
        [(Some("4"), "no index of `4` Pods"), (Some("x"), "no index of"), (None, "is not set")]
    {
        let refused = of_job(index);
        assert_eq!(refused.code, Some(1));
        assert!(refused.err.contains(says), "{}", refused.err);
    }
}

#[test]
fn with_exit_zero_failures_do_not_change_the_exit_code() {
    let files = with_folder(files(40));
    let ran = files.run(&[
        "apply",
        "p",
        "-r",
        "objects.yaml",
        "--quiet",
        "--exit-zero",
        "--report-file",
        "shards/1.jsonl",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(files.run(&["report", "merge", "shards"]).code, Some(1));
    assert_eq!(files.run(&["report", "merge", "shards", "--exit-zero"]).code, Some(0));
}

#[test]
fn several_reports_are_written_at_once_but_never_over_what_is_read() {
    let files = with_folder(files(40));
    merged(&files, 2, &[], "json");
    let both = ["--report-file", "r.json", "--report-file", "r.html"];
    let ran = files.run(&[&["report", "merge", "shards"][..], &both].concat());
    assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{}", ran.err);
    let read = |name: &str| std::fs::read_to_string(files.path(name)).unwrap();
    assert!(read("r.json").contains("\"summary\"") && read("r.html").starts_with("<!DOCTYPE html>"));
    let refused = |named: &[&str], why: &str| {
        let before = read("shards/1.jsonl");
        let ran = files.run(&[&["report", "merge", "shards"][..], named].concat());
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(why) && read("shards/1.jsonl") == before, "{}", ran.err);
    };
    refused(&["--report-file", "shards/1.jsonl"], "would be overwritten");
    refused(&["--report-file", "r.json", "--report-file", "./r.json"], "r.json");
    refused(&["--report-file", "r.dat"], "no format is known");
}
