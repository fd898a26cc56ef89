//! Statuses of policies: what `kubectl get` and GitOps tools show.
//!
//! In: a stored policy, and whether the webhook configurations carry it. Out: its status as Kyverno
//! writes it, with what is wrong in the message where Kyverno has none. A status that is as it
//! should be is not written; times of conditions that stay the same stay. Semantics:
//! `docs/reference/cluster.md`, "Statuses of policies".

mod cel;
mod classic;
mod rights;
mod written;

use crate::in_use::StoredPolicy;
use crate::native::State;
use crate::webhooks::MANAGER;
use ephor_cluster::{Cluster, Failure};
use ephor_value::{Map, Str, Value};

pub use rights::Rights;

/// When a status is written, and of which form of the policy.
#[derive(Clone, Copy, Debug)]
struct Observed<'o> {
    /// The moment.
    now: &'o str,
    /// `metadata.generation`: clients compare it with `observedGeneration` to see whether the
    /// status is of the latest change.
    generation: Option<i64>,
}

/// A condition of a status.
struct Condition {
    kind: &'static str,
    holds: bool,
    message: String,
}

impl Condition {
    /// As it is written; the time is that of the condition before, if that said the same.
    fn written(&self, before: &[Value], at: Observed<'_>) -> Value {
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

/// Writes the status of a policy if it is not as it should be. `is_carried`: the webhook
/// configurations are in step with policies that include it; `native`: what became of it as a
/// policy of Kubernetes.
///
/// # Errors
/// The cluster refuses; a conflict says that the policy has changed since.
pub fn write(
    cluster: &Cluster,
    policy: &StoredPolicy,
    is_carried: bool,
    native: Option<&State>,
    rights: &Rights,
) -> Result<(), Failure> {
    let document = &policy.document;
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let generation = document.at(&["metadata", "generation"]).and_then(Value::as_int);
    let at = Observed { now: &now, generation };
    let status = match document.text_at(&["kind"]) {
        "ClusterPolicy" | "Policy" => classic::status(policy, is_carried, native, at),
        kind if kind.ends_with("Policy") && !policy.is_scheduled() => {
            cel::status(policy, is_carried, native, rights, at)
        }
        _ => return Ok(()),
    };
    let before = document.get("status").cloned().unwrap_or_default();
    if before.json_eq(&status) {
        return Ok(());
    }
    cluster.replace_part(&document.with("status", status), "status", MANAGER).map(drop)
}

/// The members of a status that others write stay.
fn members(policy: &StoredPolicy) -> Map {
    policy.document.get("status").and_then(Value::as_map).cloned().unwrap_or_default()
}
