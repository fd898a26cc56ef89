//! Constraints: which requests of the Kubernetes API a policy is about.
//!
//! They name resources as paths of the API do (`pods`, `deployments/scale`), where a
//! [`super::matcher::Filter`] names kinds.

use serde::{Deserialize, Serialize};

use ephor_value::Str;

use super::selector::Selector;

/// Which requests are accepted: some rule accepts, no exclusion does, and both selectors do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Constraints {
    /// Rules, one of which must accept; none at all accepts every request.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub rules: Box<[ResourceRule]>,
    /// Requests that are not accepted.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub exclude: Box<[ResourceRule]>,
    /// Labels of the namespace.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub namespace_selector: Option<Selector>,
    /// Labels of the object or of the former one.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub object_selector: Option<Selector>,
    /// Whether a rule also accepts a request that reaches the same objects under another group or
    /// version.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub equivalent: bool,
}

impl Constraints {
    /// Accepts every operation.
    pub fn any_operation(&mut self) {
        for rule in self.rules.iter_mut().chain(&mut self.exclude) {
            rule.operations = AnyOf::All;
        }
    }
}

/// Attributes that must all hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceRule {
    /// Operations.
    pub operations: AnyOf,
    /// API groups.
    pub groups: AnyOf,
    /// API versions.
    pub versions: AnyOf,
    /// Resources with their subresources.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub resources: Box<[ResourcePath]>,
    /// Where the objects live.
    pub scope: Scope,
    /// Names of objects; none accepts all.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub names: Box<[Str]>,
}

/// Some texts, or all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AnyOf {
    /// Every text.
    All,
    /// These texts.
    These(Box<[Str]>),
}

impl AnyOf {
    /// Whether a text is among them.
    pub fn has(&self, text: &str) -> bool {
        match self {
            AnyOf::All => true,
            AnyOf::These(all) => all.iter().any(|one| **one == *text),
        }
    }
}

/// A resource, or all; without subresource, with one, or with all.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourcePath {
    /// The resource; `None` is every one.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub resource: Option<Str>,
    /// The subresource, empty for the resource itself; `None` is both and all.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub subresource: Option<Str>,
}

/// Where objects live.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Scope {
    /// Anywhere.
    All,
    /// In a namespace.
    Namespaced,
    /// Outside of namespaces. Namespaces count as such.
    Cluster,
    /// A scope that does not exist.
    Unknown(Str),
}
