//! Native policies in a server: what a request costs among policies that are not about it.
//!
//! Prints the time of an answer with ten ValidatingAdmissionPolicies of ten bindings each that
//! match the request, alone and among a thousand, and the ratio; with and without the result cache.

#![allow(clippy::expect_used)]

use std::sync::Arc;

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::{Deadline, Gate, Incoming, Route};
use ephor_policies::load::{self, Reader};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;

#[path = "common/mod.rs"]
#[allow(dead_code)]
mod common;

#[global_allocator]
static ALLOCATOR: ephor::cli::allocator::Allocator = ephor::cli::allocator::Allocator;

const MATCHING: usize = 10;
const ALL: usize = 1000;
const BINDINGS: usize = 10;

fn main() {
    let body = r#"{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"}, "resource": {"group": "", "version": "v1", "resource": "configmaps"}, "name": "a", "namespace": "shop", "operation": "CREATE", "userInfo": {"username": "anna", "groups": ["system:authenticated"]}, "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop", "labels": {"team": "x"}}, "data": {"a": "1"}}, "oldObject": null, "dryRun": false}}"#;
    let incoming = decode("application/json", body.as_bytes()).expect("a review");
    let route = Route::parse("/validate").expect("a path of the server");
    for (name, bytes) in [("without cache", 0), ("with cache", 64 << 20)] {
        let gates = [gate(MATCHING, bytes), gate(ALL, bytes)];
        // By turns, so that both meet the same machine.
        let [mut alone, mut among] = [f64::INFINITY; 2];
        for _ in 0..8 {
            alone = alone.min(time(&gates[0], &route, &incoming));
            among = among.min(time(&gates[1], &route, &incoming));
        }
        println!(
            "{name:<14} {MATCHING} policies {:>8.2} µs, among {ALL} {:>8.2} µs, ratio {:.3}",
            alone / 1e3,
            among / 1e3,
            among / alone
        );
    }
}

fn time(gate: &Gate, route: &Route, incoming: &Incoming) -> f64 {
    let answer = gate.answer(route, incoming, &Deadline::never()).answer;
    assert_eq!(answer.warnings.len(), MATCHING * BINDINGS, "every binding warns");
    common::best(|| gate.answer(route, incoming, &Deadline::never()).answer.denial.is_none())
}

/// Policies of which the first are about the request.
fn gate(policies: usize, bytes: u64) -> Gate {
    let text: String = (0..policies).map(policy).collect();
    let loaded = load::argument_for(
        &[SourceText { name: "policies.yaml".into(), text }],
        Reader::Server(ephor_value::release::Release::default()),
    );
    assert_eq!(loaded.policies.len(), policies);
    Gate::new(loaded, Arc::new(Objects::default()), &[]).with_result_cache(bytes)
}

fn policy(i: usize) -> String {
    let resource = if i < MATCHING { "configmaps".to_string() } else { format!("things{}", i % 50) };
    let policy = format!(
        "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {{name: p{i}}}, spec: {{matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [{resource}]}}]}}, validations: [{{expression: \"object.metadata.labels.team == 'y'\", messageExpression: \"'team ' + object.metadata.labels.team\"}}]}}}}\n---\n"
    );
    let binding = |b: usize| {
        format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {{name: b{i}-{b}}}, spec: {{policyName: p{i}, validationActions: [Warn]}}}}\n---\n"
        )
    };
    policy + &(0..BINDINGS).map(binding).collect::<String>()
}
