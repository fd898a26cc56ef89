//! Why nothing is generated.
//!
//! Out: errors whose texts are Kyverno's. Semantics: `docs/semantics/generate.md`.

use thiserror::Error;

use crate::error::{ConditionError, FillError, QueryError};
use ephor_external::LookupError;
use ephor_value::Str;

/// Why a rule generates nothing.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerationError {
    /// What it describes cannot be filled in.
    #[error(transparent)]
    Fill(FillError),
    /// Preconditions cannot be evaluated.
    #[error("failed to evaluate preconditions: {0}")]
    Preconditions(#[source] ConditionError),
    /// The list of a loop has no value.
    #[error("failed to evaluate {at} foreach list: {cause}")]
    List {
        /// The position of the loop.
        at: usize,
        /// Why.
        #[source]
        cause: QueryError,
    },
    /// A loop fails on elements.
    #[error("failed to process {at} foreach in rule {rule}: {}", joined(.failed))]
    Loop {
        /// The position of the loop.
        at: usize,
        /// The rule.
        rule: Str,
        /// The elements and why.
        failed: Vec<ElementError>,
    },
    /// An object that is to be copied does not exist.
    #[error("source resource {target} not found: {resource} \"{name}\" not found")]
    NoSource {
        /// The object that would have been generated, `VERSION/KIND/NAMESPACE/NAME`.
        target: Box<str>,
        /// The plural of its kind.
        resource: Box<str>,
        /// The name of the object that is to be copied.
        name: Box<str>,
    },
    /// An object that is to be copied cannot be looked up.
    #[error("source resource {target} not found: {cause}")]
    Source {
        /// The object that would have been generated, `VERSION/KIND/NAMESPACE/NAME`.
        target: Box<str>,
        /// Why.
        #[source]
        cause: LookupError,
    },
    /// The objects that are to be copied cannot be listed.
    #[error("failed to list source resource for cloneList {kind}. {cause}")]
    Sources {
        /// `VERSION KIND/NAMESPACE`.
        kind: Box<str>,
        /// Why.
        #[source]
        cause: LookupError,
    },
    /// It is not known whether an object exists.
    #[error("{0}")]
    Lookup(#[source] LookupError),
    /// The rules of the policy exceed a bound; see [`Excess`](ephor_value::budget::Excess).
    #[error("{0}")]
    Excess(Str),
}

/// Why a loop fails on an element.
#[derive(Debug, Error)]
#[error("failed to process {index} element: {cause}")]
pub struct ElementError {
    /// The position of the element.
    pub index: usize,
    /// Why.
    #[source]
    pub cause: GenerationError,
}

fn joined(failed: &[ElementError]) -> String {
    failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
