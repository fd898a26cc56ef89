//! Any text as a CEL expression, evaluated on a small document within the limit of its cost, and
//! traced.
#![no_main]
use ephor_search::cel::{CelExpression, Environment};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let object = ephor_document::json::parse(
        r#"{"a":{"b":[1,2.5,"x",null,true,{"c":"1Gi","d":"10s"}]},"s":"text","n":3,"l":[[1],[2,[3]]],"o":{}}"#,
    )
    .unwrap_or_default();
    let data = Environment::Kubernetes.data(&object);
    if let Ok(expression) = CelExpression::compile(text, Environment::Kubernetes, &data) {
        let _ = expression.evaluate(&data).to_text();
        let _ = expression.trace(&data);
    }
});
