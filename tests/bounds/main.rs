//! No policy and no object makes an evaluation run for ever, take all memory or overflow the stack:
//! bounds end it with an error, deadlines with what the failure policy says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod deadline;
mod depth;
mod functions;
mod sizes;
#[path = "../mutations/usage.rs"]
mod usage;
mod variables;

use ephor_value::release::Release;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ephor_admission::admit::incoming::{Incoming, decode};
use ephor_admission::admit::route::Route;
use ephor_admission::admit::{Deadline, Decision, Gate};
use ephor_policies::load::{self, Reader};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::Value;

/// A gate with policies that can all be evaluated.
fn gate(policies: &str) -> Gate {
    let gate = any_gate(policies);
    assert_eq!(gate.broken(), []);
    gate
}

/// A gate with policies.
fn any_gate(policies: &str) -> Gate {
    let source = SourceText { name: "policies.yaml".into(), text: policies.into() };
    let mut loaded = load::argument_for(&[source], Reader::Server(Release::default()));
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    loaded.bind(Vec::new());
    let namespace =
        ephor_document::yaml_value("{apiVersion: v1, kind: Namespace, metadata: {name: default}}");
    Gate::new(loaded, Arc::new(Objects::new(vec![namespace.unwrap()])), &[]).with_result_cache(64 << 20)
}

/// A review of an object that is created.
fn review(object: &str) -> Incoming {
    let text = format!(
        r#"{{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {{"uid": "u",
        "kind": {{"group": "", "version": "v1", "kind": "ConfigMap"}},
        "resource": {{"group": "", "version": "v1", "resource": "configmaps"}},
        "operation": "CREATE", "namespace": "default", "name": "a", "userInfo": {{"username": "alice"}},
        "object": {object}}}}}"#
    );
    decode("application/json", text.as_bytes()).unwrap()
}

/// A ConfigMap with these data, as JSON.
fn config_map(data: &str) -> String {
    format!(
        r#"{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "a", "namespace": "default"}}, "data": {data}}}"#
    )
}

/// The answer to a review, and how long it took.
fn answer(gate: &Gate, path: &str, object: &str, deadline: &Deadline) -> (Decision, Duration) {
    let route = Route::parse(path).expect("a path of the server");
    let review = review(object);
    let start = Instant::now();
    let decision = gate.answer(&route, &review, deadline);
    (decision, start.elapsed())
}

/// The status and text with which a request is refused without a deadline; `None` when it passes.
fn refusal(policies: &str, object: &str) -> Option<(u16, String)> {
    let (decision, _) = answer(&gate(policies), "/validate", object, &Deadline::never());
    decision.answer.denial.map(|d| (d.code, d.message))
}

/// A policy with a rule for ConfigMaps, of which this is the rest.
fn cluster_policy(failure_policy: &str, rest: &str) -> String {
    let rest = rest.lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  \
         failurePolicy: {failure_policy}\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n{rest}"
    )
}

/// A policy of expressions for ConfigMaps.
fn validating_policy(variables: &[(String, String)], expression: &str) -> String {
    let quoted = |s: &str| ephor_value::print::json(&Value::from(s));
    let variable =
        |(name, text): &(String, String)| format!("  - name: {name}\n    expression: {}\n", quoted(text));
    let variables: String = variables.iter().map(variable).collect();
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: v}}\nspec:\n  \
         matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}\n  \
         variables:\n{variables}  validations:\n  - expression: {}\n    message: m\n",
        quoted(expression)
    )
}

/// Runs a test on a stack as small as those of threads are by default.
fn on_a_small_stack(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, test).unwrap();
        thread.join().unwrap();
    });
}
