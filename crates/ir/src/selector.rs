//! Label selectors.

use serde::{Deserialize, Serialize};

use ephor_value::Str;
use ephor_value::wildcard::has_wildcard;

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
