//! Matchers: which requests a rule applies to.
//!
//! A matcher is a list of filters of which any or all must accept the request. Kinds are compiled
//! to patterns of group, version, kind and subresource, names and namespaces to wildcards.

use serde::{Deserialize, Serialize};

use ephor_value::Str;
use ephor_value::wildcard::{Wildcard, has_wildcard};

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

/// A label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// Label equalities.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub labels: Box<[(Str, Str)]>,
    /// Set requirements.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub expressions: Box<[Requirement]>,
    /// Whether a key or value of `labels` holds wildcards.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub wild: bool,
    /// Whether it is well-formed; a selector that is not accepts nothing.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub valid: bool,
}

/// A requirement on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Requirement {
    /// The label.
    pub key: Str,
    /// What is required of it.
    pub operator: SetOperator,
    /// The values.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub values: Box<[Str]>,
}

/// Operators of label requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SetOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl Selector {
    /// Whether it has no requirements, and so accepts all labels.
    pub fn is_empty(&self) -> bool {
        self.valid && self.labels.is_empty() && self.expressions.is_empty()
    }

    /// A selector of these parts; says itself whether it is well-formed.
    pub fn new(labels: Vec<(Str, Str)>, expressions: Vec<Requirement>, well_formed: bool) -> Selector {
        let is_wild = |(k, v): &(Str, Str)| has_wildcard(k) || has_wildcard(v);
        let wild = labels.iter().any(is_wild);
        let labels_valid =
            labels.iter().filter(|l| !is_wild(l)).all(|(k, v)| is_label_key(k) && is_label_value(v));
        let expressions_valid = expressions.iter().all(|r| {
            let needs_values = matches!(r.operator, SetOperator::In | SetOperator::NotIn);
            is_label_key(&r.key)
                && needs_values != r.values.is_empty()
                && r.values.iter().all(|v| is_label_value(v))
        });
        Selector {
            labels: labels.into(),
            expressions: expressions.into(),
            wild,
            valid: well_formed && labels_valid && expressions_valid,
        }
    }
}

/// Whether `text` is a label key: an optional DNS prefix and a name.
pub fn is_label_key(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let dns = |p: &str| {
        !p.is_empty()
            && p.len() <= 253
            && p.split('.').all(|part| {
                let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
                edge(part.bytes().next())
                    && edge(part.bytes().last())
                    && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            })
    };
    prefix.is_none_or(dns) && !name.is_empty() && is_label_value(name)
}

/// Whether `text` is a label value: at most 63 bytes, letters and digits at both ends.
pub fn is_label_value(text: &str) -> bool {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_alphanumeric());
    text.is_empty()
        || (text.len() <= 63
            && edge(text.bytes().next())
            && edge(text.bytes().last())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')))
}
