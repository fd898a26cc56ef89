//! Runs whose external data is recorded, and runs that a recording answers: the same bytes, and no
//! request.
#![allow(clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use ephor_conformance::data;

use crate::cluster::Server;
use crate::common::oci::{self, Oci, TEAM_KEY};
use crate::common::{Files, Ran};

/// A policy that draws, and shows the time.
const CHANCE: &str = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: chance}
spec:
  rules:
  - name: drawn
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: "{{ random('[a-z]{12}') }} at {{ time_now_utc() }}"
      deny: {}
"#;

fn pods(count: usize) -> String {
    let pod = |n| format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p{n}, namespace: web}}\n");
    (0..count).map(pod).collect::<Vec<_>>().join("---\n")
}

/// A run that is recorded, and what it prints when it is given again with other numbers of threads.
fn again(files: &Files, arguments: &[&str]) -> (Ran, Ran) {
    let recorded = files.run(&[arguments, &["--record", "run.jsonl"]].concat());
    for threads in ["1", "4"] {
        let given = files.run(&[arguments, &["--replay", "run.jsonl", "--threads", threads]].concat());
        assert_eq!((&given.out, &given.err, given.code), (&recorded.out, &recorded.err, recorded.code));
        if threads == "4" {
            return (recorded, given);
        }
    }
    unreachable!()
}

#[test]
fn chance_and_time_are_those_of_the_recording_in_every_format() {
    let files = Files::new(&[("p.yaml", CHANCE), ("r.yaml", &pods(40))]);
    for format in ["text", "json", "junit", "sarif", "html", "yaml"] {
        let (recorded, _) = again(&files, &["apply", "p.yaml", "-r", "r.yaml", "--output-format", format]);
        assert_eq!(recorded.code, Some(1), "{}", recorded.err);
        assert!(recorded.out.contains(" at 20"), "{format}: {}", recorded.out);
    }
    let drawn = |ran: &Ran| {
        let words = ran.out.lines().filter_map(|l| l.split_once(" at 20")).map(|(l, _)| l.to_owned());
        words.collect::<std::collections::BTreeSet<_>>()
    };
    let arguments = ["apply", "p.yaml", "-r", "r.yaml", "--output-format", "text"];
    let (one, _) = again(&files, &arguments);
    let (other, _) = again(&files, &arguments);
    assert!(drawn(&one).len() >= 40, "{}", one.out);
    assert!(drawn(&one).is_disjoint(&drawn(&other)), "each recording has a chance of its own");
}

#[test]
fn objects_of_a_cluster_come_from_the_recording_and_the_cluster_gets_no_request() {
    let list =
        |kind: &str, items: &str| format!(r#"{{"apiVersion":"v1","kind":"{kind}List","items":[{items}]}}"#);
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad","namespace":"web"}}"#;
    let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"web"}}"#;
    let server = Server::new(&[
        ("/api/v1/configmaps?limit=500", 200, &list("ConfigMap", map)),
        ("/api/v1/namespaces?limit=500", 200, &list("Namespace", namespace)),
    ]);
    let files = Files::new(&[("config", &server.kubeconfig()), ("p.yaml", crate::common::POLICY)]);
    let arguments = ["apply", "p.yaml", "--cluster", "--kubeconfig", "config", "--output-format", "text"];
    let recorded = files.run(&[&arguments[..], &["--record", "run.jsonl"]].concat());
    assert!(recorded.out.contains("label team is needed"), "{}{}", recorded.out, recorded.err);
    let before = server.requests().len();
    assert!(before > 0);
    // Not even a configuration of the cluster is needed.
    std::fs::remove_file(files.path("config")).expect("a file");
    let given = files.run(&[&arguments[..], &["--replay", "run.jsonl"]].concat());
    assert_eq!((given.out, given.code), (recorded.out, recorded.code));
    assert_eq!(server.requests().len(), before);
}

