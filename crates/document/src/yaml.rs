//! YAML text to [`Value`].
//!
//! The nodes come from the event parser (`event`), their types from
//! `scalar`, and `build` puts them together. Only the first
//! document of the text is read: streams are split before, see [`split`](super::split).

use super::build::{Builder, Place};
use super::event::{EventData, Parser};
use super::intern::Interner;
use super::scalar::{Scalar, resolve};
use super::{Duplicates, MAX_DEPTH};
use ephor_value::quote::quote;
use ephor_value::{Str, Value};

pub use super::event::{SyntaxError, SyntaxProblem};

/// The value of the first document in `text`; null when there is none.
///
/// # Errors
/// What is wrong, in Kyverno 1.19.1's words: `yaml: line 2: did not find expected key`.
pub fn parse(text: &str, duplicates: Duplicates) -> Result<Value, YamlError> {
    parse_sharing(text, duplicates, Words::Old, &mut Interner::new())
}

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

/// Which words stand for true and false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// `yes`, `on` and the like too.
    Old,
    /// `true` and `false` alone; others are text.
    New,
}

/// Whether a word stands for true or false in all readers.
fn is_new(word: &str) -> bool {
    matches!(word, "true" | "True" | "TRUE" | "false" | "False" | "FALSE")
}

/// As [`parse`], sharing strings with the documents that were parsed with the same table.
pub(super) fn parse_sharing(
    text: &str,
    duplicates: Duplicates,
    words: Words,
    strings: &mut Interner,
) -> Result<Value, YamlError> {
    let mut parser = Parser::new(text)?;
    let mut build = Builder::new(duplicates, strings);
    let mut starts: Vec<u32> = Vec::with_capacity(16);
    loop {
        let event = parser.next()?;
        let line = event.start.line;
        match event.data {
            EventData::Scalar { anchor, tag, value, plain } => {
                let tag = tag.as_deref();
                let merge = (plain || tag == Some("tag:yaml.org,2002:merge"))
                    && value == "<<"
                    && build.place() == Place::Key;
                if merge {
                    build.merge_key();
                    continue;
                }
                let mut kind = resolve(&value, tag, plain).unwrap_or_else(|error| {
                    // A syntax error further down is reported first.
                    build.refuse(error);
                    Scalar::Null
                });
                let is_word = words == Words::New && tag.is_none() && matches!(kind, Scalar::Bool(_));
                if is_word && !is_new(&value) {
                    kind = Scalar::Text;
                }
                build.scalar(&value, kind, anchor, line);
            }
            EventData::SeqStart(anchor) => {
                starts.push(line);
                build.start_seq(anchor)?;
            }
            EventData::MapStart(anchor) => {
                starts.push(line);
                build.start_map(anchor)?;
            }
            EventData::SeqEnd | EventData::MapEnd => build.end(starts.pop().unwrap_or(line)),
            EventData::Alias(anchor) => build.alias(anchor, line)?,
            EventData::DocumentEnd | EventData::StreamEnd => return build.finish(),
            EventData::DocumentStart => {}
        }
    }
}
