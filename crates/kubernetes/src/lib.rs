//! Facts about Kubernetes 1.36: which kinds there are and how they are served.
//!
//! In: names, and definitions of custom resources. Out: the facts. The tables are written by
//! `conformance/reference/kubernetes.py` from what an API server says about itself.
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
pub mod schema;
pub mod structure;

pub use custom::any_object;
pub use id::{kind_object, resource_object};
pub use kinds::{Kinds, Resource};

pub use schema::Types;
