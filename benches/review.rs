//! A review in one process: reading it, deciding on it, and audit results after the answer.
//!
//! Prints the time of each step for a Pod, and for the objects of a pool on the average, with a
//! hundred mixed policies of a library, as `benches/serve.sh` sends them over a connection.
//! `EPHOR_PHASE=policies` prints the time of each policy, `EPHOR_RESULT_CACHE` turns the result
//! cache on, `EPHOR_MORE=10000` adds that number of policies of other kinds. `EPHOR_COUNT=100`
//! decides a hundred times and no more, with another image each time, for programs that count
//! instructions. Needs the recorded suites next to the repository (or in `EPHOR_CONFORMANCE`).

#![allow(clippy::expect_used)]

use std::sync::Arc;

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::{Answer, Deadline, Gate, Incoming, Route};
use ephor_document::ResourceOptions;
use ephor_policies::load::{self, Reader};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::Value;
use ephor_value::print::json;

#[path = "common/mod.rs"]
#[allow(dead_code)]
mod common;

#[global_allocator]
static ALLOCATOR: ephor::cli::allocator::Allocator = ephor::cli::allocator::Allocator;

const KINDS: [&str; 4] = [
    "kind: ClusterPolicy",
    "kind: ValidatingPolicy",
    "kind: ValidatingAdmissionPolicy\n",
    "kind: MutatingPolicy",
];

fn main() {
    let dir = match ephor_conformance::data::folder() {
        Ok(dir) => dir,
        Err(cause) => return println!("skipped: {cause}"),
    };
    let Ok(recorded) = ephor_conformance::lines(&dir.join("verdicts/kyverno-policies.jsonl")) else {
        println!("skipped: no verdicts in {}", dir.display());
        return;
    };
    let mut texts: Vec<SourceText> = Vec::new();
    for line in &recorded {
        let name = line.text_at(&["file"]);
        if texts.iter().any(|t| t.name == name) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(dir.join("kyverno-policies").join(name)) else { continue };
        // Calls to clusters and registries have no answer here.
        let answered = !text.contains("apiCall") && !text.contains("imageRegistry");
        if answered && KINDS.iter().any(|k| text.contains(k)) {
            texts.push(SourceText { name: name.to_string(), text });
        }
    }
    let step = (texts.len() / 100).max(1);
    let mut hundred: Vec<SourceText> = texts.into_iter().step_by(step).take(100).collect();
    hundred.extend((0..number("EPHOR_MORE").unwrap_or_default()).map(of_other_kind));
    let caches = std::env::var("EPHOR_RESULT_CACHE").is_ok();
    let gate_of = |texts: &[SourceText]| {
        let policies = load::argument_for(texts, Reader::Server(ephor_value::release::Release::default()));
        Gate::new(policies, Arc::new(Objects::default()), &[]).with_result_cache(if caches {
            16 << 20
        } else {
            0
        })
    };
    let body = body();
    let route = Route::parse("/validate").expect("a path of the server");
    let incoming = decode("application/json", body.as_bytes()).expect("a review");
    if std::env::var("EPHOR_PHASE").is_ok_and(|p| p == "policies") {
        return each(&hundred, &gate_of, &route, &incoming);
    }
    let gate = gate_of(&hundred);
    let decision = gate.answer(&route, &incoming, &Deadline::never());
    let prepared = decision.prepared.expect("a request");
    let later = gate.audit(&route, &prepared, &Deadline::never());
    let count = |all: &ephor_policies::policy_set::outcomes::Outcomes| all.results().count();
    println!("{} policies, {} bytes", hundred.len(), body.len());
    println!("answer: {}", decision.answer.to_json(&incoming));
    println!("{} results before the answer, {} after it", count(&decision.outcomes), count(&later));
    if let Some(count) = number("EPHOR_COUNT") {
        for i in 0..count {
            let body = body.replacen("cart:1.4.2", &format!("cart:1.4.{i}"), 1);
            let incoming = decode("application/json", body.as_bytes()).expect("a review");
            std::hint::black_box(decided(&gate, &route, &incoming));
        }
        return;
    }
    show("read", common::best(|| decode("application/json", body.as_bytes()).is_ok()));
    show("write", common::best(|| !Answer::default().to_json(&incoming).is_empty()));
    show("answer", common::best(|| gate.answer(&route, &incoming, &Deadline::never()).prepared.is_some()));
    show("later", common::best(|| !gate.audit(&route, &prepared, &Deadline::never()).is_empty()));
    let bodies = bodies(&dir.join("verdicts/pool.yaml"));
    let pool: Vec<Incoming> =
        bodies.iter().filter_map(|b| decode("application/json", b.as_bytes()).ok()).collect();
    let results: usize = pool.iter().map(|i| decided(&gate, &route, i)).sum();
    println!("{} objects of a pool, {results} results; for one of them on the average:", pool.len());
    let each = |ns: f64| ns / pool.len().max(1) as f64;
    show(
        "read",
        each(common::best(|| bodies.iter().all(|b| decode("application/json", b.as_bytes()).is_ok()))),
    );
    show("decide", each(common::best(|| pool.iter().map(|i| decided(&gate, &route, i)).sum::<usize>() > 0)));
}

