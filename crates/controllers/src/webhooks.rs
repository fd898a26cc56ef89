//! Webhook configurations: what the API server sends to this installation.
//!
//! In: the policies of the cluster, settings, where the server is. Out: the configurations in the
//! cluster, exactly as the policies need them: `ephor_admission::registration` says what they hold,
//! this controller writes them. A configuration that another program owns is not touched unless the
//! installation may take it over. Nothing is written that is as it should be. Semantics:
//! `docs/reference/cluster.md`, "Webhook configurations".

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use ephor_api::admission::defaulted;
use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;

use crate::certificates::ServerSecret;
use crate::field_manager::MANAGER;
use crate::in_use::{InUse, StoredPolicy};
use ephor_admission::registration::{Options, is_own};

/// Whether policies of a group and kind are served.
pub type IsServed = dyn Fn(&str, &str) -> bool + Send + Sync;

/// Which configurations an installation has.
#[derive(Clone)]
pub struct WebhookPlan {
    /// Names, address, certificates; selectors, conditions, labels and annotations are those of the
    /// settings.
    pub options: Options,
    /// The file with the certificates to trust (PEM), read each time; `None` = those of the
    /// options.
    pub authority: Option<PathBuf>,
    /// The Secret with the server's certificate. One of this program brings the certificates to
    /// trust, those of `authority` are trusted in addition; one of another program does where there
    /// is no `authority`.
    pub secret: Option<Arc<ServerSecret>>,
    /// Whether configurations of other programs are replaced.
    pub take_over: bool,
    /// Which kinds of policies are served: group and kind.
    pub is_served: Arc<IsServed>,
}

/// Why a configuration is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// It belongs to another program.
    #[error(
        "{kind} {name} belongs to another program ({}) and is not replaced: --take-over replaces it",
        .managers.join(", ")
    )]
    Foreign {
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// Who wrote it.
        managers: Vec<String>,
    },
    /// The certificates to trust cannot be read.
    #[error("{}: {cause}", .path.display())]
    Authority {
        /// Their file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The cluster refused.
    #[error("{kind} {name}: {cause}")]
    Cluster {
        /// The kind of the configuration.
        kind: String,
        /// Its name.
        name: String,
        /// The refusal.
        #[source]
        cause: Failure,
    },
}

/// Brings the configurations in step with the policies in use, but for those that the API server
/// evaluates itself. The kinds of policies that no cluster serves are returned.
///
/// # Errors
/// The first configuration that could not be written; the others are written all the same.
pub fn reconcile(
    cluster: &Cluster,
    plan: &WebhookPlan,
    in_use: &dyn InUse,
    is_native: &dyn Fn(&StoredPolicy) -> bool,
) -> Result<BTreeSet<String>, WebhookError> {
    let mut options = plan.options.clone();
    if let Some(settings) = in_use.settings() {
        options.selectors.clone_from(&settings.selectors);
        options.conditions.clone_from(&settings.conditions);
        options.labels.clone_from(&settings.labels);
        options.annotations.clone_from(&settings.annotations);
    }
    let bundle = plan.bundle()?;
    if let Some(pem) = &bundle {
        options.ca_bundle = base64::engine::general_purpose::STANDARD.encode(pem);
    }
    let kinds = cluster.kinds().map_err(|cause| WebhookError::Cluster {
        kind: "the kinds of the cluster".into(),
        name: String::new(),
        cause,
    })?;
    // One that cannot be used has no effect, and one that became a policy of Kubernetes is
    // evaluated by the API server.
    let needed = in_use.stored().iter().filter(|p| p.problem.is_none() && !is_native(p));
    let policies = needed.map(|p| &p.document);
    let needs = ephor_admission::registration::needs(policies, &kinds, &options);
    // Those that policies need come first, so that a policy is in force soon.
    let mut wanted = needs.configurations;
    wanted.extend(ephor_admission::registration::fixed(&options, &*plan.is_served));
    let mut failed = None;
    let mut is_published = true;
    for configuration in &wanted {
        if let Err(error) = write(cluster, configuration, plan.take_over) {
            tracing::warn!(error = %error, "a webhook configuration is not as it should be");
            // One of another program leads to other servers.
            is_published &= matches!(error, WebhookError::Foreign { .. });
            failed = failed.or(Some(error));
        }
    }
    if let (Some(secret), Some(pem), true) = (&plan.secret, &bundle, is_published) {
        secret.published(pem);
    }
    match failed {
        Some(error) => Err(error),
        None => Ok(needs.unknown),
    }
}

impl WebhookPlan {
    /// The certificates to trust, as PEM; `None` = those of the options.
    fn bundle(&self) -> Result<Option<String>, WebhookError> {
        let given = self.authority.as_ref().map(|path| {
            let read = std::fs::read_to_string(path);
            read.map_err(|cause| WebhookError::Authority { path: path.clone(), cause })
        });
        let given = given.transpose()?;
        let Some(secret) = &self.secret else { return Ok(given) };
        let own = secret.bundle();
        Ok(match given {
            Some(given) if secret.is_own() => Some(own + given.trim() + "\n"),
            Some(given) => Some(given),
            None => Some(own).filter(|own| !own.is_empty()),
        })
    }
}

fn write(cluster: &Cluster, wanted: &Value, take_over: bool) -> Result<(), WebhookError> {
    let (kind, name) = (wanted.text_at(&["kind"]), wanted.text_at(&["metadata", "name"]));
    let failed = |cause| WebhookError::Cluster { kind: kind.into(), name: name.into(), cause };
    let Some(current) = cluster.current(wanted).map_err(failed)? else {
        cluster.create(wanted, MANAGER).map_err(failed)?;
        tracing::info!(kind, name, "webhook configuration created");
        return Ok(());
    };
    if !is_own(&current) && !take_over {
        return Err(WebhookError::Foreign {
            kind: kind.into(),
            name: name.into(),
            managers: managers(&current),
        });
    }
    if is_same(&current, wanted) {
        return Ok(());
    }
    let metadata = wanted.get("metadata").cloned().unwrap_or_default();
    let version = current.text_at(&["metadata", "resourceVersion"]);
    let metadata = metadata.with("resourceVersion", version.into());
    cluster.replace(&wanted.with("metadata", metadata), MANAGER).map_err(failed)?;
    tracing::info!(kind, name, "webhook configuration updated");
    Ok(())
}

/// Whether a configuration is as it should be.
fn is_same(current: &Value, wanted: &Value) -> bool {
    let empty = Value::map([]);
    let part = |v: &Value, key: &str| v.at(&["metadata", key]).cloned().unwrap_or_else(|| empty.clone());
    let webhooks =
        |v: &Value| defaulted(v).get("webhooks").cloned().unwrap_or_else(|| Value::list(Vec::new()));
    ["labels", "annotations"].iter().all(|key| part(current, key).json_eq(&part(wanted, key)))
        && webhooks(current).json_eq(&without_nulls(&webhooks(wanted)))
}

/// A value without the members that are null: an API server does not store them.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::List(items) => Value::list(items.iter().map(without_nulls).collect()),
        Value::Map(members) => {
            let said = members.iter().filter(|(_, member)| !member.is_null());
            Value::Map(said.map(|(key, member)| (key.clone(), without_nulls(member))).collect())
        }
        other => other.clone(),
    }
}

/// Who wrote an object.
fn managers(object: &Value) -> Vec<String> {
    let fields = object.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    let mut managers: Vec<String> = fields.iter().map(|m| m.text_at(&["manager"]).to_string()).collect();
    managers.dedup();
    managers
}
