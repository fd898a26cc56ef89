//! Any text to the parser of CEL: a tree, or issues with places that can be shown.
#![no_main]
use ephor::cel::library::general;
use ephor::cel::{issue, syntax};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(issues) = syntax::parse(text, general("").syntax) {
        let _ = issue::report(text, &issues);
    }
});
