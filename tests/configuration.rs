//! `ephor.yaml`: what a repository wants counts where flags are not given.

use crate::common::{Files, POLICY, RESOURCES};

fn repository(config: &str) -> Files {
    Files::new(&[
        ("ephor.yaml", config),
        (".git/HEAD", "ref: refs/heads/main\n"),
        ("policies/team.yaml", POLICY),
        ("deploy/maps.yaml", RESOURCES),
        ("deploy/old/maps.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: old}\n"),
        ("sub/folder/x.yaml", ""),
    ])
}

const CONFIG: &str = "policies: [policies]
resources: [deploy]
recursive: true
exclude: [old]
strict: true
reports: [out.sarif, out.xml]
";

#[test]
fn a_run_without_arguments_has_those_of_the_repository() {
    let files = repository(CONFIG);
    let ran = files.run(&["apply", "--output-format", "json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for (name, begins) in [("out.sarif", "{"), ("out.xml", "<?xml")] {
        assert!(std::fs::read_to_string(files.path(name)).unwrap().starts_with(begins), "{name}");
    }
    // In a folder below the paths still lead to the same files.
    let mut below = files.program(&["apply"]);
    let below = crate::common::Ran::new(below.current_dir(files.path("sub/folder")).output().unwrap());
    assert_eq!(below.code, Some(1), "{}", below.err);
    assert!(below.out.contains("ConfigMap default/bad") && !below.out.contains("old"), "{}", below.out);
    let lint = files.run(&["lint"]);
    assert_eq!(lint.code, Some(0), "{}{}", lint.out, lint.err);
    assert!(lint.out.contains("1 polic"), "{}", lint.out);
}

#[test]
fn flags_win_over_the_configuration() {
    let files = repository(CONFIG);
    let ran = files.run(&["apply", "policies", "-r", "deploy/old", "--report-file", "own.json", "--quiet"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(files.path("own.json").exists() && !files.path("out.sarif").exists());
    files.write("other.yaml", b"policies: [policies]\nresources: [deploy/old]\n");
    let named = files.run(&["apply", "--config", "other.yaml", "--output-format", "json"]);
    assert_eq!(named.code, Some(1), "{}", named.err);
    assert!(named.out.contains("\"name\": \"old\""), "{}", named.out);
}

#[test]
fn a_baseline_and_a_severity_of_the_configuration_count() {
    let files = repository("baseline: known.json\n");
    let write = files.run(&["apply", "policies", "-r", "deploy", "--write-baseline"]);
    assert_eq!(write.code, Some(0), "{}", write.err);
    assert_eq!(files.run(&["apply", "policies", "-r", "deploy"]).code, Some(0));
    files.write("ephor.yaml", b"failOn: critical\nkubernetes: '1.36'\n");
    // A policy without severity always fails.
    assert_eq!(files.run(&["apply", "policies", "-r", "deploy"]).code, Some(1));
}

#[test]
fn a_configuration_that_is_wrong_ends_every_run_with_its_place() {
    let files = repository("policies: [policies]\nresource: [deploy]\n");
    for command in [&["apply", "policies", "-r", "deploy"][..], &["lint"], &["config"]] {
        let ran = files.run(command);
        let code = if command[0] == "apply" { 1 } else { 2 };
        assert_eq!(ran.code, Some(code), "{command:?}");
        assert!(ran.err.contains("ephor.yaml:2:1: there is no key `resource`"), "{command:?}: {}", ran.err);
        assert!(ran.err.contains("did you mean `resources`?"), "{}", ran.err);
    }
}

#[test]
fn what_counts_is_printed_with_its_line() {
    let files = repository(CONFIG);
    let shown = files.run(&["config"]).out;
    assert!(shown.starts_with("ephor.yaml\n"), "{shown}");
    let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    let shows = |words: &[&str]| assert!(lines.iter().any(|line| line == words), "{words:?}: {shown}");
    shows(&["policies", "[\"policies\"]", "(line", "1)"]);
    shows(&["strict", "true", "(line", "5)"]);
    shows(&["baseline", "-"]);
    let json: serde_json::Value =
        serde_json::from_str(&files.run(&["config", "--output-format", "json"]).out).unwrap();
    assert_eq!(json["exclude"], serde_json::json!(["old"]));
    std::fs::remove_file(files.path("ephor.yaml")).unwrap();
    assert!(files.run(&["config"]).out.starts_with("there is no ephor.yaml"));
}

#[test]
fn outside_of_the_repository_and_under_kyvernos_name_no_configuration_is_read() {
    let files = repository("policies: [nowhere]\n");
    files.write("sub/.git/HEAD", b"ref: refs/heads/main\n");
    let mut inside = files.program(&["config"]);
    let inside = crate::common::Ran::new(inside.current_dir(files.path("sub/folder")).output().unwrap());
    assert!(inside.out.starts_with("there is no ephor.yaml"), "{}", inside.out);
}

#[test]
fn only_resources_of_the_kinds_count_and_rules_still_look_up_others() {
    let policy = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: every}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap, Secret, Pod]}}]}
    validate: {message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
"#;
    let object = |kind: &str| format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n");
    let all = ["ConfigMap", "Secret", "Pod"].map(object).join("---\n");
    let files = Files::new(&[("p.yaml", policy), ("r.yaml", &all)]);
    let counts = |more: &[&str]| {
        let ran =
            files.run(&[&["apply", "p.yaml", "-r", "r.yaml", "--output-format", "json"], more].concat());
        let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        (report["resources"].as_u64(), report["summary"]["fail"].as_u64())
    };
    assert_eq!(counts(&[]), (Some(3), Some(3)));
    assert_eq!(counts(&["--kinds", "Pod,v1/Secret"]), (Some(2), Some(2)));
    assert_eq!(counts(&["--kinds", "apps/v1/Pod"]), (Some(0), Some(0)));
    files.write("ephor.yaml", b"kinds: [Secret]\n");
    assert_eq!(counts(&[]), (Some(1), Some(1)));
    assert_eq!(counts(&["--kinds", "Pod,ConfigMap"]), (Some(2), Some(2)));
}

