//! Changed and new objects of `ephor apply`, byte for byte as the reference prints them.
#![allow(clippy::expect_used)]

use crate::common::Files;

const POLICIES: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: add
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {team: web}}}}
  - name: check
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: team is needed, pattern: {metadata: {labels: {team: web}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: quota}
spec:
  rules:
  - name: make
    match: {any: [{resources: {kinds: [Namespace]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: c, namespace: '{{ request.object.metadata.name }}', data: {data: {a: b}}}
";

const RESOURCES: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: web}
data: {z: '1', a: 'b: c'}
---
apiVersion: v1
kind: Namespace
metadata: {name: blue}
";

fn files() -> Files {
    Files::new(&[("p.yaml", POLICIES), ("r.yaml", RESOURCES)])
}

fn read(files: &Files, name: &str) -> String {
    std::fs::read_to_string(files.path(name)).expect("the file was written")
}

fn body(out: &str) -> String {
    out.lines().filter(|l| !l.starts_with("Warning: ")).map(|l| format!("{l}\n")).collect()
}

#[test]
fn every_policy_with_mutate_rules_shows_every_object_before_the_results() {
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml", "--remove-color"]);
    insta::assert_snapshot!(body(&ran.out));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn without_headers_the_objects_can_be_piped() {
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml", "-i", "--remove-color"]);
    let out = body(&ran.out);
    assert!(out.starts_with("\napiVersion: v1\ndata:\n    a: 'b: c'\n"), "{out}");
    assert!(!out.contains("applied to"), "{out}");
}

#[test]
fn a_folder_gets_a_file_for_each_resource_and_policy() {
    let files = files();
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "-o", "out", "--remove-color"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let read = |name: &str| read(&files, &format!("out/{name}"));
    assert!(read("one-mutated.yaml").contains("        team: web\n"));
    assert!(read("blue-mutated.yaml").ends_with("    name: blue\n\n---\n\n"));
    assert!(read("quota-generated.yaml").contains("kind: ConfigMap\n"));
    assert!(!ran.out.contains("team: web"), "{}", ran.out);
}

#[test]
fn a_file_gets_all_objects_and_is_emptied_first() {
    let files = files();
    for _ in 0..2 {
        files.run(&["apply", "p.yaml", "-r", "r.yaml", "-o", "out.yaml"]);
    }
    assert_eq!(read(&files, "out.yaml").matches("\n---\n").count(), 3);
    files.run(&["apply", "p.yaml", "-r", "r.yaml", "-o", "yaml"]);
    assert_eq!(read(&files, "yaml").matches("\n---\n").count(), 3);
}

#[test]
fn deletions_are_listed_with_their_time() {
    let files = Files::new(&[
        (
            "p.yaml",
            "apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: old, creationTimestamp: '2026-01-01T00:00:00Z'}
spec:
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
  schedule: 30 4 * * 1
  conditions: {all: [{key: '{{ target.metadata.name }}', operator: Equals, value: a*}]}
status: {lastExecutionTime: '2026-11-20T00:00:00Z'}
",
        ),
        (
            "r.yaml",
            "apiVersion: v1
kind: ConfigMap
metadata: {name: a1, namespace: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: web, creationTimestamp: '2026-01-01T10:00:00Z', labels: {cleanup.kyverno.io/ttl: 1d}}
---
apiVersion: v1
kind: Secret
metadata: {name: c, namespace: web, labels: {cleanup.kyverno.io/ttl: 90m}}
---
apiVersion: v1
kind: Secret
metadata: {name: d, namespace: web, labels: {cleanup.kyverno.io/ttl: soon}}
",
        ),
    ]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--deletions"]);
    let (_, listed) = ran.out.split_once("\nDeletions:\n").expect("a list of deletions");
    assert_eq!(
        listed,
        "  web/ConfigMap/a1: 2026-11-23T04:30:00Z (ClusterCleanupPolicy `old`)
  web/ConfigMap/b: 2026-01-02T10:00:00Z (label `cleanup.kyverno.io/ttl: 1d`)
  web/Secret/c: 1h30m0s after its creation (label `cleanup.kyverno.io/ttl: 90m`)
  web/Secret/d: never: neither a duration nor a date (label `cleanup.kyverno.io/ttl: soon`)
"
    );
    assert!(!files.run(&["apply", "p.yaml", "-r", "r.yaml"]).out.contains("Deletions"));
}
