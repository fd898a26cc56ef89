//! Any text that parses to the checker of CEL, and to the estimate of what it costs.
#![no_main]
use std::sync::LazyLock;

use ephor_cel::env::Env;
use ephor_cel::library::{Admission, admission};
use libfuzzer_sys::fuzz_target;

static ENV: LazyLock<Env> = LazyLock::new(|| {
    admission(Admission { params: true, authorizer: true, mutation: true, ..Admission::default() })
});

fuzz_target!(|text: &str| {
    if let Ok(typed) = ephor_cel::typed(text, &ENV) {
        let estimate = ephor_cel::estimated(&typed, &ENV);
        let _ = estimate.max;
    }
});
