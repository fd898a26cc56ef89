//! Policies of Kubernetes generated from Kyverno's.
//!
//! In: a policy that enables it (`validate.cel.generate`, `spec.autogen`), and the exceptions. Out:
//! a ValidatingAdmissionPolicy or MutatingAdmissionPolicy with its binding, owned by the policy, or
//! why there is none. Only objects that carry Kyverno's label are changed. The conversion is
//! [`ephor_admission::native`]'s; semantics: `docs/semantics/admission.md`, "Handing policies
//! over".

use std::time::Duration;

use ephor_cluster::cache::Cache;
use ephor_cluster::{Cluster, Failure};
use ephor_kubernetes::Kinds;
use ephor_value::Value;
use ephor_value::time::Time;

use crate::field_manager::MANAGER;
use crate::in_use::StoredPolicy;
use ephor_admission::native::{Known, Native, native};
use ephor_admission::registration::reference;

/// Which kinds are generated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// ValidatingAdmissionPolicies.
    pub validating: bool,
    /// MutatingAdmissionPolicies.
    pub mutating: bool,
}

/// What became of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeState {
    /// Whether the API server evaluates it.
    pub generated: bool,
    /// Why not, in Kyverno's words.
    pub message: String,
}

/// How long the first list of what was generated may take.
const PATIENCE: Duration = Duration::from_secs(10);
const GROUP: &str = "admissionregistration.k8s.io";

/// What was generated, as a watch shows it: comparing with it costs no requests.
#[derive(Debug, Default)]
pub struct NativeStatuses(Cache);

impl NativeStatuses {
    /// Begins to watch what policies of a kind become. What may not be watched is read each time.
    pub fn watch(&self, cluster: &Cluster, kind: &str) -> Result<(), Failure> {
        let Some((kind, _)) = form(kind) else { return Ok(()) };
        let kinds = cluster.kinds()?;
        [kind.to_string(), format!("{kind}Binding")].iter().try_for_each(|kind| {
            let mut served = kinds.named(kind).filter(|r| *r.group == *GROUP && &*r.version == "v1");
            served.next().map_or(Ok(()), |resource| self.0.add(cluster, resource, PATIENCE))
        })
    }

    /// Whether an object is there as it should be.
    fn has(&self, wanted: &Value) -> bool {
        let (kind, name) = (wanted.text_at(&["kind"]), wanted.text_at(&["metadata", "name"]));
        self.0.get(GROUP, kind, "", name).is_some_and(|current| is_own(&current) && holds(&current, wanted))
    }
}

const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "kyverno");

/// The kind that a policy may become, and the prefix of its name.
fn form(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "ClusterPolicy" => ("ValidatingAdmissionPolicy", "cpol"),
        "ValidatingPolicy" => ("ValidatingAdmissionPolicy", "vpol"),
        "MutatingPolicy" => ("MutatingAdmissionPolicy", "mpol"),
        _ => return None,
    })
}

/// Writes what a policy becomes; `None` = policies of its kind become nothing. What a policy was
/// and is no more is removed by [`remove_former`], once a webhook evaluates it. `seen` is given
/// when it was written before: a watch that is a moment late must not have a policy's webhook
/// removed before what replaces it is there.
///
/// # Errors
/// The cluster refuses for another reason than missing permissions.
pub fn reconcile(
    cluster: &Cluster,
    policy: &StoredPolicy,
    exceptions: &[Value],
    made: Made,
    seen: Option<&NativeStatuses>,
) -> Result<Option<NativeState>, Failure> {
    let document = &policy.document;
    let Some((kind, _)) = form(document.text_at(&["kind"])) else { return Ok(None) };
    let is_wanted = if kind.starts_with("Validating") { made.validating } else { made.mutating };
    if !is_wanted || policy.problem.is_some() {
        return Ok(None);
    }
    let kinds = cluster.kinds()?;
    let known = Known {
        exceptions,
        kinds: &kinds,
        now: Time::from_unix_nanos(jiff::Timestamp::now().as_nanosecond()),
        keeps_variants: false,
    };
    Ok(Some(match native(&as_owner(document, &kinds), &known) {
        Ok(Native { policy, binding }) => {
            if seen.is_some_and(|seen| seen.has(&policy) && seen.has(&binding)) {
                return Ok(Some(NativeState { generated: true, message: String::new() }));
            }
            match write(cluster, &policy).and_then(|()| write(cluster, &binding)) {
                Ok(()) => NativeState { generated: true, message: String::new() },
                Err(e) if e.code == 403 => NativeState { generated: false, message: forbidden(kind) },
                Err(e) => return Err(e),
            }
        }
        Err(why) => NativeState { generated: false, message: why.to_string() },
    }))
}