#[test]
fn a_registry_gets_no_request_and_a_recording_holds_no_password() {
    let mut oci = Oci::start();
    let signed = oci.image("app", "signed");
    oci.sign("app", &signed, &oci::team(), &signed, None);
    oci.close("reader", "correct-horse");
    let key = serde_json::to_string(TEAM_KEY).expect("text");
    let policy = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    verifyImages:\n    - imageReferences: ['{}/*']\n      failureAction: Enforce\n      mutateDigest: false\n      verifyDigest: false\n      required: false\n      attestors: [{{entries: [{{keys: {{publicKeys: {key}, rekor: {{ignoreTlog: true}}, ctlog: {{ignoreSCT: true}}}}}}]}}]\n",
        oci.host
    );
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{name: c, image: '{}'}}]}}\n",
        oci.name("app", "signed")
    );
    let files = Files::new(&[("p.yaml", &policy), ("r.yaml", &pod)]);
    let login = base64_of("reader:correct-horse");
    files.write("config.json", format!(r#"{{"auths":{{"{}":{{"auth":"{login}"}}}}}}"#, oci.host).as_bytes());
    let folder = files.path("").to_string_lossy().into_owned();
    let arguments = ["apply", "p.yaml", "-r", "r.yaml", "--registry", "--output-format", "json"];
    let run = |more: &[&str], has_login: bool| {
        let mut program = files.program(&[&arguments[..], more].concat());
        match has_login {
            true => program.env("DOCKER_CONFIG", &folder),
            false => program.env("DOCKER_CONFIG", "nowhere"),
        };
        Ran::new(program.output().expect("the program runs"))
    };
    let recorded = run(&["--record", "run.jsonl"], true);
    assert_eq!(recorded.code, Some(0), "{}{}", recorded.out, recorded.err);
    let before = oci.questions();
    let given = run(&["--replay", "run.jsonl"], false);
    assert_eq!((given.out, given.err, given.code), (recorded.out, recorded.err, recorded.code));
    assert_eq!(oci.questions(), before);
    let text = std::fs::read_to_string(files.path("run.jsonl")).expect("a recording");
    assert!(!text.contains(&login) && !text.contains("correct-horse"), "{text}");
}

fn base64_of(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn what_a_recording_does_not_hold_is_named_and_ends_the_run_with_2() {
    let oci = Oci::start();
    let policy = r#"apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations:
  - expression: http.Get(object.metadata.annotations.url).ok == true
"#;
    let pod = |path: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, annotations: {{url: 'http://{}{path}'}}}}\n",
            oci.host.replace("127.0.0.1", "0.0.0.0")
        )
    };
    let files = Files::new(&[("p.yaml", policy), ("r.yaml", &pod("/v2/"))]);
    let arguments = ["apply", "p.yaml", "-r", "r.yaml", "--output-format", "text"];
    files.run(&[&arguments[..], &["--record", "run.jsonl"]].concat());
    files.write("r.yaml", pod("/other").as_bytes());
    let before = oci.questions();
    let given = files.run(&[&arguments[..], &["--replay", "run.jsonl"]].concat());
    assert_eq!((given.code, oci.questions()), (Some(2), before));
    let wanted = format!(
        "warning: the recording run.jsonl holds no answer to GET http://{}/other",
        oci.host.replace("127.0.0.1", "0.0.0.0")
    );
    assert!(given.err.contains(&wanted), "{}", given.err);
}

#[test]
fn a_recording_is_no_input_and_no_output_of_something_else() {
    let files = Files::new(&[("p.yaml", CHANCE), ("r.yaml", &pods(1))]);
    let both = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--record", "a", "--replay", "b"]);
    assert!(both.code != Some(0) && both.err.contains("--replay"), "{}", both.err);
    let over = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--record", "r.yaml"]);
    assert!(over.code != Some(0), "{}", over.out);
    assert_eq!(std::fs::read_to_string(files.path("r.yaml")).expect("resources"), pods(1));
    let other = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--replay", "r.yaml"]);
    assert!(other.err.contains("r.yaml:1: this is no recording"), "{}", other.err);
}

/// The folders of the public suites with the policy and the resources of their tests.
fn folders(suite: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    let mut waiting = vec![suite.to_owned()];
    while let Some(folder) = waiting.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|e| e.path());
        let mut entries: Vec<PathBuf> = entries.collect();
        entries.sort();
        waiting.extend(entries.iter().filter(|path| path.is_dir()).cloned());
        let resources = folder.join(".kyverno-test/resource.yaml");
        let policy = entries.iter().find(|path| path.extension().is_some_and(|e| e == "yaml"));
        if let (true, Some(policy)) = (resources.exists(), policy) {
            found.push((policy.clone(), resources));
        }
    }
    found.sort();
    found
}

#[test]
fn the_test_folders_of_the_public_suite_give_the_same_bytes() {
    let Some(suite) = data::recorded("kyverno-policies").expect("recorded suites") else { return };
    let folders = folders(&suite);
    assert!(folders.len() > 100, "{}", folders.len());
    let files = Files::new(&[]);
    // All of them take a minute.
    let step = std::env::var("EPHOR_RECORDINGS_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(4);
    for (policy, resources) in folders.iter().step_by(step) {
        let (policy, resources) = (policy.to_string_lossy(), resources.to_string_lossy());
        again(&files, &["apply", &policy, "-r", &resources, "--policy-report"]);
    }
}
