//! The match layer: which rules apply to a request.
//!
//! In: a [`Target`] (what a request is about) and the matchers of rules. Out: yes or no, and
//! through [`index`] the rules that can apply at all. Nothing here knows what a rule does.
//!
//! - [`constraints`]: evaluating constraints
//! - [`filter`]: evaluating matchers
//! - [`index`]: the index from what a request is about to the rules that can match it
//! - [`kinds`]: kind selectors: what a `kinds` entry such as `apps/v1/Deployment` or `Pod/exec`
//!   stands for
//! - [`mismatch`]: why a rule does not match a request, for its author
//! - [`unknown`]: matching requests of which something is not known: the labels of a namespace, the
//!   roles of a user
#![forbid(unsafe_code)]

pub mod constraints;
pub mod filter;
pub mod index;
pub mod kinds;
pub mod mismatch;
pub mod unknown;

use ephor_kubernetes::Kinds;
use ephor_value::{Map, Str, Value};

/// What a request is about, taken from it once.
#[derive(Clone, Debug, Default)]
pub struct Target {
    /// API group, `""` for the core group.
    pub group: Str,
    /// API version.
    pub version: Str,
    /// Kind; for a subresource the kind of its parent.
    pub kind: Str,
    /// Subresource, `""` for none.
    pub subresource: Str,
    /// Name, or the prefix for a generated one.
    pub name: Str,
    /// Namespace, `""` for cluster-scoped objects.
    pub namespace: Str,
    /// Labels.
    pub labels: Map,
    /// Labels of the former object, when there are both.
    pub old_labels: Option<Map>,
    /// Annotations.
    pub annotations: Map,
    /// Operation.
    pub operation: Str,
    /// Labels of the namespace.
    pub namespace_labels: Map,
    /// Whether these are all its labels; else it has at least the one with its name.
    pub namespace_known: bool,
    /// What is not known of the request, and must not count as a mismatch.
    pub unknown: unknown::Unknown,
    /// The user; `None` = nothing is known about users.
    pub user: Option<std::sync::Arc<User>>,
    /// Whether there is an object at all.
    pub exists: bool,
    /// The kinds of the cluster; `None` = those that every cluster has.
    pub kinds: Option<std::sync::Arc<Kinds>>,
    /// What constraints read.
    pub seen: constraints::CachedAttributes,
}

/// Who makes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// User name.
    pub name: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Roles as `namespace:name`.
    pub roles: Vec<String>,
    /// Cluster roles.
    pub cluster_roles: Vec<String>,
}

impl Target {
    /// The namespace; of a namespace its own name.
    pub fn namespace_or_own_name(&self) -> &Str {
        if &*self.kind == "Namespace" { &self.name } else { &self.namespace }
    }

    /// The kinds of the cluster.
    pub fn kinds(&self) -> &Kinds {
        self.kinds.as_ref().unwrap_or_else(|| Kinds::built_in())
    }

    /// Reads what an object says about itself. The operation, the user and the namespace's labels
    /// are the caller's to add.
    pub fn of(object: &Value) -> Target {
        let text = |path: &[&str]| match object.at(path) {
            Some(Value::Str(s)) => s.clone(),
            _ => Str::from(""),
        };
        let api_version = text(&["apiVersion"]);
        let (group, version) = match api_version.split_once('/') {
            Some((g, v)) => (Str::from(g), Str::from(v)),
            None => (Str::from(""), api_version.clone()),
        };
        let map = |path: &[&str]| object.at(path).and_then(Value::as_map).cloned().unwrap_or_default();
        let name = text(&["metadata", "name"]);
        Target {
            group,
            version,
            kind: text(&["kind"]),
            subresource: "".into(),
            name: if name.is_empty() { text(&["metadata", "generateName"]) } else { name },
            namespace: text(&["metadata", "namespace"]),
            labels: map(&["metadata", "labels"]),
            annotations: map(&["metadata", "annotations"]),
            exists: object.as_map().is_some_and(|m| !m.is_empty()),
            ..Target::default()
        }
    }
}
