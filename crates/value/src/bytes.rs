//! Bytes as text: base64 and UTF-8, as Go reads them.
//!
//! In: bytes or base64. Out: text, or bytes and the place of what is none.

/// Bytes as text; every byte that is not part of a character becomes U+FFFD.
pub fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    out
}

fn six_bits(b: u8) -> Option<u8> {
    Some(match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

/// Decodes standard base64 with padding. Line breaks are skipped, set bits after the end accepted.
///
/// # Errors
/// The offset that the reference names: of the first bad byte, or of the start of an incomplete
/// group of four.
pub fn decode_base64(src: &[u8]) -> Result<Vec<u8>, usize> {
    let skip_breaks = |mut i: usize| {
        while matches!(src.get(i), Some(b'\r' | b'\n')) {
            i += 1;
        }
        i
    };
    let mut out = Vec::with_capacity(src.len() / 4 * 3);
    let (mut i, mut group, mut have) = (0, 0u32, 0usize);
    while let Some(b) = src.get(i) {
        i += 1;
        if let Some(bits) = six_bits(*b) {
            group = group << 6 | u32::from(bits);
            have += 1;
            if have == 4 {
                out.extend_from_slice(&group.to_be_bytes()[1..]);
                (group, have) = (0, 0);
            }
            continue;
        }
        match (b, have) {
            (b'\r' | b'\n', _) => continue,
            (b'=', 2) => {
                i = skip_breaks(i);
                match src.get(i) {
                    None => return Err(src.len()),
                    Some(b'=') => i += 1,
                    Some(_) => return Err(i - 1),
                }
            }
            (b'=', 3) => {}
            _ => return Err(i - 1),
        }
        i = skip_breaks(i);
        if i < src.len() {
            return Err(i);
        }
        let bytes = (group << (6 * (4 - have))).to_be_bytes();
        out.extend(bytes.iter().skip(1).take(have - 1));
        return Ok(out);
    }
    if have == 0 { Ok(out) } else { Err(i - have) }
}
