//! `ephor replay`: what policies would have answered to the requests of audit logs. The logs in
//! `tests/audit` are of kube-apiserver 1.36.3 (`conformance/kube/audit-log.py`).
#![allow(clippy::expect_used)]

use std::io::Write as _;

use crate::common::{Files, Ran};

/// Denies the tag `latest`, audits missing teams, and adds a label.
const POLICIES: &str = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: images}
spec:
  rules:
  - name: no-latest
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {failureAction: Enforce, message: no latest, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {failureAction: Audit, message: team is missing, pattern: {metadata: {labels: {team: "?*"}}}}
  - name: add
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {seen: "yes"}}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: removals}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [DELETE], resources: [configmaps]}]}
  validations:
  - {message: "has data", expression: "!has(oldObject.data)"}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: growing}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}]}
  validations:
  - {message: more data, expression: "oldObject == null || object.data.size() <= oldObject.data.size()"}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: shells}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec]}]}
  validations:
  - {message: no shell, expression: "!('sh' in object.command)"}
"#;

fn log(name: &str) -> String {
    format!("{}/tests/audit/{name}.jsonl", env!("CARGO_MANIFEST_DIR"))
}

fn replayed(files: &Files, log: &str, more: &[&str]) -> (Ran, serde_json::Value) {
    let arguments = [&["replay", log, "--policies", "p.yaml", "--output-format", "json"][..], more].concat();
    let ran = files.run(&arguments);
    let report = serde_json::from_str(&ran.out).unwrap_or_default();
    (ran, report)
}

/// `POLICY/RULE: denied audited changed error` of each rule.
fn rules(report: &serde_json::Value) -> Vec<String> {
    let rows = report["rules"].as_array().cloned().unwrap_or_default();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let row = |row: &serde_json::Value| {
        let counts = ["denied", "audited", "changed", "error"].map(|key| row[key].to_string());
        format!("{}/{}: {}", text(row, "policy"), text(row, "rule"), counts.join(" "))
    };
    rows.iter().map(row).collect()
}

