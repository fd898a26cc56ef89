//! Files, downloads, repositories, services and registries, and the [external
//! data](ephor_external) that comes of them.
//!
//! [`offline`] is the data of a command without a cluster, [`objects`] takes objects for a cluster.
//! What is read is in `external`, who reads it in `engine` and `functions`.
//!
//! - `api_call`: calls of services by context entries (`apiCall.service`)
//! - [`builtin`]: policies that the program holds
//! - [`bundle`]: bundles: policy files as an artifact in a registry of images
//! - [`context`]: context files: the objects and image data that expressions read without a cluster
//! - [`download`]: plain downloads of policy and resource files
//! - [`files`]: which files an argument of the command line means, and their texts
//! - [`git`]: policies of git repositories
//! - [`http`]: the HTTP client: every request of the program to something that is no Kubernetes API
//!   goes through it
//! - [`kustomize`]: which files kustomize reads as patches
//! - [`objects`]: objects in place of a cluster: the external data of a server that is given files
//! - [`offline`]: the external data of a command without a cluster: objects, a context file, and
//!   services that are really called
//! - [`payload`]: payload files: data that is no Kubernetes object, for policies that read any
//!   document or at check requests of a proxy
//! - [`registry`]: registries of images: manifests, blobs and what refers to an image
//! - [`rights`]: who may do what, by the roles and bindings of a cluster
//! - `service`: calls of services: by expressions (`http.*`, `jwks.Fetch`), and by context entries
//!   (`super::api_call`)
//! - [`stored`]: objects of a command without a cluster, found by version and kind
#![forbid(unsafe_code)]

#[cfg(feature = "network")]
mod api_call;
pub mod builtin;
#[cfg(feature = "bundles")]
pub mod bundle;
pub mod context;
pub mod download;
pub mod files;
#[cfg(feature = "network")]
pub mod git;
#[cfg(feature = "network")]
pub mod http;
pub mod kustomize;
pub mod objects;
pub mod offline;
pub mod payload;
pub mod registry;
pub mod rights;
#[cfg(feature = "network")]
mod service;
pub mod stored;
