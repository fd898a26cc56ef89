//! PEM: the text armour of certificates.

use ephor_value::bytes::decode_base64;

/// A decoded block.
pub(super) struct Block<'a> {
    /// The words after `BEGIN`.
    pub kind: &'a str,
    /// The content.
    pub bytes: Vec<u8>,
    /// What follows the block.
    pub rest: &'a str,
}

const BEGIN: &str = "-----BEGIN ";

/// The first well-formed block of a text.
pub(super) fn first_block(text: &str) -> Option<Block<'_>> {
    let mut rest = text;
    loop {
        let at = if rest.starts_with(BEGIN) { 0 } else { rest.find("\n-----BEGIN ")? + 1 };
        let after = rest.get(at + BEGIN.len()..)?;
        if let Some(block) = block(after) {
            return Some(block);
        }
        rest = after;
    }
}

/// The block whose text follows `-----BEGIN `.
fn block(text: &str) -> Option<Block<'_>> {
    let (first, mut body) = text.split_once('\n')?;
    let kind = first.trim_end_matches([' ', '\t', '\r']).strip_suffix("-----")?;
    // Headers are lines with a colon before the data.
    while let Some((line, rest)) = body.split_once('\n') {
        if !line.contains(':') {
            break;
        }
        body = rest;
    }
    let end = if body.starts_with("-----END ") { 0 } else { body.find("\n-----END ")? + 1 };
    let (data, tail) = body.split_at(end);
    let tail = tail.strip_prefix("-----END ")?.strip_prefix(kind)?.strip_prefix("-----")?;
    let (line_end, rest) = tail.split_once('\n').unwrap_or((tail, ""));
    if !line_end.trim_end_matches([' ', '\t', '\r']).is_empty() {
        return None;
    }
    let data: Vec<u8> = data.bytes().filter(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n')).collect();
    Some(Block { kind, bytes: decode_base64(&data).ok()?, rest })
}
