//! What evaluating CEL allocates: nothing, where it only reads and compares.

use std::alloc::System;

use ephor_cel::library::{Admission, admission};
use ephor_engine::eval::{Env, eval};
use ephor_engine::meter::Meter;
use ephor_functions::Context;
use ephor_search::read;
use ephor_value::{Map, Value};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const OBJECT: &str = "
metadata: {name: shop, labels: {app: shop}}
spec:
  replicas: 3
  hostNetwork: false
  containers:
  - {name: a, image: 'x/a:1', port: 80, securityContext: {privileged: false}}
  - {name: b, image: 'x/b:2', port: 443, securityContext: {privileged: false}}
";

#[test]
fn reading_fields_and_comparing_them_allocates_nothing() {
    let mut root = Map::new();
    root.insert("object", read(OBJECT).expect("an object"));
    let root = Value::Map(root);
    let declared = admission(Admission::default());
    let context = Context::default();
    let allocations = |text: &str| {
        let program = ephor_cel::compile(text, &declared, &context).expect(text);
        let once = || {
            let meter = Meter::new(1_000_000);
            let region = Region::new(ALLOCATOR);
            let result = eval(&program.expr, Env::new(&root, &context).with_meter(&meter));
            let change = region.change();
            assert!(result.is_ok(), "{text}: {result:?}");
            change.allocations + change.reallocations
        };
        // The least of several, because the test's own thread is not alone.
        (0..8).map(|_| once()).min().expect("eight")
    };
    for text in [
        "object.metadata.name",
        "object.metadata.labels['app']",
        "object.spec.containers[1].image",
        "object.metadata.name == 'shop'",
        "object.spec.replicas > 2 && object.spec.replicas <= 5",
        "object.spec.replicas != 3 || !object.spec.hostNetwork",
        "has(object.spec.hostNetwork) && !has(object.spec.hostPID)",
        "object.spec.hostNetwork ? object.metadata.name : object.metadata.labels.app",
        "'app' in object.metadata.labels",
        "object.metadata.name in ['shop', 'web']",
        "size(object.spec.containers) == 2",
        "object.metadata.name.startsWith('sh') && object.metadata.name.contains('ho')",
        "object.spec.containers.all(c, c.securityContext.privileged == false)",
        "object.spec.containers.exists(c, c.name == 'b' && c.port >= 443)",
    ] {
        assert_eq!(allocations(text), 0, "{text}");
    }
    assert_ne!(allocations("object.metadata.name + '!'"), 0, "a new text is counted");
}
