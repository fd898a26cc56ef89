//! Why a JSON patch fails.
//!
//! Shown in the words of the patch library that Kyverno 1.19.1 and the API server share.

use crate::operation::InvalidOperation;
use ephor_document::decode::LargeNumber;
use ephor_value::number;

/// Why a patch failed, in the words of the patch library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The document is no object any more.
    #[error("json: error calling MarshalJSON for type *jsonpatch.partialDoc: invalid value, expected object")]
    Lost,
    /// The patch of a webhook has an operation of an unknown name.
    #[error("Unexpected kind: {0}")]
    Unknown(Box<str>),
    /// The patch of a webhook has an operation that lacks something.
    #[error(transparent)]
    Operation(#[from] InvalidOperation),
    /// The document has a number that is larger than any double.
    #[error(transparent)]
    Number(#[from] LargeNumber),
    /// A path leads nowhere.
    #[error("{operation} operation does not apply: {}: missing value", absent(.operation, *.what, .path))]
    Absent {
        /// The name of the operation.
        operation: &'static str,
        /// Which of its paths, or what the path leads to.
        what: Target,
        /// The path.
        path: Box<str>,
    },
    /// What a path leads to cannot be changed.
    #[error("error in {step} for path: '{path}': {why}")]
    Container {
        /// The step that failed; replacing removes first.
        step: &'static str,
        /// The path, or its last token where a value is moved.
        path: Box<str>,
        /// Why it cannot.
        #[source]
        why: Fault,
    },
    /// The value that is copied cannot be read.
    #[error("error in copy for from: '{path}': {why}")]
    CopyFrom {
        /// Where it would be.
        path: Box<str>,
        /// Why it cannot.
        #[source]
        why: Fault,
    },
    /// The value that is copied cannot be added.
    #[error("error while adding value during copy: {0}")]
    CopyTo(#[source] Fault),
    /// The whole document is replaced with a scalar.
    #[error(
        "replace operation value must be object or array: {}",
        if *.exact { "%!w(<nil>)" } else { "invalid state detected" }
    )]
    ScalarRoot {
        /// Whether an API server runs the patch.
        exact: bool,
    },
    /// An operation of an API server's mutation does not name what it moves or copies.
    #[error("{0} operation failed to decode from: operation, missing from field: missing value")]
    NoFrom(&'static str),
    /// The whole document is moved.
    #[error("unable to move entire document to another path: invalid state detected")]
    MovedRoot,
    /// The value is not at this path.
    #[error("testing value {0} failed: test failed")]
    Test(Box<str>),
    /// A scalar is above the path of what is added.
    #[error("invalid state detected")]
    ScalarAbove,
    /// A list that would be created has a negative index.
    #[error("Unable to ensure path for negative index other than -1: {0}: invalid index referenced")]
    NegativeIndex(i64),
    /// A list would have to be padded to this many items.
    #[error("a list is not padded to {0} items")]
    Padding(usize),
}

/// What is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// What holds the last token of the path.
    Path,
    /// The last token in it.
    Key,
    /// What holds the value that is moved or copied.
    From,
    /// The same in a patch of an API server's mutation.
    PlainFrom,
    /// What it is moved or copied to.
    Destination,
}

/// The library quotes some paths.
fn absent(operation: &str, what: Target, path: &str) -> String {
    match (operation, what) {
        ("test", _) => format!("is missing path: {path}"),
        ("add" | "remove", _) => format!("doc is missing path: \"{path}\""),
        (_, Target::Path) => format!("doc is missing path: {path}"),
        (_, Target::Key) => format!("doc is missing key: {path}"),
        ("copy", Target::From) => format!("doc is missing from path: \"{path}\""),
        (_, Target::From | Target::PlainFrom) => format!("doc is missing from path: {path}"),
        (_, Target::Destination) => format!("doc is missing destination path: {path}"),
    }
}

pub(super) fn missing(operation: &'static str, what: Target, path: &str) -> ApplyError {
    ApplyError::Absent { operation, what, path: path.into() }
}

/// Why a container was not read or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It has no such member.
    #[error("unable to get nonexistent key: {0}: missing value")]
    NoKey(Box<str>),
    /// It has no such member that could be removed.
    #[error("Unable to remove nonexistent key: {0}: missing value")]
    NothingToRemove(Box<str>),
    /// It has no such item.
    #[error("Unable to access invalid index: {0}: invalid index referenced")]
    Index(i64),
    /// It is a list, and the token is no number.
    #[error(transparent)]
    NoNumber(#[from] number::NumberError),
    /// It is a list, and the token of what is added is neither a number nor `-`.
    #[error("value was not a proper array index: '{}': {cause}", .cause.text)]
    NoIndex {
        /// Why it is no number.
        #[source]
        cause: number::NumberError,
    },
    /// It is no container.
    #[error("invalid value, expected object")]
    NoObject,
}

/// A step on a container that failed.
pub(super) fn failed(step: &'static str, path: &str, why: Fault) -> ApplyError {
    ApplyError::Container { step, path: path.into(), why }
}