/// A number of the environment.
fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok()?.parse().ok()
}

/// A policy about objects that are not in the pool.
fn of_other_kind(i: usize) -> SourceText {
    let text = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: rule-{i}}}, spec: {{rules: [{{name: label, match: {{any: [{{resources: {{kinds: [example.com/v1/Kind{i}]}}}}]}}, validate: {{failureAction: Enforce, message: m, pattern: {{metadata: {{labels: {{a: '?*'}}}}}}}}}}]}}}}"
    );
    SourceText { name: format!("rule-{i}.yaml"), text }
}

fn show(name: &str, ns: f64) {
    println!("{name:<10}{:>8.2} µs", ns / 1e3);
}

/// The answer to a review, and the audit results after it; the number of results.
fn decided(gate: &Gate, route: &Route, incoming: &Incoming) -> usize {
    let done = gate.answer(route, incoming, &Deadline::never());
    let later = done
        .prepared
        .as_ref()
        .map(|prepared| gate.audit(route, prepared, &Deadline::never()))
        .unwrap_or_default();
    done.outcomes.results().count() + later.results().count()
}

/// A review for each object of a pool.
fn bodies(pool: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(pool).unwrap_or_default();
    let objects =
        ephor_document::resources("pool.yaml", &text, ResourceOptions::default()).unwrap_or_default();
    let review = |object: &Value| {
        let (group, version) = object.text_at(&["apiVersion"]).split_once('/').unwrap_or_default();
        let version = if version.is_empty() { object.text_at(&["apiVersion"]) } else { version };
        let kind = object.text_at(&["kind"]);
        let ids = |key: &str, name: &str| {
            format!(r#"{{"group": "{group}", "version": "{version}", "{key}": "{name}"}}"#)
        };
        let (kinds, resource) = (ids("kind", kind), ids("resource", &format!("{}s", kind.to_lowercase())));
        let [name, namespace] = ["name", "namespace"].map(|key| object.text_at(&["metadata", key]));
        format!(
            r#"{{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {{"uid": "u", "kind": {kinds}, "resource": {resource}, "requestKind": {kinds}, "requestResource": {resource}, "name": "{name}", "namespace": "{namespace}", "operation": "CREATE", "userInfo": {{"username": "anna", "groups": ["system:authenticated"]}}, "object": {}, "oldObject": null, "dryRun": false}}}}"#,
            json(object)
        )
    };
    objects.iter().map(|d| review(&d.value)).collect()
}

/// The policies by the time that each takes.
fn each(texts: &[SourceText], gate_of: &dyn Fn(&[SourceText]) -> Gate, route: &Route, incoming: &Incoming) {
    let time = |texts: &[SourceText]| {
        let gate = gate_of(texts);
        let n = decided(&gate, route, incoming);
        let took = common::best(|| std::hint::black_box(decided(&gate, route, incoming)) == n);
        (took, n)
    };
    let (none, _) = time(&[]);
    let mut all: Vec<(f64, usize, &str)> = texts
        .iter()
        .map(|t| {
            let (took, n) = time(std::slice::from_ref(t));
            (took - none, n, &*t.name)
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("no policy: {none:.0} ns");
    for (took, n, name) in all {
        println!("{took:>8.0} ns {n:>3} results  {name}");
    }
}

/// The review of a Pod with three containers.
fn body() -> String {
    let env: Vec<String> =
        (0..20).map(|j| format!(r#"{{"name": "KEY_{j}", "value": "value value value value "}}"#)).collect();
    let env = env.join(", ");
    let containers: Vec<String> = (0..3)
        .map(|i| {
            format!(
                r#"{{"name": "c{i}", "image": "registry.acme.io/shop/cart:1.4.2", "ports": [{{"containerPort": {}}}], "resources": {{"requests": {{"cpu": "100m", "memory": "128Mi"}}, "limits": {{"memory": "256Mi"}}}}, "env": [{env}], "securityContext": {{"runAsNonRoot": true, "allowPrivilegeEscalation": false, "capabilities": {{"drop": ["ALL"]}}}}, "volumeMounts": [{{"name": "data", "mountPath": "/data"}}]}}"#,
                8080 + i
            )
        })
        .collect();
    let kind = r#"{"group": "", "version": "v1", "kind": "Pod"}"#;
    let resource = r#"{"group": "", "version": "v1", "resource": "pods"}"#;
    format!(
        r#"{{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {{"uid": "u", "kind": {kind}, "resource": {resource}, "requestKind": {kind}, "requestResource": {resource}, "name": "cart", "namespace": "shop", "operation": "CREATE", "userInfo": {{"username": "anna", "groups": ["system:authenticated"]}}, "object": {{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "cart", "namespace": "shop", "labels": {{"app.kubernetes.io/name": "cart"}}}}, "spec": {{"containers": [{}], "volumes": [{{"name": "data", "emptyDir": {{}}}}]}}}}, "oldObject": null, "dryRun": false}}}}"#,
        containers.join(", ")
    )
}
