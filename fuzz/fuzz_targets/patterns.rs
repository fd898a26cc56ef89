//! Two YAML documents, a pattern and an object: matching must end, without a panic.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (pattern, object) = text.split_once("\n---\n").unwrap_or((text, "{a: 1, l: [{n: x}]}"));
    let (Ok(pattern), Ok(object)) = (ephor::document::yaml_value(pattern), ephor::document::yaml_value(object))
    else {
        return;
    };
    if let Some(pattern) = ephor::pattern::lower(&pattern) {
        match ephor::engine::shape::run(&pattern, &object) {
            ephor::engine::shape::Outcome::Pass => {}
            ephor::engine::shape::Outcome::Skip(why) => drop(why.text()),
            ephor::engine::shape::Outcome::Fail { why, .. } => drop(why.text()),
        }
    }
});
