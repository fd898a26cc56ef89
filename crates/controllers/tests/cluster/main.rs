//! Controllers on an API server in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod background;
mod certificates;
mod generated;
mod scans;
mod shards;
mod targets;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use api::Api;
use ephor_admission::admit::Gate;
use ephor_admission::registration::{Address, Options, WebhookNames};
use ephor_admission::settings::Settings;
use ephor_controllers::background::event_sink::EventSink;
use ephor_controllers::in_use::{InUse, Source, StoredPolicy};
use ephor_controllers::lease::{Leader, LeaseName, Times};
use ephor_controllers::manager::{Controllers, ManagerSetup};
use ephor_controllers::native::Made;
use ephor_controllers::webhooks::{self, WebhookError, WebhookPlan};
use ephor_document::yaml_value;
use ephor_external::NoData;
use ephor_ir::policy::Cleanup;
use ephor_policies::load::Policies;
use ephor_value::Value;

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}

struct State {
    stored: Vec<StoredPolicy>,
    exceptions: Vec<Value>,
    gate: Gate,
}

impl InUse for State {
    fn stored(&self) -> &[StoredPolicy] {
        &self.stored
    }

    fn exceptions(&self) -> &[Value] {
        &self.exceptions
    }

    fn cleanups(&self) -> &[Cleanup] {
        &[]
    }

    fn settings(&self) -> Option<&Settings> {
        None
    }

    fn gate(&self) -> &Gate {
        &self.gate
    }
}

fn state(stored: Vec<StoredPolicy>, exceptions: Vec<Value>) -> Arc<State> {
    Arc::new(State { stored, exceptions, gate: Gate::new(Policies::default(), Arc::new(NoData), &[]) })
}

fn usable(document: &Value) -> StoredPolicy {
    StoredPolicy { document: document.clone(), problem: None }
}

fn plan(take_over: bool) -> WebhookPlan {
    let address = Address::Service { namespace: "kyverno".into(), name: "svc".into(), port: 443 };
    let options = Options { names: WebhookNames::Kyverno, ..Options::of(address) };
    WebhookPlan { options, authority: None, secret: None, take_over, is_served: Arc::new(|_, _| true) }
}

fn lease(identity: &str) -> LeaseName {
    LeaseName { namespace: "kyverno".into(), name: "ephor".into(), identity: identity.into() }
}

fn quick() -> Times {
    Times { lease: Duration::from_secs(2), renew: Duration::from_secs(1), retry: Duration::from_millis(20) }
}

const POLICY: &str = "/apis/kyverno.io/v1/clusterpolicies/need-team";
const CONFIGURATION: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/kyverno-resource-validating-webhook-cfg";
const NATIVE: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/cpol-need-team";

fn policy(body: &str) -> Value {
    yaml_value(&format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: need-team, generation: 1}}, spec: {{rules: [{{name: team, match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, validate: {body}}}]}}}}"
    ))
    .unwrap()
}

const PATTERN: &str = "{message: m, pattern: {metadata: {labels: {team: '?*'}}}}";
const CEL: &str =
    "{cel: {generate: true, expressions: [{expression: 'has(object.metadata.labels)', message: m}]}}";

#[test]
fn one_replica_leads_and_the_next_one_leads_as_soon_as_it_ends() {
    let api = Api::start();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let start = |name: &'static str| {
        let seen = seen.clone();
        let changed = move |leads| seen.lock().unwrap().push((name, leads));
        Leader::start(api.cluster.clone(), lease(name), quick(), changed).unwrap()
    };
    let first = start("a");
    until("the first leads", || first.is_leading());
    let second = start("b");
    let writes = || api.object("/apis/coordination.k8s.io/v1/namespaces/kyverno/leases/ephor");
    let renewed = writes().map(|l| l.text_at(&["spec", "renewTime"]).to_string());
    until("it is renewed", || writes().map(|l| l.text_at(&["spec", "renewTime"]).to_string()) != renewed);
    assert!(!second.is_leading());
    drop(first);
    until("the second leads", || second.is_leading() && seen.lock().unwrap().len() == 3);
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, [("a", true), ("a", false), ("b", true)]);
}

#[test]
fn configurations_are_written_once_and_those_of_other_programs_stay() {
    let api = Api::start();
    let in_use = state(vec![usable(&policy(PATTERN))], Vec::new());
    webhooks::reconcile(&api.cluster, &plan(false), &*in_use, &|_| false).unwrap();
    let configuration = api.object(CONFIGURATION).unwrap();
    let webhook = configuration.get("webhooks").and_then(Value::as_list).unwrap().first().unwrap();
    assert_eq!(webhook.text_at(&["name"]), "validate.kyverno.svc-fail");
    assert_eq!(webhook.text_at(&["clientConfig", "service", "path"]), "/validate/fail");
    assert!(!api.writes().is_empty());
    webhooks::reconcile(&api.cluster, &plan(false), &*in_use, &|_| false).unwrap();
    assert_eq!(api.writes(), Vec::<String>::new());
    // Members of settings that are null are not stored.
    let mut with_null = plan(false);
    with_null.options.selectors[0] = Some(yaml_value("{matchLabels: null}").unwrap());
    let mut stored = plan(false);
    stored.options.selectors[0] = Some(yaml_value("{}").unwrap());
    webhooks::reconcile(&api.cluster, &stored, &*in_use, &|_| false).unwrap();
    api.writes();
    webhooks::reconcile(&api.cluster, &with_null, &*in_use, &|_| false).unwrap();
    assert_eq!(api.writes(), Vec::<String>::new());

    let foreign = configuration.with("metadata", yaml_value("{name: x, labels: {app: other}}").unwrap());
    api.put(CONFIGURATION, &foreign);
    let refused = webhooks::reconcile(&api.cluster, &plan(false), &*in_use, &|_| false).unwrap_err();
    assert!(matches!(refused, WebhookError::Foreign { .. }), "{refused}");
    assert!(api.object(CONFIGURATION).unwrap().at(&["metadata", "labels", "app"]).is_some());
    webhooks::reconcile(&api.cluster, &plan(true), &*in_use, &|_| false).unwrap();
    assert!(api.object(CONFIGURATION).unwrap().at(&["metadata", "labels", "app"]).is_none());
}

