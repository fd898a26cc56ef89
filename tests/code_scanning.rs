//! What code scanning, annotations and test reports show of each command: rules with texts, files
//! from the root of the repository.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::Value;

use crate::common::{Files, POLICY, RESOURCES};

const ODD: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: odd
  annotations:
    policies.kyverno.io/severity: high
    policies.kyverno.io/category: 'a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v'
spec:
  rules:
  - name: text
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate:
      message: \"see \\e[31m[link](https://example.com/x) in {0}\"
      pattern: {data: {a: '?*'}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: one-name}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  validations: [{expression: has(object.data), message: data}]
";

const TEST: &str = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: odd}
policies: [p.yaml]
resources: [r.yaml]
results:
- {policy: need-team, rule: team, resources: [good], kind: ConfigMap, result: fail}
";

fn files() -> Files {
    Files::new(&[
        ("p.yaml", POLICY),
        ("odd.yaml", ODD),
        ("weaker.yaml", &POLICY.replace("team: \"?*\"", "team: \"*\"")),
        ("bad.yaml", &POLICY.replace("pattern:", "patern:")),
        ("r.yaml", RESOURCES),
        ("kyverno-test.yaml", TEST),
    ])
}

fn sarif(files: &Files, arguments: &[&str]) -> Value {
    let ran = files.run(&[arguments, &["--output-format", "sarif"]].concat());
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {}{}", ran.out, ran.err))
}

fn rules(log: &Value) -> &Vec<Value> {
    log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap()
}

fn results(log: &Value) -> &Vec<Value> {
    log["runs"][0]["results"].as_array().unwrap()
}

/// Runs of each command that writes SARIF, with at least one result each.
const COMMANDS: [&[&str]; 7] = [
    &["apply", "p.yaml", "odd.yaml", "-r", "r.yaml"],
    &["apply", "p.yaml", "-r", "-"],
    &["lint", "bad.yaml", "odd.yaml"],
    &["test", "."],
    &["diff", "p.yaml", "weaker.yaml"],
    &["diff", "p.yaml", "odd.yaml"],
    &["equivalent", "p.yaml", "weaker.yaml"],
];

#[test]
fn rules_of_every_command_have_what_code_scanning_shows() {
    let files = files();
    for command in COMMANDS {
        let ran = files.run_on(RESOURCES, &[command, &["--output-format", "sarif"]].concat());
        let log: Value =
            serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{command:?}: {e}: {}", ran.err));
        assert!(!results(&log).is_empty(), "{command:?}");
        for rule in rules(&log) {
            for key in ["shortDescription", "fullDescription", "help"] {
                let text = rule[key]["text"].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{command:?}: no {key}: {rule}");
            }
            assert_ne!(rule["name"], rule["id"], "{command:?}");
            let tags = rule["properties"]["tags"].as_array().unwrap();
            assert!(tags.len() <= 20, "{command:?}: {tags:?}");
            let at = tags.iter().position(|tag| tag == "security");
            assert_eq!(
                at,
                rule["properties"]["security-severity"].as_str().map(|_| 0),
                "{command:?}: {tags:?}"
            );
        }
        for result in results(&log) {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules(&log)[index]["id"], result["ruleId"]);
            let locations = result["locations"].as_array().unwrap();
            assert!(locations.iter().all(|at| at["physicalLocation"]["artifactLocation"]["uri"].is_string()));
            assert!(!locations.is_empty(), "{command:?}: {result}");
        }
        // The page of another program is not that of this one.
        assert!(log["runs"][0]["tool"]["driver"]["informationUri"].is_null());
    }
}

#[test]
fn messages_of_a_log_hold_no_controls_and_no_links() {
    let log = sarif(&files(), &["apply", "odd.yaml", "-r", "r.yaml"]);
    let message = results(&log)[0]["message"]["text"].as_str().unwrap();
    assert!(message.contains("see \u{fffd}[31m\\[link\\](https://example.com/x) in {0}"), "{message}");
    let markdown = files().run(&["apply", "odd.yaml", "-r", "r.yaml", "--output-format", "markdown"]).out;
    assert!(markdown.contains("\\[link\\](https://example.com/x)"), "{markdown}");
    for format in ["markdown", "github", "junit", "html", "text"] {
        let out = files().run(&["apply", "odd.yaml", "-r", "r.yaml", "--output-format", format]).out;
        assert!(!out.contains('\u{1b}'), "{format}: {out}");
    }
}

