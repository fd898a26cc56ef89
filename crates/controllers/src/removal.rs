//! Taking an installation out of a cluster: no server runs any more, and no webhook calls one.
//!
//! In: a cluster, whose names the configurations have, the Deployment of the servers. Out: the
//! Deployment without Pods, and no webhook configuration of this program. Servers write their
//! configurations again as long as they run, so they end first. Semantics:
//! `docs/reference/cluster.md`, "Webhook configurations".

use std::time::{Duration, Instant};

use ephor_cluster::{Cluster, Failure};
use ephor_kubernetes::Kinds;
use ephor_value::Value;

use crate::field_manager::MANAGER;
use ephor_admission::registration::{Options, is_own};

/// How long a wait pauses between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// A configuration that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether it is of this program, and was deleted.
    pub is_deleted: bool,
}

/// Scales a Deployment to zero, and waits until its Pods are gone; false = some were there after
/// `patience`. One that does not exist has no Pods.
///
/// # Errors
/// The cluster refuses.
pub fn scale_down(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
    patience: Duration,
) -> Result<bool, Failure> {
    let metadata = Value::map([("namespace", namespace.into()), ("name", name.into())]);
    let reference =
        Value::map([("apiVersion", "apps/v1".into()), ("kind", "Deployment".into()), ("metadata", metadata)]);
    let Some(current) = cluster.current(&reference)? else { return Ok(true) };
    let none = Value::map([("spec", Value::map([("replicas", Value::Int(0))]))]);
    cluster.merge(&reference, &none, MANAGER)?;
    let labels = current.at(&["spec", "selector", "matchLabels"]).and_then(Value::as_map);
    let Some(pods) = Kinds::built_in().resource("", "v1", "pods") else { return Ok(true) };
    let Some(labels) = labels.filter(|labels| !labels.is_empty()) else { return Ok(true) };
    let selector: Vec<String> =
        labels.iter().map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    let began = Instant::now();
    loop {
        if cluster.select(pods, namespace, &selector.join(","))?.is_empty() {
            return Ok(true);
        }
        if began.elapsed() >= patience {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Deletes the configurations that this program owns; returns those that were found, also those of
/// other programs under the names of the options, which stay.
///
/// # Errors
/// The cluster refuses.
pub fn remove(cluster: &Cluster, options: &Options) -> Result<Vec<Found>, Failure> {
    let resources = ephor_admission::registration::KINDS.into_iter().zip(options.names.configurations());
    let mut names: Vec<(String, String)> =
        resources.map(|(kind, name)| (kind.to_owned(), name.to_owned())).collect();
    names.extend(ephor_admission::registration::fixed(options, &|_, _| true).iter().map(|configuration| {
        let text = |path: &[&str]| configuration.text_at(path).to_owned();
        (text(&["kind"]), text(&["metadata", "name"]))
    }));
    let mut found = Vec::new();
    for (kind, name) in names {
        let Some(current) = cluster.current(&ephor_admission::registration::reference(&kind, &name))? else {
            continue;
        };
        let is_deleted = is_own(&current);
        if is_deleted {
            cluster.delete(&current)?;
        }
        found.push(Found { kind, name, is_deleted });
    }
    Ok(found)
}
