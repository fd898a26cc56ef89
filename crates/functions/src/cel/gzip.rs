//! `gzip.compress` and `gzip.decompress`.
//!
//! In: a text, or bytes. Out: bytes, or a text; faults in the words of Go's `compress/gzip`.
//! Semantics: `docs/expressions/cel.md`.

use std::io::{ErrorKind, Read, Write};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, GzDecoder};

use super::call::{Call, CallResult, fault, success};
use super::data::no_text;
use ephor_value::Value;
use ephor_value::bytes::lossy;

/// The largest text that is unpacked. As large as a text may be that functions build; a text that
/// unpacks to more is a fault.
const MAX_UNPACKED: u64 = 64 << 20;

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
    match unpacked(packed) {
        Ok(bytes) => success(lossy(&bytes)),
        Err(error) => fault(error.to_string()),
    }
}

/// Why bytes are not unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum GzipError {
    #[error("EOF")]
    Empty,
    #[error("unexpected EOF")]
    Truncated,
    #[error("gzip: invalid header")]
    Header,
    #[error("flate: corrupt input before offset 1")]
    Corrupt,
    #[error("gzip: invalid checksum")]
    Checksum,
    #[error("the text is too long")]
    TooLong,
}

/// The content of the first member of a stream. Header, content and trailer are read one after the
/// other: the decoder of the whole does not say which of them is wrong.
fn unpacked(packed: &[u8]) -> Result<Vec<u8>, GzipError> {
    if packed.is_empty() {
        return Err(GzipError::Empty);
    }
    let mut framed = GzDecoder::new(packed);
    let cut_or = |error: std::io::Error, other| match error.kind() {
        ErrorKind::UnexpectedEof => GzipError::Truncated,
        _ => other,
    };
    if framed.header().is_none() {
        return Err(framed
            .read(&mut [0])
            .map_or_else(|error| cut_or(error, GzipError::Header), |_| GzipError::Header));
    }
    let mut out = Vec::new();
    let mut content = DeflateDecoder::new(framed.into_inner());
    content
        .by_ref()
        .take(MAX_UNPACKED + 1)
        .read_to_end(&mut out)
        .map_err(|error| cut_or(error, GzipError::Corrupt))?;
    if out.len() as u64 > MAX_UNPACKED {
        return Err(GzipError::TooLong);
    }
    let trailer = content.into_inner().first_chunk::<8>().ok_or(GzipError::Truncated)?;
    let mut crc = Crc::new();
    crc.update(&out);
    let expected = [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].concat();
    if expected == trailer { Ok(out) } else { Err(GzipError::Checksum) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn errors_name_the_part_that_is_wrong() {
        let mut packed = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::default());
        packed.write_all(b"a text, a text, a text").unwrap();
        let good = packed.finish().unwrap();
        assert_eq!(unpacked(&good).unwrap(), b"a text, a text, a text");
        let more = [&good[..], b"what follows is not read"].concat();
        assert_eq!(unpacked(&more).unwrap(), b"a text, a text, a text");
        assert_eq!(unpacked(&[]), Err(GzipError::Empty));
        for cut in 1..good.len() {
            assert_eq!(unpacked(&good[..cut]), Err(GzipError::Truncated), "{cut}");
        }
        let changed = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] = !bytes[at];
            unpacked(&bytes)
        };
        assert_eq!(changed(0), Err(GzipError::Header));
        // A block of a type that there is not.
        assert_eq!(unpacked(&[&good[..10], &[7]].concat()), Err(GzipError::Corrupt));
        for at in good.len() - 8..good.len() {
            assert_eq!(changed(at), Err(GzipError::Checksum), "{at}");
        }
    }
}
