//! Reading fields and comparing allocates nothing, and a review in a server so often.
#![allow(clippy::expect_used)]

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ephor_admission::admit::incoming::decode;
use ephor_admission::admit::{Deadline, Gate, Route};
use ephor_functions::Context;
use ephor_policies::load::{self, Reader};
use ephor_search::{Expression, read};
use ephor_sources::files::SourceText;
use ephor_sources::objects::Objects;
use ephor_value::release::Release;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// The allocator counts for all threads: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What work gives, and how often it allocates.
fn counted<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let region = Region::new(ALLOCATOR);
    let done = work();
    let change = region.change();
    (done, change.allocations + change.reallocations)
}

/// Allocations of one search; the least of several, because the test's own thread is not alone.
fn allocations(expression: &str) -> usize {
    let document = read(
        "request: {object: {metadata: {name: web, labels: {app: shop}}, spec: {replicas: 3, containers: [{name: a, image: nginx}]}}}",
    )
    .expect("a document");
    let context = Context::default();
    let expression = Expression::compile(expression).expect(expression);
    (0..8).map(|_| counted(|| expression.find(&document, &context)).1).min().expect("eight")
}

#[test]
fn reading_fields_and_comparing_allocates_nothing() {
    let _alone = alone();
    for expression in [
        "request.object.metadata.name",
        "request.object.spec.containers[0].image",
        "request.object.spec.containers",
        "request.object.metadata.name == 'web'",
        "request.object.spec.replicas > `2`",
        "request.object.spec.replicas >= `2` && request.object.metadata.labels.app != 'x'",
        "request.object.spec.missing || request.object.metadata.name",
        "!request.object.spec.hostNetwork",
        "request.object.metadata.labels == `{\"app\": \"shop\"}`",
        "request.object.spec.containers[-1].name | @ == 'a'",
    ] {
        assert_eq!(allocations(expression), 0, "{expression}");
    }
    assert!(
        allocations("request.object.spec.containers[*].name") > 0,
        "a new list is allocated: the counter counts"
    );
}

/// The policies of a folder of this repository, in all forms, as a server serves them.
fn gate(folder: &str) -> Gate {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = std::fs::read_dir(root)
        .expect("a folder")
        .flat_map(|policy| std::fs::read_dir(policy.expect("a policy").path()).expect("a folder"))
        .map(|file| file.expect("a file").path())
        .filter(|file| file.extension().is_some_and(|e| e == "yaml"))
        .collect();
    files.sort();
    let source = |file: &std::path::PathBuf| SourceText {
        name: file.display().to_string(),
        text: std::fs::read_to_string(file).expect("a text"),
    };
    let texts: Vec<SourceText> = files.iter().map(source).collect();
    let policies = load::argument_for(&texts, Reader::Server(Release::default()));
    assert_eq!(policies.problems, []);
    assert!(texts.len() > 30, "{}", texts.len());
    Gate::new(policies, Arc::new(Objects::default()), &[]).with_result_cache(8 << 20)
}

/// The review of a Pod with three containers.
fn review(image: &str) -> String {
    let containers: Vec<String> = (0..3)
        .map(|i| {
            format!(
                r#"{{"name": "c{i}", "image": "{image}", "ports": [{{"containerPort": {}}}], "resources": {{"requests": {{"cpu": "100m", "memory": "128Mi"}}, "limits": {{"memory": "256Mi"}}}}, "env": [{{"name": "A", "value": "b"}}], "securityContext": {{"runAsNonRoot": true, "capabilities": {{"drop": ["ALL"]}}}}}}"#,
                8080 + i
            )
        })
        .collect();
    let kind = r#"{"group": "", "version": "v1", "kind": "Pod"}"#;
    let resource = r#"{"group": "", "version": "v1", "resource": "pods"}"#;
    format!(
        r#"{{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {{"uid": "u", "kind": {kind}, "resource": {resource}, "requestKind": {kind}, "requestResource": {resource}, "name": "cart", "namespace": "shop", "operation": "CREATE", "userInfo": {{"username": "anna", "groups": ["system:authenticated"]}}, "object": {{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "cart", "namespace": "shop", "labels": {{"app.kubernetes.io/name": "cart"}}}}, "spec": {{"containers": [{}]}}}}, "oldObject": null, "dryRun": false}}}}"#,
        containers.join(", ")
    )
}

/// Allocations while a review is read, decided, answered, and audited after the answer.
fn steps(gate: &Gate, route: &Route, body: &str) -> [usize; 4] {
    let (incoming, reading) = counted(|| decode("application/json", body.as_bytes()).expect("a review"));
    let (decision, deciding) = counted(|| gate.answer(route, &incoming, &Deadline::never()));
    let (answer, answering) = counted(|| decision.answer.to_json(&incoming));
    assert!(answer.contains("\"allowed\":"), "{answer}");
    let prepared = decision.prepared.as_ref().expect("a request");
    let (later, auditing) = counted(|| gate.audit(route, prepared, &Deadline::never()));
    let results = decision.outcomes.results().count() + later.results().count();
    assert!(results >= 10, "only {results} results");
    [reading, deciding, answering, auditing]
}

/// The least of several for each step.
fn least(of: impl Iterator<Item = [usize; 4]>) -> [usize; 4] {
    of.reduce(|a, b| std::array::from_fn(|i| a[i].min(b[i]))).expect("several")
}

#[test]
fn a_review_allocates_as_often_as_is_recorded() {
    let _alone = alone();
    let (gate, route) = (gate("policies/best-practices"), Route::parse("/validate").expect("a path"));
    let same = review("registry.example.com/shop/cart:1.4.2");
    steps(&gate, &route, &same);
    let hit = least((0..8).map(|_| steps(&gate, &route, &same)));
    let other = |i: usize| review(&format!("registry.example.com/shop/cart:1.5.{i}"));
    let miss = least((0..8).map(|i| steps(&gate, &route, &other(i))));
    // Read, decided, answered, audited. The tables of the cache grow where the random seeds of
    // their hashes let them, so counts vary by a few; more is a reason to look, fewer are recorded.
    let recorded = ([161, 84, 24, 4], [161, 382, 24, 96]);
    let is_within = |found: &[usize; 4], recorded: &[usize; 4]| {
        found.iter().zip(recorded).all(|(found, usual)| found.abs_diff(*usual) <= usual / 20 + 2)
    };
    assert!(is_within(&hit, &recorded.0) && is_within(&miss, &recorded.1), "{hit:?} {miss:?}: {recorded:?}");
}
