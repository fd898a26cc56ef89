//! From a policy with its bindings to calls.
//!
//! A call is a policy with a binding and a parameter. Which there are is settled before the first
//! one is evaluated; what is wrong with a policy or binding shows here.

use std::cell::OnceCell;

use ephor_ir::admission::PolicyBinding;
use ephor_ir::binding_index::{BindingIndex, RequestFacts};
use ephor_ir::constraints::Constraints;
use ephor_ir::facts::FailurePolicy;
use ephor_matching::constraints::{Accepted, NamespaceLabels, accepts};
use ephor_value::{Map, Str, Value};

use super::bound::BoundPolicy;
use super::cluster_view::ClusterView;
use super::params::params;
use super::{BindingError, Review};

/// A call of a native policy.
#[derive(Debug)]
pub(super) struct BoundCall {
    /// The binding by its position; `None` = the call is about the policy as a whole.
    pub binding: Option<usize>,
    /// What it is evaluated with; else a mistake in the policy or in the binding that counts as a
    /// denial.
    pub with: Result<BoundView, String>,
}

/// What a call sees of a request.
#[derive(Debug)]
pub(super) struct BoundView {
    /// The resource and kind as the policy knows them.
    pub accepted: Accepted,
    /// The parameter; `None` for a policy that has none.
    pub param: Option<Value>,
}

/// The calls of a policy on a request, none when it is not concerned.
pub(super) fn plan(policy: BoundPolicy<'_>, review: &Review, cluster: &ClusterView<'_>) -> Vec<BoundCall> {
    let call = |binding: Option<usize>, with: Result<BoundView, String>| BoundCall { binding, with };
    let broken = |binding: Option<usize>, error: BindingError| match policy.failure_policy() {
        FailurePolicy::Ignore => None,
        FailurePolicy::Fail => {
            let what = if binding.is_some() { "binding" } else { "policy" };
            Some(call(binding, Err(format!("failed to configure {what}: {error}"))))
        }
        FailurePolicy::Unrecognised(word) => {
            Some(call(binding, Err(format!("unrecognized failure policy: '{word}'"))))
        }
    };
    let found = match &policy.bound.constraints {
        None => Err(BindingError::NoConstraints),
        Some(when) => matched(when, review, cluster),
    };
    let accepted = match found {
        Ok(Some(accepted)) => accepted,
        Ok(None) => return Vec::new(),
        Err(error) => return broken(None, error).into_iter().collect(),
    };
    if let Some([group, version, kind]) = policy.param_kind()
        && cluster.kinds().kind(group, version, kind).is_none()
    {
        let [group, version, kind] = [group, version, kind].map(Str::clone);
        return broken(None, BindingError::UnknownParamKind { group, version, kind }).into_iter().collect();
    }
    let mut calls = Vec::new();
    for (at, binding) in candidates(policy, review, cluster) {
        match binding.when.as_ref().map(|when| matched(when, review, cluster)) {
            Some(Ok(None)) => continue,
            Some(Err(error)) => {
                calls.extend(broken(Some(at), error));
                continue;
            }
            None | Some(Ok(Some(_))) => {}
        }
        match params(policy, binding, review, cluster) {
            Err(error) => calls.extend(broken(Some(at), error)),
            Ok(found) => calls.extend(found.into_iter().map(|param| {
                let view = BoundView { accepted: accepted.clone(), param };
                call(Some(at), Ok(view))
            })),
        }
    }
    calls
}

/// The bindings that can match a request, with their positions.
fn candidates<'p>(
    policy: BoundPolicy<'p>,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> impl Iterator<Item = (usize, &'p PolicyBinding)> {
    let (bindings, index) = (policy.bindings(), &policy.bound.index);
    let found = match index.pays_for(bindings) {
        true => filed(index, bindings, review, cluster),
        false => (0..bindings.len()).collect(),
    };
    found.into_iter().filter_map(move |at| Some((at, bindings.get(at)?)))
}

/// The positions of these among many.
fn filed(
    index: &BindingIndex,
    bindings: &[PolicyBinding],
    review: &Review,
    cluster: &ClusterView<'_>,
) -> Vec<usize> {
    let (a, none) = (&review.attributes, Map::new());
    let labels = NamespaceLabels::of(a);
    let namespace = matches!(labels, NamespaceLabels::OfNamespace).then(|| cluster.namespace(&a.namespace));
    let namespace_labels = match labels {
        NamespaceLabels::Own(labels) => Some(labels.unwrap_or(&none)),
        NamespaceLabels::None => None,
        // Where the namespace is not known each binding that selects it has an error of its own.
        NamespaceLabels::OfNamespace => namespace.iter().flatten().next().map(|of| labels_of(of, &none)),
    };
    let facts = RequestFacts {
        namespace_labels,
        object_labels: [a.labels.as_ref(), a.old_labels.as_ref()],
        resource: &a.resource,
        name: &a.name,
    };
    index.candidates(bindings, &facts)
}

fn labels_of<'v>(namespace: &'v Value, none: &'v Map) -> &'v Map {
    namespace.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap_or(none)
}

fn matched(
    when: &Constraints,
    review: &Review,
    cluster: &ClusterView<'_>,
) -> Result<Option<Accepted>, BindingError> {
    let none = Map::new();
    let a = &review.attributes;
    let namespace = OnceCell::new();
    accepts(when, a, cluster.kinds(), || match namespace.get_or_init(|| cluster.namespace(&a.namespace)) {
        Some(namespace) => Ok(labels_of(namespace, &none)),
        None => Err(BindingError::NoNamespace(a.namespace.clone())),
    })
}
