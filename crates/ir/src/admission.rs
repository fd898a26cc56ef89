//! Admission policies as an API server runs them: which requests they match, what they check, and
//! the actions.
//!
//! A policy does nothing by itself: bindings say for which requests, with which parameters and with
//! which consequences it runs.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::binding_index::BindingIndex;
use super::constraints::Constraints;
use super::selector::Selector;

/// What binds a rule of Kubernetes' own policies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bound {
    /// `matchConstraints`; `None` is a mistake in the policy. Outside of a cluster the rule's
    /// matcher differs from it.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub constraints: Option<Constraints>,
    /// Group, version and kind of its parameters.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub param_kind: Option<[Str; 3]>,
    /// Its bindings. Without any it runs by itself outside of a cluster, and not at all in an API
    /// server.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[PolicyBinding]>,
    /// The same by what a request must have for them to count.
    #[serde(skip)]
    pub index: BindingIndex,
    /// Whether policy and bindings are static manifests of the server: these run before others, and
    /// see requests about policies, too.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub is_static: bool,
    /// The release of the API server that runs it; `None` = Kyverno does, outside of a cluster.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub server: Option<Release>,
    /// Objects that may be parameters there.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub params: Arc<[Value]>,
}

/// A binding.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyBinding {
    /// Whether it binds a policy that changes objects, else one that validates them.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub mutates: bool,
    /// Its name.
    pub name: Str,
    /// The policy.
    pub policy: Str,
    /// Where the parameters are.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub params: Option<ParamRef>,
    /// Requests that it concerns; `None` = all of the policy's.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub when: Option<Constraints>,
    /// What follows from denials, in order: `Deny`, `Warn`, `Audit`.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub actions: Box<[Str]>,
}

/// Where parameters are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ParamRef {
    /// The name of the one.
    pub name: Str,
    /// The namespace; empty = that of the request.
    pub namespace: Str,
    /// Labels of all that count.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub selector: Option<Selector>,
    /// What follows when there are none.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub must_exist: bool,
}
