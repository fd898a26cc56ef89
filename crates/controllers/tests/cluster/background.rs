//! Background work on an API server in memory.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::{Deadline, Gate, Route};
use ephor_controllers::background::intake::WorkIntake;
use ephor_document::yaml_value;
use ephor_external::NoData;
use ephor_policies::load::{self, Reader};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::release::Release;

use super::api::Api;
use super::{State, controllers, until, usable};

const NAMESPACE: &str = "/api/v1/namespaces/shop";
const TARGET: &str = "/api/v1/namespaces/shop/configmaps/limits";
const REQUESTS: &str = "/apis/kyverno.io/v2/namespaces/kyverno/updaterequests";

fn rule(name: &str, synchronize: bool, data: &str) -> String {
    format!(
        "{{name: {name}, match: {{any: [{{resources: {{kinds: [Namespace]}}}}]}}, generate: {{apiVersion: v1, kind: ConfigMap, \
         name: limits, namespace: '{{{{request.object.metadata.name}}}}', synchronize: {synchronize}, data: {{data: {data}}}}}}}"
    )
}

fn policy(rules: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: add, generation: 1}}, spec: {{rules: [{rules}]}}}}"
    )
}

fn gate(policy: &str) -> Gate {
    let source = SourceText { name: "p.yaml".into(), text: policy.into() };
    Gate::new(load::argument_for(&[source], Reader::Server(Release::default())), Arc::new(NoData), &[])
}

fn in_use(policies: &[String]) -> Arc<State> {
    let stored = policies.iter().map(|policy| usable(&yaml_value(policy).unwrap())).collect();
    Arc::new(State { stored, exceptions: Vec::new(), gate: gate(&policies.join("\n---\n")) })
}

/// The review of the creation of a namespace, as the API server sends it before it stores the
/// object.
fn review() -> String {
    r#"{"request": {"uid": "1", "operation": "CREATE", "name": "shop", "namespace": "shop", "userInfo": {"username": "anna"},
        "kind": {"group": "", "version": "v1", "kind": "Namespace"},
        "resource": {"group": "", "version": "v1", "resource": "namespaces"},
        "object": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "u1"}}}}"#
        .into()
}

/// Takes the work of the creation of a namespace, and stores the namespace.
fn created(api: &Api, gate: &Gate) {
    let intake = WorkIntake::new(api.cluster.clone(), "kyverno".into(), api.cluster.clone());
    take(&intake, gate).unwrap();
    api.put(
        NAMESPACE,
        &yaml_value("{apiVersion: v1, kind: Namespace, metadata: {name: shop, uid: u1}}").unwrap(),
    );
}

fn take(intake: &WorkIntake, gate: &Gate) -> Result<(), (String, bool)> {
    let incoming = decode("application/json", review().as_bytes()).unwrap();
    let route = Route::parse("/validate/fail").unwrap();
    let request = gate.request_on(&incoming, &incoming.object("object")).unwrap();
    let due = Deadline::at(Instant::now() + Duration::from_secs(10));
    intake.take(gate, &route, &incoming, &request, &due).map_err(|e| (e.to_string(), e.required))
}

fn data(api: &Api) -> Option<String> {
    Some(api.object(TARGET)?.text_at(&["data", "pods"]).to_string())
}

fn requests(api: &Api) -> usize {
    let found = api.cluster.get(REQUESTS).unwrap();
    found.get("items").and_then(Value::as_list).unwrap().len()
}

#[test]
fn work_that_a_server_wrote_down_before_it_ended_is_done_by_the_next_one() {
    let api = Api::start();
    let state = in_use(&[policy(&rule("limits", false, "{pods: '4'}"))]);
    created(&api, &state.gate);
    assert_eq!((requests(&api), data(&api)), (1, None));
    let state = Arc::new(Mutex::new(state));
    let _controllers = controllers(&api, &state);
    until("the object is generated and the request is gone", || data(&api).is_some() && requests(&api) == 0);
    let object = api.object(TARGET).unwrap();
    let label = |key: &str| object.at(&["metadata", "labels", key]).and_then(Value::as_str);
    assert_eq!(label("generate.kyverno.io/policy-name"), Some("add"));
    assert_eq!(label("generate.kyverno.io/rule-name"), Some("limits"));
    assert_eq!(label("generate.kyverno.io/trigger-kind"), Some("Namespace"));
}