#[test]
fn help_of_a_comparison_says_what_its_results_say() {
    let files = files();
    let help = |arguments: &[&str]| {
        let log = sarif(&files, arguments);
        let result = &results(&log)[0];
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        let text = |value: &Value| value["text"].as_str().unwrap().to_string();
        (text(&result["message"]), text(&rules(&log)[index]["help"]))
    };
    let (message, text) = help(&["diff", "p.yaml", "weaker.yaml"]);
    assert!(message.contains("no violation where there was one"), "{message}");
    assert!(
        text.starts_with("A result is a request that violates the old policies and not the new ones."),
        "{text}"
    );
    let (message, text) = help(&["diff", "weaker.yaml", "p.yaml"]);
    assert!(message.contains("a violation where there was none"), "{message}");
    assert!(
        text.starts_with("A result is a request that violates the new policies and not the old ones."),
        "{text}"
    );
    let (message, text) = help(&["equivalent", "p.yaml", "weaker.yaml"]);
    assert!(message.contains("violates A, not B; A "), "{message}");
    assert!(
        text.starts_with("A result is a request that violates the policies A and not the policies B."),
        "{text}"
    );
    let (message, text) = help(&["test", "."]);
    assert!(message.contains("Want fail, got pass"), "{message}");
    assert!(text.starts_with("A result is a test that failed"), "{text}");
}

/// Files of a repository: policies next to the folder of the step, manifests in it.
fn repository(has_git: bool) -> Files {
    let files = Files::new(&[
        ("repo/policies/p.yaml", POLICY),
        ("repo/policies/bad.yaml", &POLICY.replace("pattern:", "patern:")),
        ("repo/sub/manifests/r 1.yaml", RESOURCES),
        ("outside.yaml", POLICY),
    ]);
    if has_git {
        files.write("repo/.git/HEAD", b"ref: refs/heads/main\n");
    }
    files
}

fn in_sub(files: &Files, arguments: &[&str], variables: &[(&str, &std::path::Path)]) -> String {
    let mut program = files.program(arguments);
    program.current_dir(files.path("repo/sub")).env_remove("GITHUB_WORKSPACE").env_remove("CI_PROJECT_DIR");
    program.envs(variables.iter().copied());
    String::from_utf8(program.output().unwrap().stdout).unwrap()
}

fn uris(log: &str) -> (Vec<String>, bool) {
    let log: Value = serde_json::from_str(log).unwrap();
    let found = regex::Regex::new(r#""uri":"([^"]*)""#).unwrap();
    let text = log["runs"][0]["results"].to_string();
    let mut all: Vec<String> = found.captures_iter(&text).map(|c| c[1].to_string()).collect();
    all.sort();
    all.dedup();
    let base = &log["runs"][0]["originalUriBaseIds"]["%SRCROOT%"];
    assert_eq!(base.is_object(), text.contains("\"uriBaseId\":\"%SRCROOT%\""));
    (all, base.is_object())
}

#[test]
fn files_in_a_log_begin_at_the_root_of_the_repository_whatever_the_folder_of_the_step_is() {
    let apply = ["apply", "../policies/p.yaml", "-r", "manifests", "--output-format", "sarif"];
    let with_git = repository(true);
    let wanted = vec!["policies/p.yaml".to_string(), "sub/manifests/r%201.yaml".to_string()];
    assert_eq!(uris(&in_sub(&with_git, &apply, &[])), (wanted.clone(), true));
    let lint = ["lint", "../policies/bad.yaml", "--output-format", "sarif"];
    assert_eq!(uris(&in_sub(&with_git, &lint, &[])), (vec!["policies/bad.yaml".into()], true));
    let outside = ["apply", "../../outside.yaml", "-r", "manifests", "--output-format", "sarif"];
    let (all, _) = uris(&in_sub(&with_git, &outside, &[]));
    assert!(all[0].starts_with("file:///") && all[0].ends_with("/outside.yaml"), "{all:?}");
    // A checkout without `.git`, as a build server names it.
    let without = repository(false);
    for variable in ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"] {
        let workspace = std::fs::canonicalize(without.path("repo")).unwrap();
        assert_eq!(uris(&in_sub(&without, &apply, &[(variable, &workspace)])), (wanted.clone(), true));
    }
    // Outside of any repository names are those of the folder.
    let plain = vec!["../policies/p.yaml".to_string(), "manifests/r%201.yaml".to_string()];
    assert_eq!(uris(&in_sub(&without, &apply, &[])), (plain, false));
}

#[test]
fn annotations_and_test_reports_name_files_from_the_root_of_the_repository_too() {
    let files = repository(true);
    let run = |arguments: &[&str], format: &str| {
        in_sub(&files, &[arguments, &["--output-format", format]].concat(), &[])
    };
    let apply = ["apply", "../policies/p.yaml", "-r", "manifests"];
    assert!(
        run(&apply, "github").starts_with("::error file=sub/manifests/r 1.yaml,line=3"),
        "{}",
        run(&apply, "github")
    );
    assert!(run(&apply, "junit").contains("file=\"sub/manifests/r 1.yaml\""), "{}", run(&apply, "junit"));
    // What people read has the names that they wrote.
    assert!(run(&apply, "text").contains("manifests/r 1.yaml:3:"), "{}", run(&apply, "text"));
    let lint = ["lint", "../policies/bad.yaml"];
    assert!(
        run(&lint, "github").starts_with("::error file=policies/bad.yaml,line=11"),
        "{}",
        run(&lint, "github")
    );
}

