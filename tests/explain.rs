//! `ephor explain` as a program.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Output};

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tags}
spec:
  rules:
  - name: pinned
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: pin it
      pattern: {spec: {containers: [{image: '!*:latest'}]}}
";

fn explain(dir: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_ephor"))
        .arg("explain")
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tags.yaml"), POLICY).unwrap();
    dir
}

#[test]
fn shows_written_and_generated_rules_with_file_and_line() {
    let dir = folder();
    let (code, out, err) = explain(dir.path(), &["tags.yaml"]);
    assert_eq!((code, &*err), (Some(0), ""));
    let headlines: Vec<&str> = out.lines().filter(|l| l.starts_with("tags/")).collect();
    assert_eq!(
        headlines,
        [
            "tags/pinned at tags.yaml:6",
            "tags/autogen-pinned at tags.yaml:6, generated for pod controllers",
            "tags/autogen-cronjob-pinned at tags.yaml:6, generated for cron jobs",
        ]
    );
    assert!(out.contains("unchanged:\n"), "{out}");
}

#[test]
fn picks_rules_by_name_and_kind_and_prints_json() {
    let dir = folder();
    let json = |args: &[&str]| -> serde_json::Value {
        let (code, out, err) = explain(dir.path(), &[&["tags.yaml", "--output", "json"], args].concat());
        assert_eq!((code, &*err), (Some(0), ""));
        serde_json::from_str(&out).unwrap()
    };
    let of_kind = json(&["--kind", "CronJob"]);
    assert_eq!(of_kind["apiVersion"], "ephor.dev/ir/v1");
    let rules = of_kind["policies"][0]["rules"].as_array().unwrap();
    let [rule] = &rules[..] else { panic!("{rules:?}") };
    assert_eq!(
        (&rule["name"], &rule["origin"]["path"]),
        (&"autogen-cronjob-pinned".into(), &"spec.rules[0]".into())
    );
    assert_eq!(rule["generated"], "cron jobs");
    let of_name = json(&["--rule", "pinned"]);
    assert_eq!(of_name["policies"][0]["ruleNames"], serde_json::json!(["pinned"]));
    let all = of_name["policies"][0]["byKind"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap());
    assert!(all.into_iter().all(|rule| rule["name"] == "pinned"), "{of_name}");
    let (code, _, err) = explain(dir.path(), &["tags.yaml", "--output", "yaml"]);
    assert_eq!((code, &*err), (Some(2), "Error: unknown output-format `yaml`; use `text` or `json`\n"));
}

#[test]
fn rules_are_printed_as_lowered_and_as_optimised() {
    let dir = folder();
    let policy = POLICY.replace("pin it", "pin {{ to_upper('it') }}");
    std::fs::write(dir.path().join("tags.yaml"), policy).unwrap();
    let message = |args: &[&str]| {
        let (_, out, _) = explain(dir.path(), &[&["tags.yaml", "--output", "json"], args].concat());
        let bundle: serde_json::Value = serde_json::from_str(&out).unwrap();
        bundle["policies"][0]["rules"][0]["body"]["validate"]["message"]["template"].clone()
    };
    assert_eq!(message(&[]), serde_json::json!({"const": "pin IT"}));
    assert_eq!(message(&["--as-lowered"])["text"]["parts"][0], serde_json::json!({"literal": "pin "}));
}

const POD: &str =
    "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: 'x:latest'}]}}";

