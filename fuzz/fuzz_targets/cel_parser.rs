//! Any text to the parser of CEL: a tree, or issues with places that can be shown.
#![no_main]
use ephor_cel::library::general;
use ephor_cel::{issue, syntax};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(issues) = syntax::parse(text, general("").syntax) {
        let _ = issue::report(text, &issues);
    }
});
