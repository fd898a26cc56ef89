//! Any text as a JMESPath expression, evaluated on a small document.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // A DNS query is no business of a fuzzer.
    if text.contains("is_external_url") || text.contains("random") {
        return;
    }
    let input = ephor_document::json::parse(
        r#"{"a":{"b":[1,2.5,"x",null,true,{"c":"1Gi","d":"10s"}]},"s":"text","n":3,"l":[[1],[2,[3]]],"o":{}}"#,
    )
    .unwrap_or_default()
    .with_float_numbers();
    if let Ok(expression) = ephor_search::Expression::compile(text) {
        let _ = expression.ast().tree();
        if let Ok(value) = expression.search(&input) {
            let _ = ephor_search::json(&value);
        }
    }
});
