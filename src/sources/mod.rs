//! Where rules get data from: the [`Sources`] trait and its implementations.
//!
//! A rule may read ConfigMaps, answers of the Kubernetes API, of services and registries, and global
//! context entries. The engine asks a `Sources` for them and does not know where they come from.

mod api_call;
pub mod context;
pub mod download;
pub mod files;
pub mod git;
pub mod http;
pub mod offline;
pub mod payload;
pub mod registry;
mod service;

use std::sync::Arc;

use crate::engine::admission::World as AdmissionWorld;
use crate::kubernetes::Types;
use crate::value::Value;

/// A request to the Kubernetes API or to a service.
#[derive(Clone, Debug)]
pub struct Call {
    /// Name of the context entry that asks.
    pub entry: String,
    /// Path of the Kubernetes API; empty for a service.
    pub url_path: String,
    /// URL of a service.
    pub url: String,
    /// `GET` or `POST`.
    pub method: String,
    /// Body of a `POST`.
    pub body: Value,
    /// Headers of a service call.
    pub headers: Vec<(String, String)>,
    /// PEM certificates: only those are trusted; empty = those of the system.
    pub ca_bundle: String,
}

/// The data that rules may ask for. Every answer may be `None`: nobody can answer such questions
/// here, and the binding stays without a value.
pub trait Sources: Send + Sync {
    /// A ConfigMap.
    ///
    /// # Errors
    /// The text of the lookup error.
    fn config_map(&self, _namespace: &str, _name: &str) -> Option<Result<Value, String>> {
        None
    }

    /// Whether somebody may answer requests to the Kubernetes API; else they are not even put together.
    fn reaches_api(&self) -> bool {
        true
    }

    /// The answer to a request, as text.
    ///
    /// # Errors
    /// The text of the request's failure.
    fn call(&self, _call: &Call) -> Option<Result<Value, String>> {
        None
    }

    /// A global context entry, or one of its projections.
    ///
    /// # Errors
    /// The text of the lookup error.
    fn global(&self, _entry: &str, _projection: &str) -> Option<Result<Value, String>> {
        None
    }

    /// The types of objects; `None` = those that every cluster has.
    fn types(&self) -> Option<&Types> {
        None
    }

    /// The kinds and objects of the cluster, for parameters; `None` = there is no cluster.
    fn admission_world(&self) -> Option<Arc<AdmissionWorld>> {
        None
    }

    /// The objects that exist, for rules that change them.
    fn objects(&self) -> &[Value] {
        &[]
    }

    /// The objects that can be copied.
    fn clone_sources(&self) -> &[Value] {
        &[]
    }

    /// Who answers for registries of images, if anybody may be asked.
    fn registry(&self) -> Option<&Arc<dyn registry::Registry>> {
        None
    }
}

/// No data at all: what a run without cluster and registry has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

impl Sources for Nothing {}