#[test]
fn a_log_with_answers_shows_what_each_rule_would_have_done() {
    let files = Files::new(&[("p.yaml", POLICIES)]);
    let (ran, report) = replayed(&files, &log("request-response"), &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    // Pods `a`, its double and the dry run; of ConfigMaps both that were deleted, one of them with
    // others; the JSON patch that adds data; `kubectl exec … sh`.
    assert_eq!(
        rules(&report),
        [
            "images/autogen-no-latest: 1 0 0 0",
            "images/no-latest: 2 0 0 0",
            "labels/add: 0 0 1 0",
            "labels/team: 0 4 0 0",
            "growing/: 1 0 0 0",
            "removals/: 2 0 0 0",
            "shells/: 1 0 0 0",
        ]
    );
    assert_eq!(report["summary"]["denied"], 7);
    assert_eq!(report["deniedThenAdmitted"], 6, "the connection failed then");
    assert_eq!(report["notEvaluated"]["missing"], serde_json::json!([]));
    assert_eq!(report["users"]["admin"]["denied"], 7);
    assert_eq!(report["namespaces"]["web"]["changed"], 1);
    assert_eq!(report["hours"].as_object().expect("hours").len(), 1);
    let first = &report["rules"][1]["examples"][0];
    assert_eq!(
        (first["line"].as_u64(), first["object"].as_str(), first["user"].as_str()),
        (Some(4), Some("pods web/a"), Some("admin"))
    );
}

#[test]
fn what_a_log_does_not_hold_is_counted_and_named() {
    let files = Files::new(&[("p.yaml", POLICIES)]);
    let (_, report) = replayed(&files, &log("request"), &[]);
    let missing = report["notEvaluated"]["missing"].as_array().expect("a list");
    let counts: Vec<(&str, u64)> = missing
        .iter()
        .map(|row| (row["reason"].as_str().expect("text"), row["count"].as_u64().expect("a number")))
        .collect();
    assert_eq!(
        counts,
        [
            ("patches without the patched object: their level is Request", 5),
            ("deletions of objects that the log does not show", 2),
            ("deletions of collections whose objects are not in the log: their level is Request", 1),
        ]
    );
    assert_eq!(report["updatesWithoutObjectBefore"], 2);
    assert_eq!(report["summary"]["requests"], 13);
}

#[test]
fn two_sets_of_policies_are_compared_request_by_request() {
    let without =
        POLICIES.replace("!*:latest", "*").replace("failureAction: Audit", "failureAction: Enforce");
    let files = Files::new(&[("p.yaml", POLICIES), ("old.yaml", &without)]);
    let (ran, report) = replayed(&files, &log("request-response"), &["--compare", "old.yaml"]);
    assert_eq!(ran.code, Some(1));
    let compared = &report["comparedWith"];
    let counts = ["newlyDenied", "noLongerDenied", "deniedByBoth"].map(|key| compared[key].as_u64());
    // Two of the four ConfigMaps without team were so before: updates of them are admitted.
    assert_eq!(counts, [Some(3), Some(2), Some(4)]);
    assert_eq!(compared["onlyOthers"][0]["policy"], "labels");
    let (same, report) = replayed(&files, &log("request-response"), &["--compare", "p.yaml"]);
    assert_eq!((same.code, &report["comparedWith"]["onlyThese"]), (Some(0), &serde_json::json!([])));
}

#[test]
fn the_same_is_shown_for_any_number_of_threads_and_for_compressed_logs() {
    let files = Files::new(&[("p.yaml", POLICIES)]);
    let plain = std::fs::read(log("request-response")).expect("a log");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("bytes");
    files.write("logs/audit.jsonl", &gzip.finish().expect("bytes"));
    let text =
        |threads: &str| files.run(&["replay", "logs", "--policies", "p.yaml", "--threads", threads]).out;
    assert_eq!(text("1"), text("4"));
    assert!(text("1").contains("7 denied (6 of them admitted then)"), "{}", text("1"));
}

#[test]
fn the_page_loads_nothing_and_shows_every_rule() {
    let files = Files::new(&[("p.yaml", POLICIES)]);
    let ran =
        files.run(&["replay", &log("request-response"), "--policies", "p.yaml", "--report-file", "r.html"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    let page = std::fs::read_to_string(files.path("r.html")).expect("a page");
    assert!(page.contains("default-src 'none'") && !page.contains("http://") && !page.contains("<script"));
    for rule in ["ClusterPolicy images/no-latest", "ValidatingPolicy removals", "By hour", "By user"] {
        assert!(page.contains(rule), "{rule}");
    }
}

#[test]
fn values_of_secrets_are_in_no_report() {
    let policy = r#"apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: secrets}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}
  validations:
  - {expression: "false", messageExpression: "'holds ' + object.data.password"}
"#;
    let files = Files::new(&[("p.yaml", policy)]);
    let (ran, report) = replayed(&files, &log("request-response"), &[]);
    assert_eq!(report["summary"]["denied"], 1);
    assert!(ran.out.contains("holds **REDACTED**") && !ran.out.contains("Y29ycmVjdC1ob3JzZQ"), "{}", ran.out);
}

#[test]
fn decisions_of_the_server_with_their_objects_are_replayed() {
    let line = |stage: &str, path: &str, object: &str| {
        format!(
            r#"{{"time":"2026-11-30T10:00:00Z","stage":"{stage}","path":"{path}","uid":"1","operation":"CREATE","user":"anna","group":"","version":"v1","kind":"Pod","resource":"pods","subResource":"","namespace":"web","name":"a","dryRun":false,"allowed":true,"patch":[],"warnings":[],"milliseconds":1.0,"results":[]{object}}}"#
        )
    };
    let pod = r#","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"web"},"spec":{"containers":[{"name":"c","image":"nginx:latest"}]}}"#;
    let all =
        [line("answer", "/mutate", pod), line("answer", "/validate", pod), line("audit", "/validate", "")];
    let files = Files::new(&[("p.yaml", POLICIES), ("own.jsonl", &all.join("\n"))]);
    let (_, report) = replayed(&files, "own.jsonl", &[]);
    assert_eq!((&report["summary"]["denied"], &report["users"]["anna"]["denied"]), (&1.into(), &1.into()));
    files.write("own.jsonl", line("answer", "/validate", "").as_bytes());
    let (ran, report) = replayed(&files, "own.jsonl", &[]);
    assert_eq!(ran.code, Some(2));
    assert!(
        report["notEvaluated"]["missing"][0]["reason"]
            .as_str()
            .expect("text")
            .contains("--audit-log-objects")
    );
}

#[test]
fn bad_logs_are_errors_with_their_place_and_what_was_read_is_shown() {
    let files = Files::new(&[("p.yaml", POLICIES), ("no.log", "kind: Pod\n"), ("empty.log", "")]);
    let text = std::fs::read_to_string(log("request-response")).expect("a log");
    let ran = |name: &str| files.run(&["replay", name, "--policies", "p.yaml"]);
    let no = ran("no.log");
    assert_eq!(no.code, Some(2));
    assert!(no.err.contains("Error: no.log:1: this is no line of an audit log"), "{}", no.err);
    assert_eq!(ran("empty.log").code, Some(2));
    assert!(
        ran("missing.log").err.contains("missing.log:1: the log breaks off: No such file"),
        "{}",
        ran("missing.log").err
    );
    // A line that is none, and a last one that was cut off.
    files.write("cut.log", format!("{}\n{{}}\n{}", text.trim_end(), &text[..200]).as_bytes());
    let cut = ran("cut.log");
    assert_eq!(cut.code, Some(1), "{}", cut.err);
    assert!(
        cut.out.contains("1 lines that are none of an audit log (first: cut.log:46: it has neither"),
        "{}",
        cut.out
    );
    assert!(cut.out.contains("1 lines that were cut off (first: cut.log:47:"), "{}", cut.out);
    // Compressed bytes that break off.
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.repeat(50).as_bytes()).expect("bytes");
    let bytes = gzip.finish().expect("bytes");
    files.write("cut.gz", &bytes[..bytes.len() / 2]);
    let cut = ran("cut.gz");
    assert_eq!(cut.code, Some(2));
    assert!(cut.err.contains("the log breaks off") && cut.out.contains("denied"), "{}{}", cut.err, cut.out);
}

#[test]
fn a_command_line_that_names_too_little_is_refused() {
    let files = Files::new(&[
        ("p.yaml", POLICIES),
        ("none.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"),
    ]);
    let ran = |arguments: &[&str]| files.run(arguments);
    assert!(ran(&["replay"]).err.contains("audit log required"));
    assert!(ran(&["replay", "a.log"]).code != Some(0));
    let none = ran(&["replay", &log("request"), "--policies", "none.yaml"]);
    assert!(none.err.contains("there is no policy") && none.code != Some(0), "{}", none.err);
    let format = ran(&["replay", &log("request"), "--policies", "p.yaml", "--report-file", "x.pdf"]);
    assert!(format.code != Some(0) && !files.path("x.pdf").exists());
}

#[test]
fn what_rules_need_and_is_not_there_decides_nothing() {
    let policy = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: prod-only}
spec:
  rules:
  - name: labelled
    match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {env: prod}}}}]}
    validate: {failureAction: Enforce, message: x, pattern: {metadata: {labels: {a: "?*"}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: admins}
spec:
  background: false
  rules:
  - name: labelled
    match: {any: [{resources: {kinds: [Secret]}, clusterRoles: [cluster-admin]}]}
    validate: {failureAction: Enforce, message: x, pattern: {metadata: {labels: {a: "?*"}}}}
---
"#;
    let files = Files::new(&[
        ("p.yaml", &format!("{policy}{POLICIES}")),
        ("data.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {env: prod}}\n"),
    ]);
    let (without, report) = replayed(&files, &log("request-response"), &[]);
    let summary = (&report["summary"]["denied"], &report["undecided"]);
    assert_eq!(summary, (&7.into(), &9.into()), "{}", without.out);
    assert!(without.err.contains("rules match by the labels of namespaces"), "{}", without.err);
    let (_, report) = replayed(&files, &log("request-response"), &["--data", "data.yaml"]);
    let row = report["rules"].as_array().expect("rules").iter().find(|row| row["policy"] == "prod-only");
    assert!(row.is_some_and(|row| row["denied"].as_u64() > Some(0)), "{report}");
}
