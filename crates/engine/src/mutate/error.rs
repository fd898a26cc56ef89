//! Why an object cannot be mutated.
//!
//! Out: errors whose texts are Kyverno's. Semantics: `docs/semantics/mutate.md`.

use thiserror::Error;

use crate::error::{ConditionError, FillError, QueryError};
use ephor_patch::merge;
use ephor_pattern::strip::TooShort;
use ephor_value::{Fault, Str, Value};

/// Why a patch does not change an object.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PatchError {
    /// The patch cannot be filled in.
    #[error("variable substitution failed: {0}")]
    Fill(#[source] FillError),
    /// There is no patch.
    #[error("empty mutate rule")]
    Empty,
    /// The patch nests too deeply to be merged.
    #[error("failed to patch resource: the patch nests too deeply")]
    TooDeep,
    /// The patch cannot be decoded; lowering found why.
    #[error("failed to patch resource: {0}")]
    Broken(Str),
    /// The patch cannot be decoded, or does not fit the object.
    #[error("failed to patch resource: {0}")]
    Patch(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The anchors of the patch cannot be decided for the object.
    #[error("failed to patch resource: {0}")]
    Anchors(#[source] AnchorError),
    /// The patched object has a number that is too large.
    #[error(
        "failed to unmarshal patched resource: json: cannot unmarshal number {0} into Go value of type float64"
    )]
    Number(Box<str>),
    /// The patched object, shown as JSON, has no kind.
    #[error("failed to unmarshal patched resource: Object 'Kind' is missing in '{0}'")]
    NoKind(Box<str>),
    /// The list of a loop has no value.
    #[error("failed to evaluate list {list}: {cause}: {cause}")]
    List {
        /// The expression of the list.
        list: Str,
        /// Why.
        #[source]
        cause: QueryError,
    },
    /// A loop fails on an element.
    #[error("failed to mutate elements: {0}")]
    Elements(#[source] Box<PatchError>),
    /// The preconditions of a loop cannot be evaluated.
    #[error("failed to evaluate mutate.foreach[{index}].preconditions: {cause}")]
    Preconditions {
        /// The position of the element.
        index: usize,
        /// Why.
        #[source]
        cause: ConditionError,
    },
    /// A loop costs too much.
    #[error(transparent)]
    Budget(Fault),
}

/// Why the anchors of a patch cannot be decided.
#[derive(Debug, Error)]
pub enum AnchorError {
    /// The patch has another kind of node than the object; the words are those of merging.
    #[error("failed to preProcess rule: {0}")]
    WrongKind(Box<str>),
    /// A list loses more items than it has.
    #[error("failed to preProcess rule: {0}")]
    TooShort(#[source] TooShort),
    /// A key comes twice, with and without an anchor.
    #[error("yaml: unmarshal errors:\n  line 1: mapping key \"{0}\" already defined at line 1")]
    Twice(Box<str>),
}

impl AnchorError {
    /// A node of the patch that is not of the kind that the object has.
    pub(super) fn wrong_kind(wanted: &Value, found: &Value) -> AnchorError {
        AnchorError::WrongKind(merge::wrong_kind(wanted, found).to_string().into())
    }
}
