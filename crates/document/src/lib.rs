//! Documents: YAML and JSON streams, and where their parts stand in the user's files.
//!
//! In: the text of a file, a download or standard input. Out: [`Document`]s, each a [`Value`] with
//! the file and line it begins on. A stream is cut at its separators ([`split`]), each document is
//! parsed on its own ([`yaml`], which also reads JSON), and resources get what Kyverno 1.19.1's
//! loader gives them ([`resource`]). Positions inside a document are looked up again only when a
//! message needs them ([`locate`]).
//!
//! Semantics: `docs/reference/cli.md`, policy and resource sources; typing of scalars as in YAML
//! 1.1.
//!
//! - `build`: builds a `Value` from the nodes of a YAML document, in the order in which they are
//!   read
//! - [`comments`]: the comments of a text, which values do not have
//! - [`decode`]: the JSON decoder of expressions and of answers of lookups, with the error texts
//!   of the reference
//! - `event`: the event parser: YAML text to the starts, scalars and ends of its nodes
//! - `intern`: sharing of equal short strings within a document and among its neighbours
//! - [`json`]: JSON text to `Value` and back, through `serde_json`
//! - [`locate`]: where a part of a document stands in the user's file
//! - [`resource`]: resource files: what is done to each document before a rule sees it
//! - `scalar`: what a YAML scalar means: the typing rules of YAML 1.1 as Kyverno 1.19.1's decoder
//!   applies them
//! - [`scope`]: which built-in kinds live outside namespaces
//! - [`spelling`]: JSON whose numbers and texts keep their spelling
//! - [`stream`]: cuts a stream of any length into pieces, so that memory does not grow with its
//!   length
//! - [`split`]: cuts a stream into its documents, the way Kyverno 1.19.1's loader does for every
//!   kind of file
//! - [`mod@write`]: values as YAML text, byte for byte as the reference prints them
//! - [`written`]: how a scalar is written: where each character of its value stands, and how a
//!   part of it is replaced
//! - [`yaml`]: YAML text to `Value`
//! - `yaml_error`: why a text of YAML has no value
#![forbid(unsafe_code)]

mod build;
pub mod comments;
pub mod decode;
mod event;
mod intern;
pub mod json;
pub mod locate;
pub mod resource;
mod scalar;
pub mod scope;
pub mod spelling;
pub mod split;
pub mod stream;
pub mod write;
pub mod written;
pub mod yaml;
mod yaml_error;

use std::fmt;
use std::sync::Arc;

use ephor_value::Value;

pub use decode::{check_json, decode_first_json, decode_json};
pub use resource::{ResourceOptions, resources};

/// How deeply collections may nest. Kyverno allows 10,000 levels; documents of clusters stay
/// below 100, and every walk over a value must fit the stack of a worker thread.
pub const MAX_DEPTH: usize = 1_000;

/// What a mapping key means that comes twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// The last value counts: resources.
    LastWins,
    /// An error: policies.
    Error,
}

/// One object of a file.
#[derive(Clone, Debug)]
pub struct Document {
    /// What the document says.
    pub value: Value,
    /// The file's name as the user wrote it, `-` for standard input.
    pub source: Arc<str>,
    /// The line of the file on which the document begins, from 1.
    pub line: usize,
    /// The document's text; items of a list share the list's.
    pub text: Arc<str>,
    /// The position in the list that the text is, of its items.
    pub item: Option<usize>,
    /// Whether the text begins inside of a line, so that columns on its first line are not known.
    pub is_inside: bool,
}

/// A document that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The file's name.
    pub source: Arc<str>,
    /// The line on which the document begins, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a document that cannot be used, in Kyverno's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum Problem {
    /// The stream cannot be cut into documents.
    Separator(#[from] split::SeparatorError),
    /// It has no value.
    Yaml(#[from] yaml::YamlError),
    /// It is no Kubernetes object.
    Object(#[from] resource::ResourceError),
    /// It is too long for one, and no list.
    List(#[from] resource::ListError),
}

impl LoadError {
    /// Whether the document has a value that is no Kubernetes object.
    pub fn is_no_object(&self) -> bool {
        matches!(self.problem, Problem::Object(_))
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.problem.source()
    }
}

/// The documents of a stream as they are, each parsed or refused on its own.
///
/// # Errors
/// The stream cannot be cut into documents.
pub fn parse_stream(
    source: &str,
    text: &str,
    duplicates: Duplicates,
) -> Result<Vec<Result<Document, LoadError>>, LoadError> {
    stream(source, text, duplicates, yaml::Words::Old)
}

/// As [`parse_stream`] for YAML of the newer kind: `yes`, `on` and the like are text. Of equal keys
/// the last counts.
///
/// # Errors
/// The stream cannot be cut into documents.
pub fn parse_new_stream(source: &str, text: &str) -> Result<Vec<Result<Document, LoadError>>, LoadError> {
    stream(source, text, Duplicates::LastWins, yaml::Words::New)
}

fn stream(
    source: &str,
    text: &str,
    duplicates: Duplicates,
    words: yaml::Words,
) -> Result<Vec<Result<Document, LoadError>>, LoadError> {
    let source: Arc<str> = source.into();
    let fault = |line, problem| LoadError { source: source.clone(), line, problem };
    let parts = split::split(text).map_err(|e| fault(e.line, e.into()))?;
    let mut strings = intern::Interner::new();
    Ok(parts
        .into_iter()
        .map(|part| match yaml::parse_sharing(part.text, duplicates, words, &mut strings) {
            Ok(value) => Ok(Document {
                value,
                source: source.clone(),
                line: part.line,
                text: part.text.into(),
                item: None,
                is_inside: false,
            }),
            Err(error) => Err(fault(part.line, error.into())),
        })
        .collect())
}

/// The value of the first YAML document in `text`, for the function `parse_yaml`.
///
/// # Errors
/// What is wrong, such as `yaml: line 1: did not find expected node content`.
pub fn yaml_value(text: &str) -> Result<Value, yaml::YamlError> {
    yaml::parse(text, Duplicates::LastWins)
}

/// The value of the first YAML document in `text`; a mapping key that comes twice is an error.
///
/// # Errors
/// As [`yaml_value`].
pub fn yaml_value_strict(text: &str) -> Result<Value, yaml::YamlError> {
    yaml::parse(text, Duplicates::Error)
}

/// Whether an unquoted `text` is read as text, by every YAML reader that a user may have: booleans,
/// numbers, dates, null forms and base-60 numbers are not.
pub fn reads_as_text(text: &str) -> bool {
    scalar::reads_as_text(text)
}

#[cfg(test)]
mod tests;
