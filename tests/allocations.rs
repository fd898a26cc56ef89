//! Reading fields and comparing allocates nothing.
#![allow(clippy::expect_used)]

use ephor_functions::Context;
use ephor_search::{Expression, read};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Allocations of one search; the least of several, because the test's own thread is not alone.
fn allocations(expression: &str) -> usize {
    let document = read(
        "request: {object: {metadata: {name: web, labels: {app: shop}}, spec: {replicas: 3, containers: [{name: a, image: nginx}]}}}",
    )
    .expect("a document");
    let context = Context::default();
    let expression = Expression::compile(expression).expect(expression);
    let once = || {
        let region = Region::new(ALLOCATOR);
        let found = expression.find(&document, &context);
        let change = region.change();
        drop(found);
        change.allocations + change.reallocations
    };
    (0..8).map(|_| once()).min().expect("eight")
}

#[test]
fn reading_fields_and_comparing_allocates_nothing() {
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
