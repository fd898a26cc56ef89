//! Files, downloads, repositories, services and registries, and the [external
//! data](crate::external) that comes of them.
//!
//! [`offline`] is the data of a command without a cluster, [`objects`] takes objects for a cluster.
//! What is read is in `external`, who reads it in `engine` and `functions`.
#![forbid(unsafe_code)]

#[cfg(feature = "network")]
#[cfg(feature = "network")]
#[cfg(feature = "network")]
mod api_call;
pub mod context;
pub mod download;
pub mod files;
#[cfg(feature = "network")]
pub mod git;
#[cfg(feature = "network")]
pub mod http;
pub mod kustomize;
#[cfg(feature = "network")]
pub mod objects;
#[cfg(feature = "network")]
pub mod offline;
pub mod payload;
pub mod registry;
pub mod rights;
#[cfg(feature = "network")]
mod service;
