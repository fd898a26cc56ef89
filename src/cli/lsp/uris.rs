//! URIs of a client ↔ names of files.
//!
//! The name of a `file:` URI is its path; that of another one, such as an unsaved text, is the URI.

use std::str::FromStr;

use lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What a path in a URI does not spell out.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const SCHEME: &str = "file://";

/// The name of a file.
pub(super) fn name(uri: &Uri) -> String {
    let text = uri.as_str();
    let Some(path) = text.strip_prefix(SCHEME) else { return text.to_string() };
    // The host of a file is the own one.
    let path = path.find('/').and_then(|at| path.get(at..)).unwrap_or(path);
    let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
    // Windows writes `/c:/folder`.
    let is_drive = matches!(path.as_bytes(), [b'/', drive, b':', ..] if drive.is_ascii_alphabetic());
    if is_drive { path.get(1..).unwrap_or_default().to_string() } else { path }
}

/// The URI of a file; `None` = the name is neither a path from the root nor a URI.
pub(super) fn uri(name: &str) -> Option<Uri> {
    let is_drive = matches!(name.as_bytes(), [drive, b':', b'/' | b'\\', ..] if drive.is_ascii_alphabetic());
    let text = match () {
        () if name.starts_with('/') => format!("{SCHEME}{}", utf8_percent_encode(name, ESCAPED)),
        () if is_drive => {
            format!("{SCHEME}/{}", utf8_percent_encode(&name.replace('\\', "/"), ESCAPED))
        }
        () => name.to_string(),
    };
    Uri::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_uris_stand_for_each_other() {
        for file in ["/a/b.yaml", "/a b/ü#%.yaml", "untitled:Untitled-1"] {
            assert_eq!(name(&uri(file).unwrap()), file);
        }
        let written = Uri::from_str("file:///C%3A/x/a.yaml").unwrap();
        assert_eq!(name(&written), "C:/x/a.yaml");
        assert_eq!(uri("C:/x/a.yaml").unwrap().as_str(), "file:///C%3A/x/a.yaml");
    }
}
