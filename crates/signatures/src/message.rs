//! The annotation with the signed manifest: base64 of a gzip stream of what was signed, which is
//! YAML or a `tar.gz` of YAML files.

use std::io::{ErrorKind, Read};

use flate2::read::MultiGzDecoder;

use ephor_document::{Duplicates, parse_stream};
use ephor_value::Value;
use ephor_value::bytes::decode_base64;

/// What a message may unpack to; objects themselves are no larger than a tenth of it.
const MAX_UNPACKED: u64 = 16 << 20;

/// Why no manifest could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// There is none of the object's kind.
    #[error("failed to find a YAML manifest in the gzipped message")]
    Absent,
    /// The message is no base64.
    #[error("failed to decode base64 message in the annotation: illegal base64 data at input byte {0}")]
    Base64(usize),
    /// What was signed is no gzip stream; why, in the words of Go.
    #[error(
        "failed to read YAMLs in the gzipped message: gzip.NewReader() failed while decompressing tar gz: {0}"
    )]
    Gzip(&'static str),
    /// What was signed is no archive; why, in the words of Go.
    #[error(
        "failed to read YAMLs in the gzipped message: tarReader.Next() failed while decompressing tar gz: {0}"
    )]
    Tar(&'static str),
}

/// The bytes that were signed.
pub fn blob(text: &str) -> Result<Vec<u8>, Unread> {
    let packed = decode_base64(text.as_bytes()).map_err(Unread::Base64)?;
    let mut blob = Vec::new();
    let mut stream = MultiGzDecoder::new(&*packed).take(MAX_UNPACKED);
    // What is not packed was signed as it is.
    Ok(if stream.read_to_end(&mut blob).is_ok() { blob } else { packed })
}

/// The manifest of an object in what was signed.
pub fn manifest(blob: &[u8], object: &Value) -> Result<Value, Unread> {
    let mut all = match documents(blob) {
        Some(found) => found,
        None => files(blob)?.iter().filter_map(|file| documents(file)).flatten().collect(),
    };
    all.retain(|m| m.text_at(&["kind"]) == object.text_at(&["kind"]));
    let named = |m: &Value, key: &str| m.text_at(&["metadata", key]) == object.text_at(&["metadata", key]);
    let rank = |m: &Value| match (named(m, "name"), named(m, "namespace")) {
        (true, true) => 0,
        (true, false) => 1,
        (false, _) => 2,
    };
    all.into_iter().min_by_key(rank).ok_or(Unread::Absent)
}

/// The documents of YAML text; `None` where it is none.
fn documents(bytes: &[u8]) -> Option<Vec<Value>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty())?;
    let parsed = parse_stream("manifest", text, Duplicates::LastWins).ok()?;
    parsed.into_iter().map(|document| document.ok().map(|d| d.value)).collect()
}

/// The YAML files of an archive.
fn files(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Unread> {
    if !bytes.starts_with(&[0x1f, 0x8b]) || bytes.len() < 10 {
        return Err(Unread::Gzip(match bytes.len() {
            0 => "EOF",
            1..=9 => "unexpected EOF",
            _ => "gzip: invalid header",
        }));
    }
    let unread = |e: std::io::Error| {
        Unread::Tar(match e.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::InvalidInput => "unexpected EOF",
            _ => "archive/tar: invalid tar header",
        })
    };
    let mut unpacked = Vec::new();
    let mut stream = MultiGzDecoder::new(bytes).take(MAX_UNPACKED);
    let end = stream.read_to_end(&mut unpacked);
    if end.is_err() || unpacked.len() < 512 {
        return Err(unread(ErrorKind::UnexpectedEof.into()));
    }
    let mut archive = tar::Archive::new(&*unpacked);
    let mut found = Vec::new();
    for entry in archive.entries().map_err(unread)? {
        let mut entry = entry.map_err(unread)?;
        let name = entry.path_bytes().into_owned();
        if name.ends_with(b".yaml") || name.ends_with(b".yml") {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).map_err(unread)?;
            found.push(bytes);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Unread, blob, manifest};
    use ephor_document::yaml_value;

    #[test]
    fn no_part_of_a_message_makes_it_panic() {
        let message = "H4sIAAAAAAAA/wAuAdH+H4sIAAAAAAAA/+yPPW7rMBCEVesUewE90aJ+bHYPqQMYiJE2YKS1IlgUid21E/v0geggVeDK7vQ1M+RMsUPI/kgtZjz0mbjw72zdmNwXpZSqyzJqU1dRVXF9R6t1siq11rouikYnShdNrRJQd77jT44slhKl6HDs/I0ei93vb+Q/W341P1nK937skDg/V3lVrvXb5Li5VO+duHZz+HJOf37M5X7Kd3nrXSBkHqY+E0tZf8lQ4UYXVVPrrnjA9BkbhlckHvxk4LRKD8PUGXhBOg0tpg7FdlasSQEm69CAIEvG17hIOWA7Z8GT8GyyaA2sVQoAEMiLb/1oYPe0jT9iqUfZxtJGN3UKwDhiK55MLNgQDDyf/4eQPmjxwsLCwsLMdwAAAP//a1+4aAAIAAABAAD//9BEPkguAQAA";
        let object = yaml_value("{kind: Service, metadata: {name: test-service2}}").unwrap();
        let whole = blob(message).unwrap();
        assert_eq!(manifest(&whole, &object).unwrap().text_at(&["metadata", "name"]), "test-service2");
        for cut in 0..whole.len() {
            assert!(
                matches!(manifest(&whole[..cut], &object), Err(Unread::Gzip(_) | Unread::Tar(_))),
                "{cut}"
            );
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            let _ = manifest(&damaged, &object);
        }
        for cut in 0..message.len() {
            let _ = blob(&message[..cut]).map(|b| manifest(&b, &object));
        }
    }
}
