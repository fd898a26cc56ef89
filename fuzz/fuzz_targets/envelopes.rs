//! Any bytes as a signature envelope: COSE, JWS, JSON Web Tokens.
#![no_main]
use ephor_signatures::{cose, jws};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = (cose::read(data).is_ok(), jws::read(data).is_ok());
});