#[test]
fn work_that_is_done_again_changes_nothing_and_an_object_that_is_not_synchronised_stays() {
    let api = Api::start();
    let other =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: limits, namespace: shop}, data: {pods: '9'}}";
    api.put(TARGET, &yaml_value(other).unwrap());
    let state = in_use(&[policy(&rule("limits", false, "{pods: '4'}"))]);
    created(&api, &state.gate);
    created(&api, &state.gate);
    assert_eq!(requests(&api), 2);
    api.writes();
    let state = Arc::new(Mutex::new(state));
    let _controllers = controllers(&api, &state);
    until("the requests are gone", || requests(&api) == 0);
    assert_eq!(data(&api).as_deref(), Some("9"));
    let writes = api.writes();
    assert!(!writes.iter().any(|write| write.contains("/configmaps/limits")), "{writes:?}");
}

#[test]
fn what_a_synchronised_rule_generated_goes_with_it_also_when_no_server_ran_and_stays_while_the_policy_is_broken()
 {
    let api = Api::start();
    let limits = rule("limits", true, "{pods: '4'}");
    let other = rule("other", false, "{}").replace("name: limits,", "name: more,");
    let first = in_use(&[policy(&format!("{limits}, {other}"))]);
    created(&api, &first.gate);
    let state = Arc::new(Mutex::new(first));
    let running = controllers(&api, &state);
    let known = || api.object("/api/v1/namespaces/kyverno/configmaps/ephor-background");
    until("the rule is known", || known().is_some() && data(&api).is_some());
    drop(running);

    let mut broken = Arc::into_inner(in_use(&[policy(&other)])).unwrap();
    broken.gate = gate("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    broken.stored.iter_mut().for_each(|policy| policy.problem = Some("it does not compile".into()));
    *state.lock().unwrap() = Arc::new(broken);
    let running = controllers(&api, &state);
    let status = || api.writes().iter().any(|write| write.starts_with("PUT") && write.contains("leases"));
    until("a replica leads", status);
    until("the policies were read", || api.reads("ephor-background") > 0);
    assert!(data(&api).is_some());
    drop(running);

    *state.lock().unwrap() = in_use(&[policy(&other)]);
    let _running = controllers(&api, &state);
    until("the object is gone", || data(&api).is_none());
}

#[test]
fn a_request_whose_work_cannot_be_written_down_is_refused_unless_the_policy_ignores_failures() {
    let api = Api::start();
    api.refuse("/apis/kyverno.io/v2");
    let intake = WorkIntake::new(api.cluster.clone(), "kyverno".into(), api.cluster.clone());
    let strict = policy(&rule("limits", false, "{pods: '4'}"));
    let (text, required) = take(&intake, &gate(&strict)).unwrap_err();
    assert!(
        required && text.starts_with("policy add: its work after this request cannot be written down"),
        "{text}"
    );
    // That policy has a path of its own.
    let ignoring = strict.replace("spec: {", "spec: {failurePolicy: Ignore, ");
    assert_eq!(take(&intake, &gate(&ignoring)), Ok(()));
}

#[test]
fn a_server_that_ends_after_any_of_its_writes_loses_nothing_and_the_next_one_does_nothing_twice() {
    let copy = "{name: copy, match: {any: [{resources: {kinds: [Namespace]}}]}, generate: {apiVersion: v1, kind: ConfigMap, name: limits, \
                namespace: '{{request.object.metadata.name}}', synchronize: true, clone: {namespace: default, name: source}}}";
    let source =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: source, namespace: default}, data: {pods: '4'}}";
    let mut ends = 0;
    for writes in 0.. {
        let api = Api::start();
        api.put("/api/v1/namespaces/default/configmaps/source", &yaml_value(source).unwrap());
        let first = in_use(&[policy(copy)]);
        created(&api, &first.gate);
        let state = Arc::new(Mutex::new(first));
        api.allow(Some(writes));
        let running = controllers(&api, &state);
        until("no write is left, or all is done", || api.left() == Some(0) || requests(&api) == 0);
        let is_done = requests(&api) == 0;
        drop(running);
        ends += 1;
        api.allow(None);
        let _running = controllers(&api, &state);
        until("all is done", || requests(&api) == 0);
        assert_eq!(data(&api).as_deref(), Some("4"), "after {writes} writes");
        assert_eq!(api.created(TARGET), 1, "after {writes} writes");
        if is_done {
            break;
        }
    }
    assert!(ends > 3, "the work has fewer writes than expected: {ends}");
}
