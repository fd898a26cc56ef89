//! Facts about Kubernetes 1.36: which kinds there are and how they are served.
//!
//! In: names, and definitions of custom resources. Out: the facts. The tables are written by
//! `conformance/reference/kubernetes.py` from what an API server says about itself.
//!
//! - [`admitted`]: which objects an API server admits, and the form in which admission webhooks see
//!   them
//! - [`convert`]: objects under another version of their kind
//! - `custom`: types of custom resources: the schemas of their definitions
//! - [`decode`]: whether an object fits its kind, as a Go decoder checks it: the API server's, or
//!   Kyverno's
//! - [`defaults`]: what an API server fills into an object that it has decoded
//! - [`go`]: the Go names of fields, which the texts of decoding errors show
//! - [`groups`]: groups of our own with Kyverno's kinds: `ephor.dev` for `kyverno.io`,
//!   `policies.ephor.dev` for `policies.kyverno.io`
//! - `id`: how requests name kinds and resources: objects with group, version and the name
//! - [`kinds`]: kinds and the resources under which an API server serves them
//! - [`prune`]: what an API server drops of an object when it decodes it: fields that the kind does
//!   not have
//! - [`published`]: schemas of kinds as a server publishes them, without references
//! - [`release`]: what releases of the API server do differently
//! - [`schema`]: the fields of kinds: types, how lists and maps are merged, defaults
//! - [`structure`]: whether an object has the structure of its kind
//! - [`views`]: views of objects of built-in kinds: what conditions see of them
#![forbid(unsafe_code)]

pub mod admitted;
pub mod convert;
mod custom;
pub mod decode;
pub mod defaults;
pub mod go;
pub mod groups;
mod id;
pub mod kinds;
pub mod prune;
pub mod published;
pub mod release;
pub mod schema;
pub mod structure;
pub mod views;

pub use custom::any_object;
pub use id::{kind_object, resource_object};
pub use kinds::{Kinds, Resource};

pub use schema::Types;
