//! Cuts a stream into its documents, the way Kyverno 1.19.1's loader does for every kind of file.
//!
//! A line `---` followed only by blanks or a comment ends the current document if that has any
//! text; if it has none, the `---` line becomes the first line of the next document. A document of
//! blank lines and `#` comments alone is dropped; one that also holds a `---` line is not (as a
//! resource it has no kind, and is refused later). Other text after `---` on its line is refused.
//! Lines end at LF; a CR before it counts as a blank.

/// One document of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// The document's text, its last newline included, the separator after it not.
    pub text: &'a str,
    /// The line of the file on which it begins, from 1.
    pub line: usize,
}

/// A line that begins with `---` and has more text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid Yaml document separator: {text}")]
pub struct SeparatorError {
    /// The line of the file, from 1.
    pub line: usize,
    /// The text after the dashes.
    pub text: Box<str>,
}

/// The documents of `text` in order.
///
/// # Errors
/// A line that begins with `---` has more text. (The reference drops the whole file there without a
/// word.)
pub fn split(text: &str) -> Result<Vec<Part<'_>>, SeparatorError> {
    split_from(text.strip_prefix('\u{feff}').unwrap_or(text), 1)
}

/// The documents of a part of a stream that begins on a line.
///
/// # Errors
/// As [`split`].
pub(crate) fn split_from(text: &str, line: usize) -> Result<Vec<Part<'_>>, SeparatorError> {
    let mut parts = Vec::new();
    let (mut start, mut start_line) = (0, line);
    let (mut at, mut line) = (0, line);
    while let Some(rest) = text.get(at..).filter(|r| !r.is_empty()) {
        let end = at + memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |n| n + 1);
        if let Some(after) = rest.strip_prefix("---") {
            let after = after.get(..end - at - 3).unwrap_or(after).trim();
            if !(after.is_empty() || after.starts_with('#')) {
                return Err(SeparatorError { line, text: after.into() });
            }
            if start < at {
                push(&mut parts, text.get(start..at), start_line);
                (start, start_line) = (end, line + 1);
            }
        }
        at = end;
        line += 1;
    }
    push(&mut parts, text.get(start..), start_line);
    Ok(parts)
}

fn push<'a>(parts: &mut Vec<Part<'a>>, text: Option<&'a str>, line: usize) {
    if let Some(text) = text.filter(|t| !is_blank(t)) {
        parts.push(Part { text, line });
    }
}

/// Whether the text holds only blank lines and comments.
fn is_blank(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim_start();
        line.is_empty() || line.starts_with('#')
    })
}

/// Bytes that are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid UTF-8 at byte {at} (line {line})")]
pub struct Utf8Error {
    /// The offset of the first wrong byte.
    pub at: usize,
    /// Its line, from 1.
    pub line: usize,
}

/// The text of a file's bytes.
///
/// # Errors
/// The bytes are not UTF-8.
pub fn utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let line = memchr::memchr_iter(b'\n', bytes.get(..at).unwrap_or(bytes)).count() + 1;
        Utf8Error { at, line }
    })
}
