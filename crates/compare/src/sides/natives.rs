//! The policies of Kubernetes of a side, and what of them depends on the release.
//!
//! In: documents. Out: those of Kubernetes' own policies, and each part of them that means
//! something else on another release, as a line.

use ephor_kubernetes::release::ServerRules;
use ephor_lower::admission::{ReleaseChange, release_changes};
use ephor_value::Value;
use ephor_value::release::Release;

/// A document, if it is a policy of Kubernetes.
pub(crate) fn native(document: &Value) -> Option<Value> {
    let is_native = document.text_at(&["apiVersion"]).starts_with("admissionregistration.k8s.io/");
    is_native.then(|| document.clone())
}

/// What of policies means something else on one of two releases.
pub(crate) fn changes<'p>(
    policies: impl IntoIterator<Item = &'p Value>,
    releases: [Release; 2],
) -> Vec<String> {
    texts(policies.into_iter().flat_map(|policy| release_changes(policy, &[], releases)))
}

/// Changes as lines, each once.
pub(crate) fn texts(changes: impl Iterator<Item = ReleaseChange>) -> Vec<String> {
    let mut all: Vec<String> = changes.map(|change| change.to_string()).collect();
    all.sort();
    all.dedup();
    all
}

/// Whether only one of two releases shows objects of built-in kinds with their types.
pub(crate) fn show_types_once(releases: [Option<Release>; 2]) -> bool {
    let [old, new] = releases.map(|release| release.map(|release| ServerRules::of(release).has_typed_views));
    old.is_some() && new.is_some() && old != new
}
