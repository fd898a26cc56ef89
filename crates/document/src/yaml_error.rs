//! Why a text of YAML has no value, in the words of Kyverno 1.19.1.

use super::MAX_DEPTH;
use super::event::SyntaxError;
use ephor_value::Str;
use ephor_value::quote::quote;

/// Why a text has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum YamlError {
    /// It is not YAML.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Collections nest too deeply.
    #[error("yaml: exceeded max depth of {MAX_DEPTH}")]
    TooDeep,
    /// An alias of a name that no anchor has.
    #[error("yaml: unknown anchor '{0}' referenced")]
    UnknownAnchor(Box<str>),
    /// An alias inside the node that it repeats.
    #[error("yaml: anchor '{0}' value contains itself")]
    AnchorInItself(Box<str>),
    /// Aliases repeat too much.
    #[error("yaml: document contains excessive aliasing")]
    Aliasing,
    /// The value of a merge key is no mapping.
    #[error("yaml: map merge requires map or sequence of maps as the value")]
    Merge,
    /// A text with the tag `!!binary` is not base64.
    #[error("yaml: !!binary value contains invalid base64 data")]
    Binary,
    /// A scalar is of another type than its tag.
    #[error("yaml: cannot decode {found} `{text}` as a !!{tag}")]
    Tag {
        /// The tag of the type that the text has.
        found: &'static str,
        /// The scalar.
        text: Box<str>,
        /// The tag, without exclamation marks.
        tag: Box<str>,
    },
    /// A collection is a key; in Go's syntax.
    #[error("yaml: invalid map key: {0}")]
    MapKey(Box<str>),
    /// Keys that come twice, where that is an error.
    #[error("yaml: unmarshal errors:{}", lines(.0))]
    DuplicateKeys(Box<[DuplicateKey]>),
    /// A key that JSON cannot hold.
    #[error("unsupported map key of type: {key}, value: {value}")]
    NoJsonKey {
        /// The key.
        key: NoJsonKey,
        /// Its value, in Go's syntax.
        value: Box<str>,
    },
    /// A number that JSON cannot hold, as Go prints it.
    #[error("json: unsupported value: {0}")]
    NonFinite(Box<str>),
}

/// A key that comes twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The line of the second value, from 1.
    pub line: u32,
    /// The key.
    pub name: Str,
    /// Whether it was text before it became a JSON key.
    pub is_text: bool,
}

fn lines(keys: &[DuplicateKey]) -> String {
    let line = |key: &DuplicateKey| {
        let name = if key.is_text { quote(&key.name) } else { key.name.to_string() };
        format!("\n  line {}: key {name} already set in map", key.line)
    };
    keys.iter().map(line).collect()
}

/// A key that JSON cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoJsonKey {
    /// An integer above `i64::MAX`.
    #[error("uint64, key: {0:#x}")]
    UInt(u64),
    /// Null.
    #[error("%!s(<nil>), key: <nil>")]
    Null,
}
