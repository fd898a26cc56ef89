//! Why a test ends without results.
//!
//! Out: errors whose texts are Kyverno's. Semantics: `docs/reference/test.md`.

use thiserror::Error;

use crate::inputs::ReadError;
use crate::inputs::exceptions::ExceptionsError;
use crate::inputs::values::ValuesError;
use ephor_engine::request::NoObjects;
use ephor_value::release::ReleaseError;

use super::mocks::MockError;

/// Why a test ends without results.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TestError {
    /// The values in the test.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// The version of the API server.
    #[error("error: kubernetes: {0}")]
    Kubernetes(#[from] ReleaseError),
    /// A values file; see [`Refused`](crate::inputs::Refused).
    #[error("{0}")]
    ValuesFile(String),
    /// A user information file; see [`Refused`](crate::inputs::Refused).
    #[error("error: {0}")]
    UserFile(String),
    /// A user information file of the deprecated schema.
    #[error("userInfo file {0} uses a deprecated schema — please migrate to the latest format")]
    DeprecatedUser(String),
    /// A policy file cannot be read; the words are those of the loader.
    #[error("error: failed to load policies ({0})")]
    Policies(String),
    /// A policy file does not exist.
    #[error("error: failed to load policies (stat {0}: no such file or directory)")]
    NoPolicies(String),
    /// A policy file holds what cannot be used.
    #[error("error: failed to load policies (failed to load file {file}: {text})")]
    PolicyFile {
        /// The file.
        file: String,
        /// Why, in the words of the loader.
        text: String,
    },
    /// Deprecation warnings are errors, and there are some.
    #[error("found {0} deprecation warning(s) and --warnings-as-errors is set")]
    Deprecations(usize),
    /// Objects cannot be read; the words are those of the loader.
    #[error("error: {0}")]
    Objects(String),
    /// An exception file.
    #[error("error: {0}")]
    Exceptions(#[source] ExceptionsError),
    /// Mocked answers or global context entries.
    #[error(transparent)]
    Mocks(#[from] MockError),
    /// Data of any form is no object.
    #[error("error: JSON payload {0} must be a top-level object (map)")]
    NoObject(String),
    /// Data of any form cannot be read.
    #[error("error: failed to load JSON payload {file} ({text})")]
    Payload {
        /// The file.
        file: String,
        /// Why, in the words of the loader.
        text: String,
    },
    /// A check request cannot be read.
    #[error("error: failed to load {proxy} payloads from path {file} ({text})")]
    CheckRequest {
        /// The proxy.
        proxy: &'static str,
        /// The file.
        file: String,
        /// Why, in the words of the loader.
        text: String,
    },
    /// The objects of the cluster cannot be read.
    #[error("error: failed to load Kubernetes resources: {0}")]
    Cluster(#[source] ClusterError),
    /// The definitions of kinds of the cluster cannot be read.
    #[error("error: failed to load CRDs from path {file}: {cause}")]
    Definitions {
        /// The file.
        file: String,
        /// Why.
        #[source]
        cause: ClusterError,
    },
    /// An expected result.
    #[error("invalid test result for policy {policy}: {cause}")]
    Result {
        /// The policy.
        policy: String,
        /// What is wrong.
        #[source]
        cause: ResultError,
    },
    /// No request can be built from an object.
    #[error(transparent)]
    Request(#[from] NoObjects),
    /// No request can be built from an object of policies that are evaluated on requests.
    #[error("failed to apply policies on resource {object} ({cause})")]
    Apply {
        /// The name of the object.
        object: String,
        /// Why.
        #[source]
        cause: NoObjects,
    },
    /// Policies cannot be applied; the words are those of the context file or of the compiler.
    #[error("failed to apply policies on resource {object} ({text})")]
    Unusable {
        /// The name of the object.
        object: String,
        /// Why.
        text: String,
    },
    /// Policies on check requests do not compile; the words are those of the compiler.
    #[error("{0}")]
    Uncompiled(String),
}

/// Why a file of a cluster cannot be used.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// It cannot be read.
    #[error(transparent)]
    Read(ReadError),
    /// It holds something else; the words are those of the parser.
    #[error("{0}")]
    Document(String),
}

/// What is wrong with an expected result.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResultError {
    /// The operation does not exist.
    #[error("invalid operation \"{0}\", must be one of CREATE, UPDATE, DELETE")]
    Operation(String),
    /// Deleting policies have no operation.
    #[error("operation is not supported for deleting policies")]
    Deleting,
}
