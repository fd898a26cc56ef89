//! The client of the Kubernetes API.
//!
//! In: a kubeconfig file or the account of a pod. Out: objects as values ([`Cluster`]), watched
//! objects ([`cache`], or [`follow`] without storing them), the external data of rules ([`live`]),
//! decisions of the authorizer ([`access`]). Semantics: `docs/reference/cluster.md`.
//!
//! - [`changes`]: changes of objects, without the objects.
//! - `client`: the cluster: a client of the Kubernetes API.
//! - `discovery`: what a cluster serves: groups, versions, resources.
//! - `failure`: why a cluster does not answer, or refuses.
//! - [`access`]: the authorizer of a cluster.
//! - [`cache`]: watched objects: a cache that a watch updates.
//! - [`follow`]: objects that are followed, not stored: each is shown once when it is listed, and
//!   whenever it changes.
//! - [`live`]: the external data of a cluster.
//! - `recorded`: requests to the API server that are recorded, or answered by a recording.
#![forbid(unsafe_code)]

pub mod access;
pub mod cache;
pub mod changes;
mod client;
mod discovery;
mod failure;
pub mod follow;
pub mod live;
mod recorded;

pub use client::{Choice, Cluster, ListPage, Page, api_version, connect, path_of};
pub use failure::Failure;