#[test]
fn the_printed_json_is_a_policy_file() {
    let dir = folder();
    std::fs::write(dir.path().join("pod.yaml"), POD).unwrap();
    let (_, json, _) = explain(dir.path(), &["tags.yaml", "-o", "json"]);
    std::fs::write(dir.path().join("tags.json"), &json).unwrap();
    let apply = |policy: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ephor"));
        let ran = program
            .args(["apply", policy, "--resource", "pod.yaml"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        // Which API is deprecated is known of policies only.
        let out = out.lines().filter(|l| !l.contains("is deprecated")).collect::<Vec<_>>().join("\n");
        (ran.status.code(), out.trim().to_string())
    };
    let (code, out) = apply("tags.yaml");
    assert!(out.contains("pin it"), "{out}");
    assert_eq!(apply("tags.json"), (code, out));
    assert_eq!(explain(dir.path(), &["tags.json", "-o", "json"]).1, json);
    // The text shows the same rules; lines are known of policies only.
    let rules = |policy: &str| {
        let (_, out, _) = explain(dir.path(), &[policy]);
        out.lines().filter(|l| l.starts_with("tags/")).count()
    };
    assert_eq!((rules("tags.json"), rules("tags.yaml")), (3, 3));
    std::fs::write(dir.path().join("tags.json"), json.replace("ir/v1", "ir/v2")).unwrap();
    let (code, _, err) = explain(dir.path(), &["tags.json"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("apiVersion `ephor.dev/ir/v2` cannot be read, only `ephor.dev/ir/v1`"), "{err}");
}

#[test]
fn says_what_was_probably_meant() {
    let dir = folder();
    let fails = |args: &[&str], text: &str| {
        let (code, out, err) = explain(dir.path(), args);
        assert_eq!((code, &*out, &*err), (Some(2), "", &*format!("Error: {text}\n")));
    };
    fails(&["tag.yaml"], "no such policy file `tag.yaml`; did you mean `tags.yaml`?");
    fails(&["tags.yaml", "--rule", "pined"], "no rule `pined`; did you mean `pinned`?");
    fails(&["tags.yaml", "--kind", "Secret"], "no rule for objects of kind `Secret`");
}

const VALIDATING: &str = "\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: team}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  matchConditions:
  - name: strict
    expression: object.data.mode == 'strict'
  variables:
  - name: labels
    expression: object.metadata.?labels.orValue({})
  validations:
  - message: needs a team
    expression: \"'team' in variables.labels\"
";

const NATIVE: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: native}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations:
  - expression: object.data.mode == 'strict'
";

#[test]
fn shows_rules_of_every_kind_with_the_line_of_each_expression() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("team.yaml"), VALIDATING).unwrap();
    std::fs::write(dir.path().join("native.yaml"), NATIVE).unwrap();
    let (code, out, err) = explain(dir.path(), &["team.yaml", "native.yaml"]);
    assert_eq!((code, &*err), (Some(0), ""));
    for (piece, place) in [
        ("source", "team.yaml:9 (spec.matchConditions[0].expression)"),
        ("variable \"labels\"", "team.yaml:12 (spec.variables[0].expression)"),
        ("check", "team.yaml:15 (spec.validations[0].expression)"),
        ("check", "native.yaml:8 (spec.validations[0].expression)"),
    ] {
        let line = out.lines().find(|line| line.ends_with(place));
        let line = line.unwrap_or_else(|| panic!("no piece is of {place}:\n{out}"));
        assert!(line.trim_start().starts_with(piece), "{line}");
    }
    assert!(
        out.contains("team at team.yaml:4\n") && out.contains("native/native at native.yaml:4\n"),
        "{out}"
    );
}

#[test]
fn explains_what_rules_decide_about_a_resource_as_text_and_as_json() {
    let dir = folder();
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: cart, namespace: dev}\nspec:\n  containers:\n  - name: a\n    image: nginx:latest\n";
    std::fs::write(dir.path().join("pod.yaml"), pod).unwrap();
    let (code, out, err) = explain(dir.path(), &["tags.yaml", "-r", "pod.yaml"]);
    assert_eq!((code, &*err), (Some(0), ""));
    assert!(out.starts_with("pod.yaml:1 Pod dev/cart\n\ntags/pinned at tags.yaml:6: fail\n"), "{out}");
    assert!(out.contains("resource value 'nginx:latest' does not match '!*:latest'"), "{out}");
    assert!(out.contains("(pod.yaml:7:12)"), "{out}");
    assert!(!out.contains('\u{1b}'), "no colours without a terminal");
    let (_, out, _) = explain(dir.path(), &["tags.yaml", "-r", "pod.yaml", "--output", "json"]);
    let list: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(list[0]["resource"], "pod.yaml:1 Pod dev/cart");
    assert_eq!(list[0]["rules"][0]["status"], "fail");
    let (code, _, err) = explain(dir.path(), &["tags.yaml", "-r", "pod.yaml", "--rule", "pined"]);
    assert_eq!((code, &*err), (Some(2), "Error: no rule `pined`; did you mean `pinned`?\n"));
}
