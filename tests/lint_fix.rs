//! `ephor lint --fix`: what is written, what is shown, and what is left alone.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::Value;

use crate::common::Files;

const POLICY: &str = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [core], apiVersions: [v1], operations: [Create], resources: [Pod]}
  validations:
  - expression: \"object.spec.volumes.all(v, not has(v.hostPath))\"
    message: m
";

fn files() -> Files {
    let good = POLICY
        .replace("[core]", "['']")
        .replace("Create", "CREATE")
        .replace("[Pod]", "[pods]")
        .replace("not has", "!has");
    Files::new(&[("f/p.yaml", POLICY), ("f/good.yaml", &good)])
}

fn read(files: &Files, name: &str) -> String {
    std::fs::read_to_string(files.path(name)).unwrap()
}

#[test]
fn safe_fixes_are_written_and_named_and_others_are_left() {
    let files = files();
    let good = read(&files, "f/good.yaml");
    let ran = files.run(&["lint", "f", "--fix"]);
    let text = read(&files, "f/p.yaml");
    assert!(
        text.contains("{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [pods]}"),
        "{text}"
    );
    assert!(text.contains("\"object.spec.volumes.all(v, !has(v.hostPath))\""), "{text}");
    assert_eq!(read(&files, "f/good.yaml"), good);
    for line in [
        "f/p.yaml:7: fixed: write `CREATE` [selects-nothing]\n",
        "f/p.yaml:9: fixed: write `!` [cel-expression]\n",
    ] {
        assert!(ran.err.contains(line), "{}", ran.err);
    }
    assert!(ran.out.contains("2 policies: 0 errors, 2 warnings"), "{}", ran.out);
    assert_eq!(ran.code, Some(0));
    files.run(&["lint", "f", "--fix", "--unsafe-fixes"]);
    assert!(
        read(&files, "f/p.yaml").contains("object.spec.?volumes.orValue([]).all("),
        "{}",
        read(&files, "f/p.yaml")
    );
    assert_eq!(files.run(&["lint", "f", "--fail-on", "note"]).code, Some(0));
}

#[test]
fn a_dry_run_prints_a_diff_and_writes_nothing() {
    let files = files();
    let ran = files.run(&["lint", "f", "--fix", "--dry-run"]);
    assert_eq!((ran.code, read(&files, "f/p.yaml")), (Some(0), POLICY.to_string()));
    assert!(ran.out.starts_with("--- a/f/p.yaml\n+++ b/f/p.yaml\n@@ "), "{}", ran.out);
    assert!(
        ran.out.contains("\n-  - expression: \"object.spec.volumes.all(v, not has(v.hostPath))\"\n"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("\n+  - expression: \"object.spec.volumes.all(v, !has(v.hostPath))\"\n"),
        "{}",
        ran.out
    );
}

#[test]
fn formats_have_the_fixes_of_each_finding() {
    let files = files();
    let json: Value =
        serde_json::from_str(&files.run(&["lint", "f/p.yaml", "--output-format", "json"]).out).expect("JSON");
    let group = json.as_array().unwrap().iter().find(|f| f["id"] == "selects-nothing").unwrap();
    let fix = &group["fixes"][0];
    assert_eq!((&fix["safe"], &fix["title"]), (&Value::Bool(true), &Value::from("write `\"\"`")));
    let edit = &fix["edits"][0];
    assert_eq!(
        (&edit["line"], &edit["column"], &edit["endColumn"], &edit["text"]),
        (&Value::from(7), &Value::from(20), &Value::from(24), &Value::from("\"\""))
    );
    let sarif: Value =
        serde_json::from_str(&files.run(&["lint", "f/p.yaml", "--output-format", "sarif"]).out)
            .expect("JSON");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().unwrap();
    let fixed = results.iter().find(|r| r["ruleId"] == "selects-nothing").unwrap();
    let change = &fixed["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["artifactLocation"]["uri"], "f/p.yaml");
    assert_eq!(change["replacements"][0]["insertedContent"]["text"], "\"\"");
    for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
        assert_ne!(rule["fullDescription"]["text"], rule["shortDescription"]["text"], "{rule}");
        assert_ne!(rule["help"]["text"], rule["fullDescription"]["text"], "{rule}");
    }
}

#[test]
fn the_flags_need_the_one_that_changes_files() {
    let files = files();
    for flag in ["--dry-run", "--unsafe-fixes"] {
        let ran = files.run(&["lint", "f", flag]);
        assert!(ran.code != Some(0) && ran.err.contains("fix"), "{}", ran.err);
    }
}
