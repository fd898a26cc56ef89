//! Native policies in a server: what a request costs among policies that are not about it.
//!
//! Prints the time of an answer with ten ValidatingAdmissionPolicies of ten bindings each that
//! match the request, alone and among a thousand, and the ratio; with and without the result cache.
//! Then the same with one policy of ten bindings that match, alone and among 10,000 for the labels
//! of other objects.

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
const ALL_BINDINGS: usize = 10_000;

fn main() {
    let body = r#"{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"}, "resource": {"group": "", "version": "v1", "resource": "configmaps"}, "name": "a", "namespace": "shop", "operation": "CREATE", "userInfo": {"username": "anna", "groups": ["system:authenticated"]}, "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "shop", "labels": {"team": "x"}}, "data": {"a": "1"}}, "oldObject": null, "dryRun": false}}"#;
    let incoming = decode("application/json", body.as_bytes()).expect("a review");
    let route = Route::parse("/validate").expect("a path of the server");
    for (name, bytes) in [("without cache", 0), ("with cache", 64 << 20)] {
        let few = gate((0..MATCHING).map(policy), bytes);
        let many = gate((0..ALL).map(policy), bytes);
        let [alone, among] = times([&few, &many], &route, &incoming, MATCHING * BINDINGS);
        println!(
            "{name:<14} {MATCHING} policies {:>8.2} µs, among {ALL} {:>8.2} µs, ratio {:.3}",
            alone / 1e3,
            among / 1e3,
            among / alone
        );
        let few = gate(std::iter::once(policy_of(BINDINGS)), bytes);
        let many = gate(std::iter::once(policy_of(ALL_BINDINGS)), bytes);
        let [alone, among] = times([&few, &many], &route, &incoming, BINDINGS);
        println!(
            "{name:<14} {BINDINGS} bindings {:>8.2} µs, among {ALL_BINDINGS} {:>8.2} µs, ratio {:.3}",
            alone / 1e3,
            among / 1e3,
            among / alone
        );
    }
}

/// The times of an answer in nanoseconds, by turns, so that both meet the same machine.
fn times(gates: [&Gate; 2], route: &Route, incoming: &Incoming, warnings: usize) -> [f64; 2] {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..8 {
        for (gate, best) in gates.into_iter().zip(&mut best) {
            *best = best.min(time(gate, route, incoming, warnings));
        }
    }
    best
}

fn time(gate: &Gate, route: &Route, incoming: &Incoming, warnings: usize) -> f64 {
    let answer = gate.answer(route, incoming, &Deadline::never()).answer;
    assert_eq!(answer.warnings.len(), warnings, "every binding that matches warns");
    common::best(|| gate.answer(route, incoming, &Deadline::never()).answer.denial.is_none())
}

/// A gate with policies, each with its bindings.
fn gate(policies: impl Iterator<Item = String>, bytes: u64) -> Gate {
    let text: String = policies.collect();
    let loaded = load::argument_for(
        &[SourceText { name: "policies.yaml".into(), text }],
        Reader::Server(ephor_value::release::Release::default()),
    );
    assert_eq!(loaded.problems, []);
    Gate::new(loaded, Arc::new(Objects::default()), &[]).with_result_cache(bytes)
}

/// A policy with bindings for the objects of teams, of which the first are about the request.
fn policy_of(bindings: usize) -> String {
    let policy = policy(0).split_once("---\n").map(|(policy, _)| policy.to_string()).expect("a policy");
    let binding = |b: usize| {
        let team = if b < BINDINGS { "x".to_string() } else { format!("team-{b}") };
        format!(
            "---\n{{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {{name: b{b}}}, spec: {{policyName: p0, validationActions: [Warn], matchResources: {{objectSelector: {{matchLabels: {{team: {team}}}}}}}}}}}\n"
        )
    };
    policy + &(0..bindings).map(binding).collect::<String>()
}

/// Policies of which the first are about the request.
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