#[test]
fn a_repository_chooses_severities_of_policies() {
    let files = Files::new(&[
        ("p.yaml", crate::common::POLICY),
        ("r.yaml", crate::common::RESOURCES),
        ("ephor.yaml", "policies: [p.yaml]\nresources: [r.yaml]\nseverities: {need-team: low}\n"),
    ]);
    let ran = |more: &[&str]| files.run(&[&["apply", "--output-format", "json"], more].concat());
    let report: serde_json::Value = serde_json::from_str(&ran(&[]).out).unwrap();
    assert_eq!(report["results"][0]["severity"], "low", "{}", report["results"][0]);
    assert_eq!((ran(&[]).code, ran(&["--fail-on", "high"]).code), (Some(1), Some(0)));
    files.write("ephor.yaml", b"severities: {need-team: huge}\n");
    let wrong = ran(&["p.yaml", "-r", "r.yaml"]);
    assert!(wrong.err.contains("ephor.yaml:1:1: `severities` has another type"), "{}", wrong.err);
}

#[test]
fn a_format_of_the_configuration_is_that_of_every_command_that_has_it() {
    let files = repository("policies: [policies]\nresources: [deploy]\nformat: json\n");
    for command in [&["apply"][..], &["lint"], &["diff", "policies", "policies"]] {
        let ran = files.run(command);
        let is_json = serde_json::from_str::<serde_json::Value>(&ran.out).is_ok();
        assert!(is_json, "{command:?}: {}{}", ran.out, ran.err);
        let named = files.run(&[command, &["--output-format", "github"]].concat());
        assert!(serde_json::from_str::<serde_json::Value>(&named.out).is_err(), "{command:?}: {}", named.out);
    }
    // Outputs of Kyverno's that flags select stay, and a file has the format of its name.
    assert!(files.run(&["apply", "-t"]).out.contains('│'));
    files.run(&["apply", "--report-file", "r.sarif"]);
    assert!(std::fs::read_to_string(files.path("r.sarif")).unwrap().contains("\"$schema\""));
    // What a command does not have is its default.
    files.write("ephor.yaml", b"policies: [policies]\nformat: html\n");
    assert!(files.run(&["lint"]).out.starts_with("1 policy: 0 errors"));
}

#[test]
fn a_release_of_the_configuration_is_that_of_tests_and_comparisons_too() {
    let policy = r#"apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: typed}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers[0] == object.spec.containers[0] || true"}]
"#;
    let files = Files::new(&[("p.yaml", policy), ("ephor.yaml", "kubernetes: '1.37'\n")]);
    let ran = files.run(&["diff", "p.yaml", "p.yaml", "--out", "found"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    files.write("ephor.yaml", b"kubernetes: 'x'\n");
    for command in
        [&["diff", "p.yaml", "p.yaml"][..], &["test", "."], &["explain", "p.yaml"], &["migrate", "p.yaml"]]
    {
        let ran = files.run(command);
        assert!(
            ran.err.contains("ephor.yaml:1:1: `kubernetes` has another type"),
            "{command:?}: {}",
            ran.err
        );
    }
}

#[test]
fn accepted_differences_of_the_configuration_count_from_every_folder() {
    let policy = |name: &str, field: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap], operations: [CREATE]}}}}]}}\n    validate: {{message: m, pattern: {{{field}: \"?*\"}}}}\n"
        )
    };
    let files = Files::new(&[
        ("old.yaml", &policy("a", "immutable")),
        ("new.yaml", &policy("a", "kind")),
        ("ephor.yaml", "acceptedDifferences: ci/accepted.yaml\n"),
        ("ci/accepted.yaml", "ignore: [{class: weaker, reason: no longer wanted}]\n"),
        (".git/HEAD", "ref: refs/heads/main\n"),
    ]);
    let mut below = files.program(&["diff", "../old.yaml", "../new.yaml"]);
    let below = crate::common::Ran::new(below.current_dir(files.path("ci")).output().unwrap());
    assert_eq!(below.code, Some(0), "{}{}", below.out, below.err);
    assert!(below.out.contains("no longer wanted"), "{}", below.out);
    std::fs::remove_file(files.path("ephor.yaml")).unwrap();
    assert_eq!(files.run(&["diff", "old.yaml", "new.yaml"]).code, Some(1));
}
