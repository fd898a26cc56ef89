//! Two YAML documents, a pattern and an object: matching must end, without a panic.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (pattern, object) = text.split_once("\n---\n").unwrap_or((text, "{a: 1, l: [{n: x}]}"));
    let (Ok(pattern), Ok(object)) = (ephor_document::yaml_value(pattern), ephor_document::yaml_value(object))
    else {
        return;
    };
    if let Some(pattern) = ephor_pattern::lower(&pattern) {
        match ephor_engine::shape::run(&pattern, &object) {
            ephor_engine::shape::Outcome::Pass => {}
            ephor_engine::shape::Outcome::Skip(why) => drop(why.text()),
            ephor_engine::shape::Outcome::Fail { why, .. } => drop(why.text()),
        }
    }
});
