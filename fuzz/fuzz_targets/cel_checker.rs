//! Any text that parses to the checker of CEL, and to the estimate of what it costs.
#![no_main]
use std::sync::LazyLock;

use ephor::cel::env::Env;
use ephor::cel::library::{Admission, admission};
use libfuzzer_sys::fuzz_target;

static ENV: LazyLock<Env> =
    LazyLock::new(|| admission(Admission { params: true, authorizer: true, mutation: true, ..Admission::default() }));

fuzz_target!(|text: &str| {
    if let Ok(typed) = ephor::cel::typed(text, &ENV) {
        let estimate = ephor::cel::estimated(&typed, &ENV);
        let _ = estimate.max;
    }
});
