//! Names of files as references of URIs (RFC 3986).

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::roots::Roots;

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

/// The name of the root of the repository in logs.
pub const BASE: &str = "%SRCROOT%";

/// Names of files of a run as references.
#[derive(Clone, Copy, Debug)]
pub struct Uris<'r>(pub &'r Roots);

impl Uris<'_> {
    /// A file as an artifact of SARIF: relative to the root of its repository, or to the folder of
    /// the run where there is none, else absolute; addresses stay as they are.
    pub fn artifact(self, file: &str) -> Value {
        if file.contains("://") {
            return json!({"uri": utf8_percent_encode(file, NOT_IN_URIS).to_string()});
        }
        if file == "-" {
            return json!({"uri": "stdin"});
        }
        let located = self.0.locate(file);
        let text = located.name.to_string_lossy().replace('\\', "/");
        let encoded = encoded(&text);
        match (text.starts_with('/'), located.is_in_repository) {
            (true, _) => json!({"uri": format!("file://{encoded}")}),
            (false, true) => json!({"uri": encoded, "uriBaseId": BASE}),
            (false, false) => json!({"uri": encoded}),
        }
    }
}

/// A path with everything encoded that a path of a URI cannot hold.
pub fn encoded(path: &str) -> String {
    utf8_percent_encode(path, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn files_are_relative_to_the_root_of_the_repository_and_encoded() {
        let folder = Path::new("/work/shop/eu");
        let repository = Roots::of(folder, None, |path| path == Path::new("/work/shop"));
        let of = |file: &str| Uris(&repository).artifact(file);
        assert_eq!(of("./a/../b c.yaml"), json!({"uri": "eu/b%20c.yaml", "uriBaseId": "%SRCROOT%"}));
        assert_eq!(
            of("/work/shop/deploy/ü.yaml"),
            json!({"uri": "deploy/%C3%BC.yaml", "uriBaseId": "%SRCROOT%"})
        );
        assert_eq!(of("../../x.yaml"), json!({"uri": "file:///work/x.yaml"}));
        assert_eq!(of("/etc/a b.yaml"), json!({"uri": "file:///etc/a%20b.yaml"}));
        assert_eq!(of("https://example.com/p.yaml"), json!({"uri": "https://example.com/p.yaml"}));
        assert_eq!(of("-"), json!({"uri": "stdin"}));
    }

    #[test]
    fn outside_of_a_repository_files_are_relative_to_the_folder_of_the_run() {
        let plain = Roots::of(Path::new("/work/shop"), None, |_| false);
        assert_eq!(Uris(&plain).artifact("/work/shop/a b.yaml"), json!({"uri": "a%20b.yaml"}));
        assert_eq!(Uris(&plain).artifact("../x.yaml"), json!({"uri": "../x.yaml"}));
    }
}