#[test]
fn a_run_with_more_results_than_code_scanning_accepts_keeps_the_gravest_and_says_so() {
    let files = files();
    let many: String = (0..12_600)
        .map(|i| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}}}\n"))
        .collect();
    files.write("many.yaml", many.as_bytes());
    files.write(
        "low.yaml",
        POLICY
            .replace("name: need-team", "name: low\n  annotations: {policies.kyverno.io/severity: low}")
            .as_bytes(),
    );
    let ran = files.run(&[
        "apply",
        "low.yaml",
        "p.yaml",
        "-r",
        "many.yaml",
        "--output-format",
        "sarif",
        "--report-file",
        "m.sarif",
    ]);
    let said = "200 of 25200 results are left out of the SARIF log, the least severe ones: code scanning accepts 25000 results of a run";
    assert!(ran.err.contains(&format!("warning: {said}\n")), "{}", ran.err);
    let log: Value = serde_json::from_str(&std::fs::read_to_string(files.path("m.sarif")).unwrap()).unwrap();
    assert_eq!(results(&log).len(), 25_000);
    assert_eq!(results(&log).iter().filter(|r| r["ruleId"] == "low/team").count(), 12_400);
    assert_eq!(results(&log)[0]["ruleId"], "need-team/team");
    assert_eq!(log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"], said);
}

#[test]
fn a_violated_pattern_says_the_change_that_mends_the_file() {
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: host}
spec:
  background: true
  rules:
  - name: network
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: no host network, pattern: {spec: {hostNetwork: false}}}
  - name: token
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: no token, pattern: {spec: {automountServiceAccountToken: false}}}
  - name: named
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: a team, pattern: {metadata: {labels: {team: '?*'}}}}
";
    let pod = "# the shop
apiVersion: v1
kind: Pod
metadata:
  name: first
---
apiVersion: v1
kind: Pod
metadata:
  name: cart
spec:
  hostNetwork: true
  containers: []
";
    let files = Files::new(&[("p.yaml", policy), ("pod.yaml", pod)]);
    let apply = ["apply", "p.yaml", "-r", "pod.yaml"];
    let log = sarif(&files, &apply);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of = |rule: &str| {
        let found = results
            .iter()
            .find(|r| r["ruleId"] == rule && r["locations"][0]["logicalLocations"][0]["name"] == "cart");
        found.unwrap_or_else(|| panic!("{rule}: {log:#}"))
    };
    let fix = &of("host/network")["fixes"][0];
    assert_eq!(fix["description"]["text"], "set `spec.hostNetwork` to `false`");
    let change = &fix["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "pod.yaml");
    // Line and column of the file, which has another document above.
    assert_eq!(
        change["replacements"][0],
        serde_json::json!({
            "deletedRegion": {"startLine": 12, "startColumn": 16, "endLine": 12, "endColumn": 20},
            "insertedContent": {"text": "false"},
        })
    );
    let added = &of("host/token")["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(added["insertedContent"]["text"], "  automountServiceAccountToken: false\n");
    assert_eq!(
        (&added["deletedRegion"]["startLine"], &added["deletedRegion"]["startColumn"]),
        (&12.into(), &1.into())
    );
    // Any text will do: no change is the only one.
    assert!(of("host/named")["fixes"].is_null());
    let json = files.run(&[&apply[..], &["--output-format", "json"]].concat()).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!(json["results"].as_array().unwrap().iter().any(|r| r["fixes"][0]["edits"][0]["line"] == 12));
    // In JSON the same value needs quotes at times.
    files.write(
        "pod.json",
        br#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"hostNetwork": true}}"#,
    );
    let log = sarif(&files, &["apply", "p.yaml", "-r", "pod.json"]);
    assert!(log["runs"][0]["results"].as_array().unwrap().iter().all(|r| r["fixes"].is_null()));
}

#[test]
fn results_of_shards_keep_their_changes() {
    let policy = POLICY.replace("team: \"?*\"", "team: shop");
    let files = Files::new(&[("p.yaml", &*policy), ("r.yaml", RESOURCES)]);
    let whole = sarif(&files, &["apply", "p.yaml", "-r", "r.yaml"]);
    let results = whole["runs"][0]["results"].as_array().unwrap();
    assert!(results.iter().any(|result| result["fixes"].is_array()), "{whole:#}");
    files.run(&["apply", "p.yaml", "-r", "r.yaml", "--report-file", "r.jsonl"]);
    assert_eq!(sarif(&files, &["report", "merge", "r.jsonl"]), whole);
}
