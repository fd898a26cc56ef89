//! Why a global context entry has no data.

use ephor_cluster::Failure;
use ephor_external::LookupError;
use ephor_sources::offline::ProjectionError;

/// In the words of Kyverno 1.19.1.
#[derive(Debug, thiserror::Error)]
pub(super) enum EntryError {
    /// It names neither objects nor a call, or nothing answers its call.
    #[error("no data available")]
    NoData,
    /// The cluster does not serve its resource.
    #[error(
        "failed to sync cache for {group}/{version}, Resource={plural}: the resource may not exist in the cluster"
    )]
    NotServed {
        /// The group of the resource.
        group: String,
        /// Its version.
        version: String,
        /// Its name.
        plural: String,
    },
    /// The cluster does not list its objects.
    #[error(transparent)]
    Cluster(#[from] Failure),
    /// Its call fails.
    #[error(transparent)]
    Call(LookupError),
    /// Its projection has no value.
    #[error(transparent)]
    Projection(#[from] ProjectionError),
}
