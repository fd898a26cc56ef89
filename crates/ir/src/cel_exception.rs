//! PolicyExceptions of `policies.kyverno.io`.
//!
//! In: `lower::cel_policy::exception`. Out: evaluated before the conditions of the policies that
//! they name. Semantics: `docs/semantics/cel-policies.md`, "Exceptions".

use serde::{Deserialize, Serialize};

use ephor_value::{Map, Str, Value};

use super::Policy;
use super::expressions::Source;

/// A PolicyException of `policies.kyverno.io`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CelException {
    /// `namespace/name`, or the name alone.
    pub key: Str,
    /// Its name.
    pub name: Str,
    /// The policies: name and kind.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub policies: Box<[(Str, Str)]>,
    /// Conditions that must all be true.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub admit: Box<[Source]>,
    /// Images that the policy allows (`exceptions.allowedImages`).
    #[serde(default, skip_serializing_if = "super::unset")]
    pub images: Box<[Value]>,
    /// Values that the policy allows (`exceptions.allowedValues`).
    #[serde(default, skip_serializing_if = "super::unset")]
    pub values: Box<[Value]>,
    /// The result is a pass instead of a skip.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub passes: bool,
    /// Of several, the highest decides; 0 = none given.
    pub priority: u64,
    /// When it expires, in nanoseconds since 1970; `None` = never.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub expires: Option<i128>,
}

impl CelException {
    /// Whether it names the policy.
    pub fn names(&self, policy: &Policy) -> bool {
        self.policies.iter().any(|(name, kind)| policy.is_named(kind, name))
    }

    /// Whether it leaves nothing to be decided.
    pub fn is_full(&self) -> bool {
        self.images.is_empty() && self.values.is_empty()
    }
}

/// The value of `exceptions` for expressions.
pub fn exceptions_value(images: Vec<Value>, values: Vec<Value>) -> Value {
    let mut m = Map::new();
    m.insert("allowedImages", Value::list(images));
    m.insert("allowedValues", Value::list(values));
    Value::Map(m)
}