fn controllers(api: &Api, state: &Arc<Mutex<Arc<State>>>) -> Controllers {
    let state = state.clone();
    let source: Source = Arc::new(move || -> Arc<dyn InUse> { state.lock().unwrap().clone() });
    Controllers::start(ManagerSetup {
        cluster: api.cluster.clone(),
        reports: api.cluster.clone(),
        cleanup: api.cluster.clone(),
        background: api.cluster.clone(),
        interval: Duration::from_secs(3600),
        event_sink: EventSink::new(api.cluster.clone(), None, [None, None]),
        lifetimes: None,
        scans: None,
        source,
        native: Made { validating: true, mutating: false },
        plan: plan(false),
        place: lease("a"),
        times: quick(),
    })
    .unwrap()
}

fn is_ready(object: &Value) -> bool {
    let conditions = object.at(&["status", "conditions"]).and_then(Value::as_list).unwrap_or_default();
    conditions.iter().any(|c| c.text_at(&["type"]) == "Ready" && c.text_at(&["status"]) == "True")
}

#[test]
fn a_policy_is_ready_only_when_the_configurations_that_carry_it_are_written() {
    let api = Api::start();
    let stored = api.put(POLICY, &policy(PATTERN));
    let in_use = Arc::new(Mutex::new(state(vec![usable(&stored)], Vec::new())));
    let _controllers = controllers(&api, &in_use);
    until("the policy is ready", || is_ready(&api.object(POLICY).unwrap()));
    let writes = api.writes();
    let at = |end: &str| writes.iter().position(|line| line.ends_with(end)).unwrap();
    assert!(at("/validatingwebhookconfigurations") < at("need-team/status"), "{writes:?}");
}

#[test]
fn a_policy_that_cannot_be_used_has_no_webhook_and_says_why_it_is_not_ready() {
    let api = Api::start();
    let stored = api.put(POLICY, &policy(PATTERN));
    let broken = StoredPolicy { document: stored, problem: Some("it does not compile".into()) };
    let in_use = Arc::new(Mutex::new(state(vec![broken], Vec::new())));
    let _controllers = controllers(&api, &in_use);
    let message = || {
        let object = api.object(POLICY).unwrap();
        let conditions = object.at(&["status", "conditions"]).and_then(Value::as_list)?.to_vec();
        Some(conditions.first()?.text_at(&["message"]).to_string())
    };
    until("it has a status", || message().is_some());
    assert_eq!(message().unwrap(), "Not Ready: it does not compile");
    let configuration = api.object(CONFIGURATION).unwrap();
    assert_eq!(configuration.get("webhooks").and_then(Value::as_list).unwrap().len(), 0);
}

#[test]
fn a_policy_becomes_one_of_kubernetes_and_comes_back_when_an_exception_does_not_fit_there() {
    let api = Api::start();
    let stored = api.put(POLICY, &policy(CEL));
    let in_use = Arc::new(Mutex::new(state(vec![usable(&stored)], Vec::new())));
    let controllers = controllers(&api, &in_use);
    let generated = || {
        let object = api.object(POLICY).unwrap();
        object.at(&["status", "validatingadmissionpolicy", "generated"]).and_then(Value::as_bool)
    };
    until("it is generated", || generated() == Some(true));
    assert!(api.object(NATIVE).is_some());
    let webhooks = || {
        let configuration = api.object(CONFIGURATION).unwrap();
        configuration.get("webhooks").and_then(Value::as_list).unwrap().len()
    };
    assert_eq!(webhooks(), 0);

    let exception = yaml_value(
        "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: n}, spec: {exceptions: [{policyName: need-team, ruleNames: [team, other]}], match: {any: [{resources: {kinds: [ConfigMap]}}]}}}",
    )
    .unwrap();
    let stored = api.object(POLICY).unwrap();
    *in_use.lock().unwrap() = state(vec![usable(&stored)], vec![exception]);
    controllers.notify();
    until("it is not generated any more", || generated() == Some(false));
    assert_eq!((api.object(NATIVE), webhooks()), (None, 1));
}

#[test]
fn a_policy_of_kubernetes_that_the_cluster_refuses_leaves_the_policy_and_all_others_with_the_server() {
    let api = Api::start();
    api.refuse("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies");
    let stored = api.put(POLICY, &policy(CEL));
    let in_use = Arc::new(Mutex::new(state(vec![usable(&stored)], Vec::new())));
    let _controllers = controllers(&api, &in_use);
    until("the policy is ready", || is_ready(&api.object(POLICY).unwrap()));
    let status = api.object(POLICY).unwrap().at(&["status", "validatingadmissionpolicy"]).cloned().unwrap();
    assert_eq!(status.get("generated"), Some(&Value::Bool(false)));
    assert!(status.text_at(&["message"]).contains("spec.validations"), "{status:?}");
    let configuration = api.object(CONFIGURATION).unwrap();
    assert_eq!(configuration.get("webhooks").and_then(Value::as_list).unwrap().len(), 1);
}
