//! Registration: the webhook configurations that policies need.
//!
//! In: policy documents with their defaults, the kinds of the cluster, and where the server is.
//! Out: one `MutatingWebhookConfiguration` and one `ValidatingWebhookConfiguration` that send the
//! server what some rule may be about, and no more than the reference's do. Semantics:
//! `docs/reference/webhooks.md`, "What policies need".
//!
//! - `classic`: what ClusterPolicies and Policies need: two webhooks for all, and one for each with
//!   conditions of its own
//! - `draft`: a webhook under construction, and how it is written
//! - `fixed`: the webhook configurations that do not depend on which policies there are: for
//!   policies themselves, exceptions, global context entries, and labels that say how long objects
//!   live
//! - `options`: where the server is, and what configurations have besides what policies need
//! - `resources`: kinds and operations → the rules of a webhook
//! - `reviews`: what policies of the group `policies.kyverno.io` need: one webhook for each with
//!   conditions, an exact match or a timeout of its own, and one for all others with the same
//!   selectors

mod classic;
mod draft;
mod fixed;
mod options;
mod resources;
mod reviews;

use std::collections::BTreeSet;

use ephor_kubernetes::Kinds;
use ephor_value::{Map, Value};

use draft::Draft;

pub use fixed::fixed;
pub use options::{Address, KINDS, OWNER, Options, WebhookNames};
pub use resources::{Entry, rules};

/// Whether a configuration is ours.
pub fn is_own(configuration: &Value) -> bool {
    let labels = configuration.at(&["metadata", "labels"]);
    labels.is_some_and(|labels| labels.text_at(&[OWNER.0]) == OWNER.1)
}

/// A configuration without content, to look it up by.
pub fn reference(kind: &str, name: &str) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name", name.into());
    let mut m = Map::new();
    m.insert("apiVersion", "admissionregistration.k8s.io/v1".into());
    m.insert("kind", kind.into());
    m.insert("metadata", Value::Map(metadata));
    Value::Map(m)
}

/// What policies need.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The configurations, the mutating one first.
    pub configurations: Vec<Value>,
    /// Unknown kinds, as policies write them.
    pub unknown: BTreeSet<String>,
}

/// The configurations that policies need.
pub fn needs<'p>(policies: impl IntoIterator<Item = &'p Value>, kinds: &Kinds, options: &Options) -> Needs {
    let policies: Vec<&Value> = policies.into_iter().collect();
    let mut needs = Needs::default();
    let mut both = [Vec::new(), Vec::new()];
    for (mutating, drafts) in [true, false].into_iter().zip(&mut both) {
        classic::add(&policies, mutating, kinds, options, drafts, &mut needs.unknown);
        for draft in drafts.iter_mut().filter(|d| d.conditions.is_empty()) {
            draft.conditions = options.conditions.clone();
        }
        reviews::add(&policies, mutating, options, drafts);
        drafts.retain(|d| !d.rules.is_empty());
        if options.names == WebhookNames::Kyverno {
            share_names(drafts);
        }
        drafts.sort_by(|a, b| a.name.cmp(&b.name));
    }
    let kinds = KINDS.into_iter().zip(options.names.configurations());
    for ((kind, name), drafts) in kinds.zip(both) {
        let webhooks = drafts.into_iter().map(|d| d.written(options)).collect();
        needs.configurations.push(fixed::configuration(kind, name, webhooks, options));
    }
    needs
}

/// Kyverno gives the webhooks of image policies of namespaces the names of cluster-wide ones: they
/// have them where these are free.
fn share_names(drafts: &mut [Draft]) {
    let taken: BTreeSet<String> = drafts.iter().map(|draft| draft.name.clone()).collect();
    for draft in drafts.iter_mut().filter(|draft| draft.name.starts_with("nivpol.")) {
        if let Some(name) = draft.name.strip_prefix('n').filter(|name| !taken.contains(*name)) {
            draft.name = name.to_string();
        }
    }
}
