//! MutatingPolicies on objects that exist, on an API server in memory.

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

const FIRST: &str = "/api/v1/namespaces/shop/secrets/first";
const OTHER: &str = "/api/v1/namespaces/shop/secrets/other";
const REQUESTS: &str = "/apis/kyverno.io/v2/namespaces/kyverno/updaterequests";

const LABEL: &str = "mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: \"Object{metadata: Object.metadata{labels: {'from': request.object.metadata.name}}}\"}}]";

/// A policy that config maps named `trigger…` trigger, with what it says about targets.
fn policy(more: &str) -> String {
    format!(
        "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: mark, generation: 1}}, spec: {{\
         evaluation: {{mutateExisting: {{enabled: true}}}}, \
         matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE, DELETE], resources: [configmaps]}}]}}, \
         matchConditions: [{{name: c, expression: \"request.operation == 'DELETE' || object.metadata.name.startsWith('trigger')\"}}], {more}}}}}"
    )
}

const SECRETS: &str = "targetMatchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [secrets]}]}, \
                       targetMatchConditions: [{name: t, expression: \"object.metadata.name != 'other'\"}]";

fn secret(name: &str) -> Value {
    let text = format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: shop, uid: u-{name}}}}}"
    );
    yaml_value(&text).unwrap()
}

fn in_use(policy: &str, cluster: Arc<dyn ExternalData>) -> Arc<State> {
    let source = SourceText { name: "p.yaml".into(), text: policy.into() };
    let gate = Gate::new(load::argument_for(&[source], Reader::Server(Release::default())), cluster, &[]);
    Arc::new(State { stored: vec![usable(&yaml_value(policy).unwrap())], exceptions: Vec::new(), gate })
}

fn config_map(name: &str) -> Value {
    let name = if name.is_empty() { "generateName: trigger-".into() } else { format!("name: {name}") };
    yaml_value(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{{name}, namespace: shop}}}}"))
        .unwrap()
}

/// The review of a request about a config map, before the object has an identifier.
fn review(operation: &str, name: &str, user: &str) -> String {
    let object = ephor_value::print::json(&config_map(name));
    let objects = match operation {
        "DELETE" => format!(r#""object": null, "oldObject": {object}"#),
        _ => format!(r#""object": {object}"#),
    };
    format!(
        r#"{{"request": {{"uid": "1", "operation": "{operation}", "name": "{name}", "namespace": "shop", "userInfo": {{"username": "{user}"}},
            "kind": {{"group": "", "version": "v1", "kind": "ConfigMap"}},
            "resource": {{"group": "", "version": "v1", "resource": "configmaps"}}, {objects}}}}}"#
    )
}

/// Answers a review as the server does, and takes its work.
fn sent(api: &Api, gate: &Gate, review: &str) {
    let intake = WorkIntake::new(api.cluster.clone(), "kyverno".into(), api.cluster.clone());
    let incoming = decode("application/json", review.as_bytes()).unwrap();
    let route = Route::parse("/mpol/mark").unwrap();
    let due = Deadline::at(Instant::now() + Duration::from_secs(10));
    let decision = gate.answer_of(&route, &incoming, intake.is_own(&incoming), &due);
    let answer = &decision.answer;
    assert!(answer.allowed() && answer.patch.is_empty(), "{:?} {:?}", answer.denial, answer.patch);
    let prepared = decision.prepared.unwrap();
    intake.take(gate, &route, &incoming, &prepared.request, &due).unwrap();
}

fn requests(api: &Api) -> usize {
    let found = api.cluster.get(REQUESTS).unwrap();
    found.get("items").and_then(Value::as_list).unwrap().len()
}

fn from(api: &Api, path: &str) -> Option<String> {
    let object = api.object(path)?;
    Some(object.at(&["metadata", "labels", "from"])?.as_str()?.to_string())
}

/// An API server with two secrets.
fn api() -> Api {
    let api = Api::start();
    api.put(FIRST, &secret("first"));
    api.put(OTHER, &secret("other"));
    api
}

fn data() -> Arc<dyn ExternalData> {
    Arc::new(Objects::new(vec![secret("first"), secret("other")]))
}

#[test]
fn a_request_changes_the_objects_that_the_policy_selects_and_not_that_of_the_request() {
    let api = api();
    let state = in_use(&policy(&format!("{SECRETS}, {LABEL}")), data());
    sent(&api, &state.gate, &review("CREATE", "trigger", "anna"));
    assert_eq!(requests(&api), 1);
    api.put("/api/v1/namespaces/shop/configmaps/trigger", &config_map("trigger"));
    let _controllers = controllers(&api, &Arc::new(Mutex::new(state)));
    until("a secret is changed", || from(&api, FIRST).is_some());
    until("the requests are gone", || requests(&api) == 0);
    // First by the request, then because the policy is new: that one has no trigger.
    assert_eq!(from(&api, OTHER), None);
}

