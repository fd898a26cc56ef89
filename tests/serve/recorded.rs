//! Answers over HTTP are those that the recorded suites measure.

use ephor_value::release::Release;
use std::sync::Arc;

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::{Deadline, Gate, Route};
use ephor_conformance::data;
use ephor_policies::load::{Reader, argument_for};
use ephor_sources::files;
use ephor_sources::objects::Objects;
use serde_json::{Value, json};

use crate::server::{Client, start};

/// Policy files of the library whose answers are compared.
const POLICIES: [&str; 4] = [
    "best-practices/disallow-latest-tag/disallow-latest-tag.yaml",
    "best-practices/require-probes/require-probes.yaml",
    "best-practices/require-labels/require-labels.yaml",
    "other/add-default-resources/add-default-resources.yaml",
];
/// How many objects are sent to each.
const OBJECTS: usize = 60;

/// A review that creates an object.
fn review(object: &Value) -> Value {
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().unwrap_or_default();
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u", "operation": "CREATE", "object": object, "oldObject": null, "dryRun": false,
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": kind.to_lowercase() + "s"},
            "name": object["metadata"]["name"], "namespace": object["metadata"]["namespace"].as_str().unwrap_or("shop"),
            "userInfo": {"username": "anna"},
        },
    })
}

#[test]
fn the_server_answers_recorded_objects_as_the_gate_does() {
    let needed = ["verdicts/pool.yaml", "kyverno-policies"];
    let Some(dir) = data::folder_with(&needed).unwrap() else { return };
    let pool = std::fs::read_to_string(dir.join("verdicts/pool.yaml")).unwrap();
    let options = ephor_document::ResourceOptions { float_numbers: false };
    let pool = ephor_document::resources("pool.yaml", &pool, options).unwrap();
    let pods = pool.iter().map(|d| ephor_value::print::json(&d.value));
    let pods: Vec<Value> = pods.map(|text| serde_json::from_str(&text).unwrap()).collect();
    let mut kinds: Vec<&Value> =
        pods.iter().filter(|o| o["kind"] == "Pod" || o["kind"] == "Deployment").collect();
    kinds.truncate(OBJECTS);
    assert_eq!(kinds.len(), OBJECTS);
    let mut refused = 0;
    let mut changed = 0;
    for policy in POLICIES {
        let text = std::fs::read_to_string(dir.join("kyverno-policies").join(policy)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.yaml");
        std::fs::write(&path, text.replace("Action: Audit", "Action: Enforce")).unwrap();
        let sources = files::policies(&[path.display().to_string()]).sources;
        let gate = Gate::new(
            argument_for(&sources, Reader::Server(Release::default())),
            Arc::new(Objects::default()),
            &[],
        );
        assert!(gate.broken().is_empty());
        let server = start(&path, &[]);
        let mut client = Client::new(&server.reviews);
        for object in &kinds {
            let body = review(object).to_string();
            for path in ["/validate", "/mutate"] {
                let reply = client.post(path, "application/json", body.as_bytes()).unwrap();
                assert_eq!(reply.status, 200, "{}", reply.body);
                let incoming = decode("application/json", body.as_bytes()).unwrap();
                let decision = gate.answer(&Route::parse(path).unwrap(), &incoming, &Deadline::never());
                assert_eq!(reply.body, decision.answer.to_json(&incoming), "{policy} {path} {object}");
                refused += usize::from(!decision.answer.allowed());
                changed += usize::from(!decision.answer.patch.is_empty());
            }
        }
    }
    assert!(refused > 20 && changed > 20, "{changed} objects were changed, {refused} refused");
}
