//! Bytes of digests as text.

use std::fmt::Write;

/// Two digits for each byte.
pub(crate) fn hex<'b>(bytes: impl Iterator<Item = &'b u8>) -> String {
    bytes.fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
