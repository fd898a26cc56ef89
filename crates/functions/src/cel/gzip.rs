//! `gzip.compress` and `gzip.decompress`.
//!
//! In: a text, or bytes. Out: bytes, or a text; faults in the words of Go's `compress/gzip`. Semantics: `docs/cel.md`.

use std::io::{Read, Write};

use super::data::no_text;
use super::{Call, CallResult, fault, success};
use crate::value::Value;
use crate::value::bytes::lossy;

/// The largest text that is unpacked.
const LARGEST: u64 = 64 << 20;

pub(crate) fn compress(call: &Call<'_>) -> CallResult {
    let mut packed = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::default());
    let Some(text) = call.text(0) else { return fault(no_text(call.arg(0))) };
    match packed.write_all(text.as_bytes()).and_then(|()| packed.finish()) {
        Ok(bytes) => Some(Ok(Value::Bytes(bytes.into()))),
        Err(e) => fault(e.to_string()),
    }
}

pub(crate) fn decompress(call: &Call<'_>) -> CallResult {
    let Value::Bytes(packed) = call.arg(0) else { return None };
    let mut out = Vec::new();
    let read = flate2::read::GzDecoder::new(&packed[..]).take(LARGEST + 1).read_to_end(&mut out);
    match read {
        Ok(_) if out.len() as u64 > LARGEST => fault("the text is too long"),
        Ok(_) => success(lossy(&out)),
        Err(_) if packed.is_empty() => fault("EOF"),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => fault("unexpected EOF"),
        Err(e) if e.to_string().contains("header") => fault("gzip: invalid header"),
        Err(e) if e.to_string().contains("checksum") => fault("gzip: invalid checksum"),
        Err(_) => fault("flate: corrupt input before offset 1"),
    }
}
