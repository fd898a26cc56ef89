//! Conditions of the status of a policy.

use ephor_value::{Map, Str, Value};

use crate::in_use::StoredPolicy;

/// When a status is written, and of which form of the policy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed<'o> {
    /// The moment.
    pub now: &'o str,
    /// `metadata.generation`: clients compare it with `observedGeneration` to see whether the
    /// status is of the latest change.
    pub generation: Option<i64>,
}

/// A condition of a status.
pub(super) struct Condition {
    pub kind: &'static str,
    pub holds: bool,
    pub message: String,
}

impl Condition {
    /// As it is written; the time is that of the condition before, if that said the same.
    pub fn written(&self, before: &[Value], at: Observed<'_>) -> Value {
        let status = if self.holds { "True" } else { "False" };
        let before = before.iter().find(|c| c.text_at(&["type"]) == self.kind);
        let since = before
            .filter(|c| c.text_at(&["status"]) == status)
            .map(|c| c.text_at(&["lastTransitionTime"]))
            .filter(|time| !time.is_empty());
        let generation = at.generation.map(|generation| ("observedGeneration", Value::Int(generation)));
        let members = [
            Some(("lastTransitionTime", since.unwrap_or(at.now).into())),
            Some(("message", (&*self.message).into())),
            generation,
            Some(("reason", if self.holds { "Succeeded" } else { "Failed" }.into())),
            Some(("status", status.into())),
            Some(("type", self.kind.into())),
        ];
        Value::Map(members.into_iter().flatten().map(|(key, value)| (Str::from(key), value)).collect())
    }
}

/// The members of a status that others write stay.
pub(super) fn members(policy: &StoredPolicy) -> Map {
    policy.document.get("status").and_then(Value::as_map).cloned().unwrap_or_default()
}
