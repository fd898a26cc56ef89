//! Looks up the trigger of an UpdateRequest in the cluster.
//!
//! In: an UpdateRequest and the trigger of one of its rules. Out: the trigger as it is now, or that
//! it is too early: a request is written before the API server stores what it admits. Semantics:
//! `docs/reference/cluster.md`, "Background work".

use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;

use super::requests::UpdateRequest;
use ephor_admission::admit::Incoming;
use ephor_admission::background::Trigger;

/// How long an admitted change may take to be stored, in seconds.
pub const SETTLES: i64 = 4;

/// What became of the change of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is stored.
    Stored,
    /// It may still come.
    Pending,
    /// It has not come in time: another webhook may have refused it.
    Missing,
}

/// Why there is no trigger.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// It does not exist.
    #[error(
        "trigger resource {} with uid {} not found in the cluster, the corresponding admission request may have been rejected by the API server",
        named(.0), .0.uid
    )]
    NotFound(Trigger),
    /// It was not deleted.
    #[error(
        "trigger resource {} still exists in the cluster, the delete request may have been rejected by the API server",
        named(.0)
    )]
    Exists(Trigger),
    /// It cannot be read.
    #[error(transparent)]
    Cluster(#[from] Failure),
}

fn named(trigger: &Trigger) -> String {
    format!("{}/{} {}/{}", trigger.api_version, trigger.kind, trigger.namespace, trigger.name)
}

/// The object of a request as it is stored now.
fn stored(cluster: &Cluster, incoming: &Incoming) -> Result<Option<Value>, Failure> {
    let kinds = cluster.kinds()?;
    let of = |key: &str| incoming.text(&["resource", key]);
    let Some(resource) = kinds.resource(of("group"), of("version"), of("resource")) else { return Ok(None) };
    let name = incoming.text(&["name"]);
    let namespace = if resource.namespaced { incoming.text(&["namespace"]) } else { "" };
    if !name.is_empty() {
        return match cluster.object(resource, namespace, name) {
            Ok(object) => Ok(Some(object)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        };
    }
    let uid = incoming.text(&["oldObject", "metadata", "uid"]);
    let all = cluster.list(resource, namespace)?;
    Ok(all.into_iter().find(|o| !uid.is_empty() && o.text_at(&["metadata", "uid"]) == uid))
}

/// Whether the change of a request is stored. `now` in seconds since 1970.
///
/// # Errors
/// The cluster does not answer.
pub fn change(cluster: &Cluster, request: &UpdateRequest, now: i64) -> Result<Change, Failure> {
    let Some(incoming) = &request.incoming else { return Ok(Change::Stored) };
    if !incoming.text(&["subResource"]).is_empty() {
        return Ok(Change::Stored);
    }
    let operation = incoming.text(&["operation"]);
    let is_stored = match operation {
        "UPDATE" => {
            let before = incoming.text(&["oldObject", "metadata", "resourceVersion"]);
            stored(cluster, incoming)?.is_none_or(|o| o.text_at(&["metadata", "resourceVersion"]) != before)
        }
        "DELETE" => {
            let uid = incoming.text(&["oldObject", "metadata", "uid"]);
            stored(cluster, incoming)?.is_none_or(|now| {
                now.text_at(&["metadata", "uid"]) != uid
                    || !now.text_at(&["metadata", "deletionTimestamp"]).is_empty()
            })
        }
        _ => true,
    };
    Ok(match is_stored {
        true => Change::Stored,
        false if now.saturating_sub(request.created) < SETTLES => Change::Pending,
        // An update that changes nothing leaves the version as it is.
        false if operation == "UPDATE" => Change::Stored,
        false => Change::Missing,
    })
}

/// Whether a request is about a trigger itself.
pub fn is_about(incoming: &Incoming, trigger: &Trigger) -> bool {
    let (object, old) = (incoming.object("object"), incoming.object("oldObject"));
    let is = |object: &Value| !object.is_null() && trigger.is(object);
    is(&object) || is(&old) || (object.is_null() && old.is_null() && is_named(incoming, trigger))
}

/// The same by kind, namespace and name.
fn is_named(incoming: &Incoming, trigger: &Trigger) -> bool {
    let namespace = incoming.text(&["namespace"]);
    incoming.text(&["kind", "kind"]) == trigger.kind
        && incoming.text(&["name"]) == trigger.name
        && (namespace == trigger.namespace || trigger.kind == "Namespace")
}

/// The trigger of a rule, as it is now, or as it was when it was deleted.
///
/// # Errors
/// See [`TriggerError`].
pub fn find(
    cluster: &Cluster,
    request: &UpdateRequest,
    trigger: &Trigger,
    change: Change,
) -> Result<Value, TriggerError> {
    if let Some(incoming) = request.incoming.as_ref().filter(|incoming| is_about(incoming, trigger)) {
        let object = incoming.object("object");
        match incoming.text(&["operation"]) {
            "DELETE" if change == Change::Missing => return Err(TriggerError::Exists(trigger.clone())),
            "DELETE" => return Ok(incoming.object("oldObject")),
            // What was sent to a subresource is stored nowhere.
            _ if !object.is_null() => return Ok(object),
            _ => {}
        }
    }
    live(cluster, trigger)?.ok_or_else(|| TriggerError::NotFound(trigger.clone()))
}

/// An object as it is now, if it is still the same one.
///
/// # Errors
/// The cluster does not answer.
pub fn live(cluster: &Cluster, trigger: &Trigger) -> Result<Option<Value>, Failure> {
    let (group, version) = trigger.api_version.split_once('/').unwrap_or(("", &trigger.api_version));
    let kinds = cluster.kinds()?;
    let Some(resource) = kinds.kind(group, version, &trigger.kind) else { return Ok(None) };
    let namespace = if resource.namespaced { &*trigger.namespace } else { "" };
    let found = match &*trigger.name {
        "" => cluster.list(resource, namespace)?.into_iter().find(|object| trigger.is(object)),
        name => match cluster.object(resource, namespace, name) {
            Ok(object) => Some(object),
            Err(e) if e.is_not_found() => None,
            Err(e) => return Err(e),
        },
    };
    Ok(found.filter(|object| trigger.is(object)))
}
