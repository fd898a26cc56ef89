//! Any bytes as a timestamp token (CMS), judged by the chain of a timestamp authority.
#![no_main]
use ephor_signatures::fuzzing::timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| timestamp(
    include_str!("../keys/chain.pem"),
    include_str!("../keys/root.pem"),
    data
));
