//! Objects that GeneratingPolicies generate, on an API server in memory.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::{Deadline, Gate, Route};
use ephor_controllers::background::intake::WorkIntake;
use ephor_document::yaml_value;
use ephor_external::ExternalData;
use ephor_policies::load::{self, Reader};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::Value;
use ephor_value::release::Release;

use super::api::Api;
use super::{State, controllers, until, usable};

const REQUESTS: &str = "/apis/kyverno.io/v2/namespaces/kyverno/updaterequests";
const SECRETS: &str = "/api/v1/namespaces/shop/secrets";

/// Copies of all Secrets of a namespace.
const COPIES: &str = "variables: [{name: sources, expression: 'resource.List(\"v1\", \"secrets\", \"vault\")'}], \
                      generate: [{expression: 'generator.Apply(\"shop\", [variables.sources])'}]";
/// An object with data for each of these Secrets, named after the trigger too.
const DATA: &str = "variables: [{name: made, expression: 'dyn(resource.List(\"v1\", \"secrets\", \"vault\").items).map(s, \
                    {\"apiVersion\": dyn(\"v1\"), \"kind\": dyn(\"Secret\"), \"metadata\": dyn({\"name\": object.metadata.name + \"-\" + \
                    s.metadata.name, \"namespace\": \"shop\"})})'}], generate: [{expression: 'generator.Apply(\"shop\", variables.made)'}]";

/// A policy that ConfigMaps named `trigger…` trigger when they are created or updated.
fn policy(synchronize: bool, more: &str) -> String {
    format!(
        "{{apiVersion: policies.kyverno.io/v1, kind: GeneratingPolicy, metadata: {{name: copy, generation: 1}}, spec: {{\
         evaluation: {{synchronize: {{enabled: {synchronize}}}}}, \
         matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}}]}}, \
         matchConditions: [{{name: c, expression: \"object.metadata.name.startsWith('trigger')\"}}], {more}}}}}"
    )
}

fn secret(name: &str) -> Value {
    let text = format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: vault, uid: u-{name}, resourceVersion: '1'}}}}"
    );
    yaml_value(&text).unwrap()
}

fn trigger(name: &str) -> Value {
    let text = format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: shop, uid: u-{name}}}}}"
    );
    yaml_value(&text).unwrap()
}

fn in_use(policy: &str, cluster: Arc<dyn ExternalData>) -> Arc<State> {
    let source = SourceText { name: "p.yaml".into(), text: policy.into() };
    let gate = Gate::new(load::argument_for(&[source], Reader::Server(Release::default())), cluster, &[]);
    Arc::new(State { stored: vec![usable(&yaml_value(policy).unwrap())], exceptions: Vec::new(), gate })
}

/// Sends a request about a trigger, takes the work that it causes, and stores or deletes the
/// trigger.
fn sent(api: &Api, gate: &Gate, operation: &str, name: &str) {
    let object = ephor_value::print::json(&trigger(name));
    let objects = match operation {
        "DELETE" => format!(r#""object": null, "oldObject": {object}"#),
        _ => format!(r#""object": {object}"#),
    };
    let review = format!(
        r#"{{"request": {{"uid": "1", "operation": "{operation}", "name": "{name}", "namespace": "shop", "userInfo": {{"username": "anna"}},
            "kind": {{"group": "", "version": "v1", "kind": "ConfigMap"}},
            "resource": {{"group": "", "version": "v1", "resource": "configmaps"}}, {objects}}}}}"#
    );
    let intake = WorkIntake::new(api.cluster.clone(), "kyverno".into(), api.cluster.clone());
    let incoming = decode("application/json", review.as_bytes()).unwrap();
    let route = Route::parse("/gpol/copy").unwrap();
    let due = Deadline::at(Instant::now() + Duration::from_secs(10));
    let decision = gate.answer_of(&route, &incoming, false, &due);
    assert!(decision.answer.allowed(), "{:?}", decision.answer.denial);
    let prepared = decision.prepared.unwrap();
    intake.take(gate, &route, &incoming, &prepared.request, &due).unwrap();
    let path = format!("/api/v1/namespaces/shop/configmaps/{name}");
    match operation {
        "DELETE" => api.cluster.delete(&api.object(&path).unwrap()).unwrap(),
        _ => drop(api.put(&path, &trigger(name))),
    }
}

/// The names of the Secrets that were generated.
fn generated(api: &Api) -> Vec<String> {
    let found = api.cluster.get(SECRETS).unwrap();
    let items = found.get("items").and_then(Value::as_list).unwrap_or_default();
    let mut names: Vec<String> =
        items.iter().map(|object| object.text_at(&["metadata", "name"]).to_string()).collect();
    names.sort();
    names
}

fn is_done(api: &Api) -> bool {
    let found = api.cluster.get(REQUESTS).unwrap();
    found.get("items").and_then(Value::as_list).unwrap().is_empty()
}

/// An API server with the Secrets that the policy looks up, and the policy on them.
fn started(policy: &str) -> (Api, Arc<State>) {
    let api = Api::start();
    let sources = [secret("a"), secret("b")];
    for source in &sources {
        let name = source.text_at(&["metadata", "name"]);
        api.put(&format!("/api/v1/namespaces/vault/secrets/{name}"), source);
    }
    let state = in_use(policy, Arc::new(Objects::new(sources.to_vec())));
    (api, state)
}

#[test]
fn a_trigger_that_is_deleted_takes_along_what_was_generated_of_a_list() {
    for (more, names) in [(COPIES, ["a", "b"]), (DATA, ["trigger-a", "trigger-b"])] {
        let (api, state) = started(&policy(true, more));
        let _controllers = controllers(&api, &Arc::new(Mutex::new(state.clone())));
        sent(&api, &state.gate, "CREATE", "trigger");
        until("all of the list is generated", || generated(&api) == names);
        until("the request is done", || is_done(&api));
        sent(&api, &state.gate, "DELETE", "trigger");
        until("all of it is gone", || generated(&api).is_empty());
    }
}

#[test]
fn what_another_trigger_generated_stays() {
    let (api, state) = started(&policy(true, DATA));
    let _controllers = controllers(&api, &Arc::new(Mutex::new(state.clone())));
    sent(&api, &state.gate, "CREATE", "trigger1");
    sent(&api, &state.gate, "CREATE", "trigger2");
    until("both have generated", || generated(&api).len() == 4 && is_done(&api));
    sent(&api, &state.gate, "DELETE", "trigger1");
    until("one of them is left", || is_done(&api) && generated(&api) == ["trigger2-a", "trigger2-b"]);
}

#[test]
fn a_deletion_is_no_work_of_a_policy_that_is_not_synchronised_or_not_about_the_object() {
    let (api, state) = started(&policy(false, DATA));
    api.put("/api/v1/namespaces/shop/configmaps/trigger", &trigger("trigger"));
    sent(&api, &state.gate, "DELETE", "trigger");
    assert!(is_done(&api));
    let other = policy(true, DATA).replace("resources: [configmaps]", "resources: [pods]");
    let (api, state) = started(&other);
    api.put("/api/v1/namespaces/shop/configmaps/trigger", &trigger("trigger"));
    sent(&api, &state.gate, "DELETE", "trigger");
    assert!(is_done(&api));
}