#[test]
fn a_deletion_is_a_trigger_and_conditions_hold_for_the_trigger() {
    let api = api();
    let marks = LABEL.replace("request.object", "request.oldObject");
    let targets = SECRETS
        .replace("object.metadata.name !=", "request.kind.kind == 'ConfigMap' && object.metadata.name !=");
    let state = in_use(&policy(&format!("{targets}, {marks}")), data());
    sent(&api, &state.gate, &review("DELETE", "gone", "anna"));
    sent(&api, &state.gate, &review("CREATE", "unrelated", "anna"));
    api.put("/api/v1/namespaces/shop/configmaps/unrelated", &config_map("unrelated"));
    let _controllers = controllers(&api, &Arc::new(Mutex::new(state)));
    until("a secret is changed", || from(&api, FIRST).as_deref() == Some("gone"));
    until("the requests are gone", || requests(&api) == 0);
    assert_eq!(from(&api, FIRST).as_deref(), Some("gone"));
}

#[test]
fn an_expression_returns_the_objects_and_what_is_as_it_should_be_is_not_written() {
    let api = api();
    let returned = "targetMatchConstraints: {expression: \"resource.get('v1', 'secrets', object.metadata.namespace, 'other')\"}";
    let state = in_use(&policy(&format!("{returned}, {LABEL}")), data());
    // Its name comes from the API server, after it has been mutated.
    let named = review("CREATE", "", "anna");
    sent(&api, &state.gate, &named.replace("trigger-\"", "trigger-\", \"name\": \"trigger\""));
    api.put("/api/v1/namespaces/shop/configmaps/trigger", &config_map("trigger"));
    let state = Arc::new(Mutex::new(state));
    let running = controllers(&api, &state);
    until("the secret is changed", || from(&api, OTHER).as_deref() == Some("trigger"));
    until("the requests are gone", || requests(&api) == 0);
    assert_eq!(from(&api, FIRST), None);
    drop(running);
}

#[test]
fn a_new_policy_changes_what_exists_and_a_change_that_changes_nothing_is_not_written() {
    let api = api();
    let own = "mutations: [{patchType: JSONPatch, jsonPatch: {expression: \"[JSONPatch{op: 'add', path: '/metadata/labels', value: {'from': 'policy'}}]\"}}]";
    let state = Arc::new(Mutex::new(in_use(&policy(&format!("{SECRETS}, {own}")), data())));
    let running = controllers(&api, &state);
    until("a secret is changed", || from(&api, FIRST).as_deref() == Some("policy"));
    until("the requests are gone", || requests(&api) == 0);
    drop(running);
    api.writes();
    let again = policy(&format!("{SECRETS}, {own}")).replace("generation: 1", "generation: 2");
    *state.lock().unwrap() = in_use(&again.replace("name: t,", "name: again,"), data());
    let _running = controllers(&api, &state);
    let is_request = |write: &String| write.starts_with("DELETE") && write.contains("updaterequests");
    let seen = Mutex::new(Vec::new());
    until("the policy was acted on again", || {
        let mut seen = seen.lock().unwrap();
        seen.extend(api.writes());
        seen.iter().any(is_request)
    });
    let seen = seen.into_inner().unwrap();
    assert!(!seen.iter().any(|write| write.contains("/secrets/")), "{seen:?}");
}

#[test]
fn requests_of_the_controllers_themselves_are_no_triggers_and_are_not_changed() {
    let api = api();
    let own = api.cluster.user_name().unwrap();
    let label = LABEL.replace("request.object.metadata.name", "'x'");
    let state = in_use(&policy(&label), data());
    sent(&api, &state.gate, &review("CREATE", "trigger", &own));
    assert_eq!(requests(&api), 0);
    let incoming = decode("application/json", review("CREATE", "trigger", "anna").as_bytes()).unwrap();
    let answer =
        state.gate.answer(&Route::parse("/mpol/mark").unwrap(), &incoming, &Deadline::never()).answer;
    assert!(!answer.patch.is_empty());
    let taking = label.replace(
        "mutations:",
        "evaluation: {mutateExisting: {enabled: true}, skipBackgroundRequests: false}, mutations:",
    );
    let taking = policy(&taking).replacen("evaluation: {mutateExisting: {enabled: true}},", "", 1);
    let state = in_use(&taking, data());
    let incoming = decode("application/json", review("CREATE", "trigger", &own).as_bytes()).unwrap();
    let route = Route::parse("/mpol/mark").unwrap();
    let answer = state.gate.answer_of(&route, &incoming, true, &Deadline::never()).answer;
    assert!(!answer.patch.is_empty());
}
