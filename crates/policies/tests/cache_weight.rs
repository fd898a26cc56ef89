//! What the result cache says that it holds is what an allocator counts, and it is within the
//! limit.
//!
//! A program of its own, with one test: others would allocate at the same time.
#![cfg(feature = "result-cache")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::alloc::System;

use ephor_document::yaml_value;
use ephor_engine::request::Parts;
use ephor_functions::Context;
use ephor_policies::policy_set::verdicts::Limits;
use ephor_policies::{Engine, PolicySet, Profile, Request};
use ephor_value::{Map, Value};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The bytes that are allocated now.
fn allocated() -> f64 {
    let stats = ALLOCATOR.stats();
    (stats.bytes_allocated - stats.bytes_deallocated) as f64
}

/// Policies of each form: what they say of a request holds texts of it, trees of it, or nothing of
/// it.
const POLICIES: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: patterns}
spec:
  rules:
  - name: image
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: 'not {{ request.object.spec.containers[0].image }}', pattern: {spec: {containers: [{image: "*:v1"}]}}}
  - name: whole
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: '{{ request.object.metadata.annotations.note }}', deny: {conditions: {all: [{key: '{{ request.object.spec.containers[0].image }}', operator: NotEquals, value: x}]}}}
  - name: satisfied
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: no name, pattern: {metadata: {name: "?*"}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod, 'example.com/v1/*']}}]}
    validate: {message: a team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pod-security}
spec:
  rules:
  - name: baseline
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {podSecurity: {level: restricted, version: latest}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: expressions}
spec:
  rules:
  - name: cel
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {cel: {expressions: [{expression: "object.spec.containers.all(c, c.image == 'x')", messageExpression: "string(object.spec.containers[0].image)"}]}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: reviews}
spec:
  validationActions: [Deny]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers.all(c, c.image == 'x')", messageExpression: "string(object.metadata.annotations.note)"}]
"#;

fn engine(limit: u64) -> Engine {
    Engine::new(PolicySet::from_yaml(POLICIES).unwrap())
        .with_profile(Profile::cluster())
        .with_result_cache(limit)
}

/// A review of a Pod with another image and another note.
fn request(n: usize) -> Request {
    let padding = "value ".repeat(40);
    let object = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: cart, namespace: shop, annotations: {{note: 'note {n} {padding}'}}}}, spec: {{containers: [{{name: a, image: 'registry.example.com/cart:v{n}', env: [{{name: A, value: '{padding}'}}]}}]}}}}"
    );
    let object = yaml_value(&object).unwrap();
    let parts = Parts { object, old_object: Some(Value::Null), sent: Some(Map::new()), ..Parts::default() };
    Request::new(parts, Profile::cluster(), &Context::default()).unwrap()
}

/// A review of an object of another kind: how rules are evaluated is planned for each kind.
fn of_kind(n: usize) -> Request {
    let object =
        format!("{{apiVersion: example.com/v1, kind: Kind{n}, metadata: {{name: a, namespace: shop}}}}");
    let object = yaml_value(&object).unwrap();
    let parts = Parts { object, old_object: Some(Value::Null), sent: Some(Map::new()), ..Parts::default() };
    Request::new(parts, Profile::cluster(), &Context::default()).unwrap()
}

/// Plans the evaluation of requests about objects of different kinds, without results.
fn planned(engine: &Engine, kinds: std::ops::Range<usize>) {
    kinds.for_each(|n| drop(engine.prepare(of_kind(n))));
}

/// Evaluates requests; how many results they had.
fn evaluate(engine: &Engine, requests: std::ops::Range<usize>) -> usize {
    let limits = Limits {
        policies: &|_| true,
        rules: &|_, _| true,
        has_time: &|| true,
        stops: &|_, _| false,
        name: Some("all"),
    };
    let of = |n| {
        let outcomes = engine.verdicts(&engine.prepare(request(n)), &limits).outcomes;
        // As a server keeps counters of results that requests share: an address for each, and five
        // words.
        for share in outcomes.shares().iter().filter(|share| share.is_cached) {
            let results = share.bundle.parts.iter().map(|part| part.results()).sum::<u64>();
            let counters = vec![0usize; results.try_into().unwrap()].into_boxed_slice();
            let _ = share.bundle.derived.set(Box::new(([0usize; 3], counters)));
        }
        outcomes.results().count()
    };
    requests.map(of).sum()
}

/// Requests that repeat keep the cache looked up.
fn varied(engine: &Engine, requests: std::ops::Range<usize>) {
    for n in requests {
        evaluate(engine, n..n + 1);
        evaluate(engine, n..n + 1);
    }
}

#[test]
fn the_cache_keeps_alive_what_it_says_and_no_more_than_its_limit() {
    let large = engine(256 << 20);
    assert!(evaluate(&large, 0..1) >= 6, "the policies have results");
    varied(&large, 0..300);
    let (before, figures) = (allocated(), large.cache_figures().unwrap());
    varied(&large, 300..3300);
    let (after, now) = (allocated(), large.cache_figures().unwrap());
    assert!(now.entries > figures.entries + 3000, "{now:?}");
    let (real, said) = (after - before, (now.bytes - figures.bytes) as f64);
    assert!((real - said).abs() < real * 0.05, "allocated {real}, said {said}");
    planned(&large, 0..200);
    let (before, figures) = (allocated(), large.cache_figures().unwrap());
    planned(&large, 200..2000);
    let (after, now) = (allocated(), large.cache_figures().unwrap());
    let (real, said) = (after - before, (now.bytes - figures.bytes) as f64);
    assert!(real > 1800.0 * 500.0, "each kind has a plan: {real}");
    assert!((real - said).abs() < real * 0.05, "plans: allocated {real}, said {said}");
    drop(large);

    let limit = 1u64 << 20;
    let small = engine(limit);
    varied(&small, 0..300);
    small.cache_figures().unwrap();
    let held = || small.cache_figures().unwrap().bytes as f64;
    let besides = allocated() - held();
    for from in (300..6300).step_by(500) {
        varied(&small, from..from + 500);
        let (said, real) = (held(), allocated() - besides);
        assert!(said <= limit as f64 * 1.05, "{said} of {limit}");
        assert!(real <= limit as f64 * 1.1, "allocated {real}, said {said}, limit {limit}");
    }
    assert!(small.cache_figures().unwrap().evictions > 1000);
    // Plans are within the same limit.
    for from in (0..8000).step_by(1000) {
        planned(&small, from..from + 1000);
        varied(&small, 6300..6400);
        let (said, real) = (held(), allocated() - besides);
        assert!(said <= limit as f64 * 1.05, "with plans: {said} of {limit}");
        assert!(real <= limit as f64 * 1.1, "with plans: allocated {real}, said {said}, limit {limit}");
    }
}
