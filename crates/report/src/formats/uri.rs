//! Names of files as references of URIs (RFC 3986).

use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::value::file_path::normal;

/// What a path may hold as it is: unreserved characters and separators.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// What no URI holds as it is.
const NOT_IN_URIS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A file's name as a reference: relative below `root`, else absolute; addresses stay as they are.
pub fn reference(file: &str, root: Option<&Path>) -> String {
    if file.contains("://") {
        return utf8_percent_encode(file, NOT_IN_URIS).to_string();
    }
    if file == "-" {
        return "stdin".into();
    }
    let path = Path::new(file);
    let inside = root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
    let text = normal(inside).to_string_lossy().replace('\\', "/");
    let encoded = encoded(&text);
    match text.starts_with('/') {
        true => format!("file://{encoded}"),
        false => encoded,
    }
}

/// A path with everything encoded that a path of a URI cannot hold.
pub fn encoded(path: &str) -> String {
    utf8_percent_encode(path, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_root_are_relative_and_encoded() {
        let of = |file: &str| reference(file, Some(Path::new("/work/shop")));
        assert_eq!(of("./a/../b c.yaml"), "b%20c.yaml");
        assert_eq!(of("/work/shop/deploy/ü.yaml"), "deploy/%C3%BC.yaml");
        assert_eq!(of("/etc/a b.yaml"), "file:///etc/a%20b.yaml");
        assert_eq!(of("../x.yaml"), "../x.yaml");
        assert_eq!(of("https://example.com/p.yaml"), "https://example.com/p.yaml");
        assert_eq!(of("-"), "stdin");
    }
}
