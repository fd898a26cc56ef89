//! YAML text to [`Value`].
//!
//! The nodes come from the event parser (`event`), their types from
//! `scalar`, and `build` puts them together. Only the first
//! document of the text is read: streams are split before, see [`split`](super::split).

use super::Duplicates;
use super::build::{Builder, Place};
use super::event::{EventData, Parser};
use super::intern::Interner;
use super::scalar::{Scalar, resolve};
use ephor_value::Value;

pub use super::event::{SyntaxError, SyntaxPlace, SyntaxProblem};
pub use super::yaml_error::{DuplicateKey, NoJsonKey, YamlError};

/// The value of the first document in `text`; null when there is none.
///
/// # Errors
/// What is wrong, in Kyverno 1.19.1's words: `yaml: line 2: did not find expected key`.
pub fn parse(text: &str, duplicates: Duplicates) -> Result<Value, YamlError> {
    parse_sharing(text, duplicates, Words::Old, &mut Interner::new())
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