/// Removes what a policy was, if it was something. `was`: what became of it before.
///
/// # Errors
/// The cluster refuses.
pub fn remove_former(
    cluster: &Cluster,
    policy: &StoredPolicy,
    was: Option<&NativeState>,
) -> Result<(), Failure> {
    let document = &policy.document;
    let Some((kind, prefix)) = form(document.text_at(&["kind"])) else { return Ok(()) };
    let written = |path: &[&str]| document.at(path).and_then(Value::as_bool) == Some(true);
    let was_generated = was.is_some_and(|was| was.generated)
        || written(&["status", "validatingadmissionpolicy", "generated"])
        || written(&["status", "generated"]);
    if was_generated {
        let name = format!("{prefix}-{}", document.text_at(&["metadata", "name"]));
        remove(cluster, &format!("{kind}Binding"), &format!("{name}-binding"))?;
        remove(cluster, kind, &name)?;
    }
    Ok(())
}

/// The version in which owner references and events name policies of `policies.kyverno.io`: the one
/// that clusters store, as Kyverno does.
const NAMED: &str = "v1beta1";

/// A policy in the version in which its owner references name it, if the cluster serves that.
fn as_owner(document: &Value, kinds: &Kinds) -> Value {
    let group = document.text_at(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    let is_cel = group == "policies.kyverno.io";
    match is_cel && kinds.kind(group, NAMED, document.text_at(&["kind"])).is_some() {
        true => document.with("apiVersion", format!("{group}/{NAMED}").into()),
        false => document.clone(),
    }
}

fn forbidden(kind: &str) -> String {
    let plural = kind.strip_suffix('y').unwrap_or(kind);
    format!("insufficient permissions to generate {plural}ies")
}

/// Creates or replaces an object, unless it is as it should be or belongs to another program.
fn write(cluster: &Cluster, wanted: &Value) -> Result<(), Failure> {
    let Some(current) = cluster.current(wanted)? else {
        let done = cluster.create(wanted, MANAGER).map(drop);
        if done.is_ok() {
            let (kind, name) = (wanted.text_at(&["kind"]), wanted.text_at(&["metadata", "name"]));
            tracing::info!(kind, name, "policy of Kubernetes created");
        }
        return done;
    };
    if !is_own(&current) || holds(&current, wanted) {
        return Ok(());
    }
    let metadata = wanted.get("metadata").cloned().unwrap_or_default();
    let version = current.text_at(&["metadata", "resourceVersion"]);
    let wanted = wanted.with("metadata", metadata.with("resourceVersion", version.into()));
    cluster.replace(&wanted, MANAGER).map(drop)
}

fn remove(cluster: &Cluster, kind: &str, name: &str) -> Result<(), Failure> {
    match cluster.current(&reference(kind, name))?.filter(is_own) {
        Some(current) => match cluster.remove(&current, None) {
            Err(e) if !e.is_not_found() => Err(e),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

fn is_own(object: &Value) -> bool {
    object.at(&["metadata", "labels"]).is_some_and(|labels| labels.text_at(&[LABEL.0]) == LABEL.1)
}

/// Whether an object has everything that is wanted; the API server adds defaults.
pub(crate) fn holds(current: &Value, wanted: &Value) -> bool {
    match (current, wanted) {
        (Value::Map(current), Value::Map(wanted)) => wanted.iter().all(|(key, wanted)| {
            current.get(key).is_some_and(|current| holds(current, wanted)) || wanted.is_empty()
        }),
        (Value::List(current), Value::List(wanted)) => {
            current.len() == wanted.len() && current.iter().zip(wanted.iter()).all(|(c, w)| holds(c, w))
        }
        (current, wanted) => current.json_eq(wanted),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use ephor_document::yaml_value;
    use ephor_kubernetes::Resource;

    use super::*;

    #[test]
    fn owners_of_policies_of_kubernetes_are_named_in_the_version_that_is_stored() {
        let policy = |api_version: &str, kind: &str| {
            yaml_value(&format!("{{apiVersion: {api_version}, kind: {kind}}}")).unwrap()
        };
        let resource = |version: &str| Resource {
            group: "policies.kyverno.io".into(),
            version: version.into(),
            plural: "validatingpolicies".into(),
            kind: "ValidatingPolicy".into(),
            namespaced: false,
            subresources: Box::default(),
        };
        let named =
            |policy: &Value, kinds: &Kinds| as_owner(policy, kinds).text_at(&["apiVersion"]).to_string();
        let both = Kinds::of(vec![resource("v1"), resource("v1beta1")]);
        let cel = policy("policies.kyverno.io/v1", "ValidatingPolicy");
        assert_eq!(named(&cel, &both), "policies.kyverno.io/v1beta1");
        assert_eq!(named(&cel, &Kinds::of(vec![resource("v1")])), "policies.kyverno.io/v1");
        assert_eq!(named(&policy("kyverno.io/v1", "ClusterPolicy"), &both), "kyverno.io/v1");
    }
}
