//! Matchers: which requests a rule applies to.
//!
//! A matcher is a list of filters of which any or all must accept the request. Kinds are compiled
//! to patterns of group, version, kind and subresource, names and namespaces to wildcards.

use serde::{Deserialize, Serialize};

use ephor_value::Str;
use ephor_value::wildcard::Wildcard;

pub use super::selector::{Requirement, Selector, SetOperator, is_label_key, is_label_value};

/// Which requests are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Matcher {
    /// At least one filter accepts.
    Any(Box<[Filter]>),
    /// Every filter accepts; none at all accepts nothing.
    All(Box<[Filter]>),
    /// The request is one that constraints of the Kubernetes API describe.
    Constraints(Box<super::constraints::Constraints>),
}

impl Matcher {
    /// Accepts nothing.
    pub fn never() -> Matcher {
        Matcher::Any(Box::default())
    }

    /// The filters; constraints have none.
    pub fn filters(&self) -> &[Filter] {
        match self {
            Matcher::Any(f) | Matcher::All(f) => f,
            Matcher::Constraints(_) => &[],
        }
    }
}

/// Attributes that must all hold; empty ones are ignored. A filter without any attribute
/// accepts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filter {
    /// Where it is written.
    pub origin: super::Origin,
    /// Operations of the request.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub operations: Box<[Str]>,
    /// Kinds, one of which must match.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub kinds: Box<[KindPattern]>,
    /// The name.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub name: Option<Wildcard>,
    /// Names, one of which must match.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub names: Box<[Wildcard]>,
    /// Namespaces, one of which must match.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub namespaces: Box<[Wildcard]>,
    /// Annotations by key and value.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub annotations: Box<[(Wildcard, Wildcard)]>,
    /// Labels of the object.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub selector: Option<Selector>,
    /// Labels of its namespace.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub namespace_selector: Option<Selector>,
    /// Roles of the user, `namespace:name`.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub roles: Box<[Str]>,
    /// Cluster roles of the user.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub cluster_roles: Box<[Str]>,
    /// Users, groups and service accounts.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub subjects: Box<[Subject]>,
    /// Some attribute but those of users is written, be it an empty list.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub has_resource: bool,
    /// Some attribute of users is written, be it an empty list.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub has_user: bool,
}

/// A compiled kind selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindPattern {
    /// API group.
    pub group: Wildcard,
    /// API version.
    pub version: Wildcard,
    /// Kind.
    pub kind: Wildcard,
    /// Subresource; the empty pattern accepts only requests without one.
    pub subresource: Wildcard,
}

/// A user, group or service account.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subject {
    /// `User`, `Group` or `ServiceAccount`.
    pub kind: Str,
    /// Name by wildcard; for service accounts the full user name.
    pub name: Wildcard,
}
