//! The client of the Kubernetes API.
//!
//! In: a kubeconfig file or the account of a pod. Out: objects as values ([`Cluster`]), watched objects ([`cache`], or [`follow`] without
//! storing them), the external data of rules ([`live`]), decisions of the authorizer ([`access`]). Semantics: `docs/cluster.md`.
#![forbid(unsafe_code)]

use ephor_document as document;
use ephor_external as external;
use ephor_kubernetes as kubernetes;
use ephor_sources as sources;
use ephor_value as value;

pub mod access;
pub mod cache;
pub mod changes;
mod client;
mod discovery;
pub mod follow;
pub mod live;

pub use client::{Choice, Cluster, Failure, Page, api_version, connect, path_of};
