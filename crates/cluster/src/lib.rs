//! The client of the Kubernetes API.
//!
//! In: a kubeconfig file or the account of a pod. Out: objects as values ([`Cluster`]), watched
//! objects ([`cache`], or [`follow`] without storing them), the external data of rules ([`live`]),
//! decisions of the authorizer ([`access`]). Semantics: `docs/reference/cluster.md`.
#![forbid(unsafe_code)]

pub mod access;
pub mod cache;
pub mod changes;
mod client;
mod discovery;
pub mod follow;
pub mod live;

pub use client::{Choice, Cluster, Failure, Page, api_version, connect, path_of};
