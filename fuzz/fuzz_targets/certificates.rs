//! Any bytes as a certificate in DER with timestamps of logs (SCT), as a key, and as an entry of a
//! log.
#![no_main]
use ephor_signatures::fuzzing::{certificate, entry};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let key = include_str!("../keys/log.b64").trim();
    certificate(data, key);
    if let Ok(text) = std::str::from_utf8(data) {
        entry(text, key);
    }
});
