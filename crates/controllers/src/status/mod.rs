//! Statuses of policies: what `kubectl get` and GitOps tools show.
//!
//! In: a stored policy, and whether the webhook configurations carry it. Out: its status as Kyverno
//! writes it, with what is wrong in the message where Kyverno has none. A status that is as it
//! should be is not written; times of conditions that stay the same stay. Semantics:
//! `docs/reference/cluster.md`, "Statuses of policies".
//!
//! - `cel`: the status of policies whose expressions are CEL.
//! - `classic`: the status of ClusterPolicies and Policies.
//! - `condition`: conditions of the status of a policy.
//! - `rights`: whether an account may read what a policy is about, so that background scans can
//!   report on it.
//! - `written`: rules as Kyverno writes them into a status.

pub(crate) mod cel;
pub(crate) mod classic;
pub(crate) mod condition;
pub(crate) mod rights;
pub(crate) mod written;

use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;
pub use rights::Rights;

use crate::field_manager::MANAGER;
use crate::in_use::StoredPolicy;
use crate::native::NativeState;
use crate::status::condition::Observed;

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
    native: Option<&NativeState>,
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
