//! Exception files.

use crate::inputs::ReadError;
use ephor_ir::cel_exception::CelException;
use ephor_ir::{Exception, Policy};
use ephor_kubernetes::groups;
use ephor_policies::policy_set::PolicySet;
use ephor_sources::files::SourceText;
use ephor_value::Value;
use std::sync::Arc;

/// The exceptions of a file, and warnings about their kinds.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// Of group `kyverno.io`, in order.
    pub exceptions: Vec<Exception>,
    /// Of group `policies.kyverno.io`, in order.
    pub cel_exceptions: Vec<CelException>,
    /// Deprecation warnings, one a document, with the file.
    pub deprecations: Vec<String>,
}

impl Exceptions {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.exceptions.len() + self.cel_exceptions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds those of another place.
    pub fn extend(&mut self, other: Exceptions) {
        self.exceptions.extend(other.exceptions);
        self.cel_exceptions.extend(other.cel_exceptions);
        self.deprecations.extend(other.deprecations);
    }

    /// Adds an object that is an exception; others and malformed ones are ignored.
    pub fn take(&mut self, object: &Value) {
        let found = ephor_policies::load::exception(object);
        self.exceptions.extend(found.exceptions);
        self.cel_exceptions.extend(found.cel_exceptions);
    }

    /// The policies with these exceptions.
    pub fn with(self, policies: Vec<Arc<Policy>>) -> PolicySet {
        PolicySet::new(policies, self.exceptions).with_cel_exceptions(self.cel_exceptions)
    }
}

/// Why a file of exceptions cannot be used; the texts are Kyverno's.
#[derive(Debug, thiserror::Error)]
pub enum ExceptionsError {
    /// It cannot be read.
    #[error("failed to load exceptions (unable to read yaml ({0}))")]
    Read(#[source] ReadError),
    /// It has something that cannot be loaded; the words are those of the loader.
    #[error("failed to load exceptions (unable to load exceptions ({0}))")]
    Load(String),
    /// It has an object of another kind.
    #[error(
        "failed to load exceptions (unable to load exceptions (policy exception type not supported {version}, Kind={kind}))"
    )]
    Kind {
        /// Its version.
        version: Box<str>,
        /// Its kind.
        kind: Box<str>,
    },
}

/// Reads a file in which every document must be an exception.
///
/// # Errors
/// See [`ExceptionsError`].
pub fn read(path: &str) -> Result<Exceptions, ExceptionsError> {
    let text = super::read(path).map_err(ExceptionsError::Read)?;
    let source = SourceText { name: path.to_string(), text };
    let documents = ephor_document::parse_stream(path, &source.text, ephor_document::Duplicates::LastWins);
    if let Some(text) = documents.iter().flatten().flatten().filter(|d| !d.value.is_null()).find_map(|d| {
        ephor_policies::load::unserved(&groups::read(&d.value).unwrap_or_else(|| d.value.clone()))
    }) {
        return Err(ExceptionsError::Load(text));
    }
    let loaded = ephor_policies::load::argument_for(
        std::slice::from_ref(&source),
        ephor_policies::load::Reader::AllExceptions,
    );
    if let Some(p) = loaded.problems.first() {
        return Err(ExceptionsError::Load(p.text.clone()));
    }
    if let Some(p) = loaded.policies.first() {
        let (version, kind) = (p.document.text_at(&["apiVersion"]), p.document.text_at(&["kind"]));
        return Err(ExceptionsError::Kind { version: version.into(), kind: kind.into() });
    }
    Ok(Exceptions {
        exceptions: loaded.exceptions,
        cel_exceptions: loaded.cel_exceptions,
        deprecations: loaded.deprecations,
    })
}
