//! The inputs of a run: values of variables, the user, exceptions, resources.
//!
//! In: files that the command line or a test names. Out: what requests are built from
//! ([`requests`]), or Kyverno's text for a file that cannot be used. The commands `apply` and
//! `test` share all of it. Semantics: `docs/reference/cli.md`, "apply" to "Exceptions".
//!
//! - [`exceptions`]: exception files.
//! - [`identity`]: what an object is known by: version, kind, namespace, name.
//! - `misread`: names and namespaces that YAML does not read as text.
//! - [`objects`]: the objects of resource arguments, block by block.
//! - [`replay`]: the objects of an audit log of `ephor serve --audit-log-objects`, so that policies
//!   can be run on what was admitted.
//! - [`resources`]: resource files of a run.
//! - [`seen`]: which objects a run has seen, in memory that hardly grows with their number.
//! - [`strict`]: documents of the command line that are decoded strictly: tests, values, user
//!   information.
//! - [`user`]: user information files: the user of the requests.
//! - [`values`]: values files and `--set`.
//! - [`requests`]: requests built from resources, values and the user.

pub mod exceptions;
pub mod identity;
#[cfg(feature = "test-files")]
mod misread;
#[cfg(feature = "test-files")]
pub mod objects;
pub mod replay;
pub mod requests;
pub mod resources;
#[cfg(feature = "test-files")]
pub mod seen;
pub mod strict;
pub mod user;
pub mod values;

use ephor_document::yaml::YamlError;
use ephor_document::{LoadError, Problem};

/// The line of a file where a document of it goes wrong: where its YAML ends, or where it begins.
pub fn line_of(error: &LoadError) -> usize {
    let inside = match &error.problem {
        Problem::Yaml(YamlError::Syntax(syntax)) => syntax.line.map_or(1, |line| line.get() as usize),
        _ => 1,
    };
    error.line + inside.saturating_sub(1)
}

/// Why an input cannot be used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused {
    /// What Kyverno prints on standard output first.
    pub notice: Option<String>,
    /// Kyverno's error.
    pub text: String,
    /// Where it is and what to write instead, if that is known.
    pub hint: Option<String>,
}

impl From<String> for Refused {
    fn from(text: String) -> Refused {
        Refused { text, ..Refused::default() }
    }
}

/// The text of a file; the cause of a failure in Kyverno's words.
///
/// # Errors
/// See [`ReadError`].
pub fn read(path: &str) -> Result<String, ReadError> {
    std::fs::read_to_string(path).map_err(|cause| ReadError { path: path.into(), cause })
}

/// A file that cannot be read; the text is Kyverno's, `open FILE: no such file or directory` and
/// the like.
#[derive(Debug, thiserror::Error)]
#[error("{}", shown(.path, .cause))]
pub struct ReadError {
    /// The file.
    pub path: Box<str>,
    /// Why.
    #[source]
    pub cause: std::io::Error,
}

fn shown(path: &str, e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::IsADirectory => format!("read {path}: is a directory"),
        _ => format!("open {path}: {}", ephor_sources::files::reason(e)),
    }
}
