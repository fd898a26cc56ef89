//! Admission policies: what they ask or do, and with which bindings.

use super::constraints::constraints;
use super::expressions::{annotation, patch, shared, validation};
use super::{Node, quoted};
use crate::ir::admission::{Admission, AdmissionBody, Bound, PolicyBinding};
use crate::ir::facts::FailurePolicy;

/// A policy with its bindings.
pub fn bound(b: &Bound) -> Node {
    let mut node = Node::new("admission");
    node.below.extend(policy(&b.policy));
    node.below.extend(b.bindings.iter().map(binding));
    node
}

fn policy(p: &Admission) -> Vec<Node> {
    let mut below = Vec::new();
    below.extend(p.when.as_ref().map(|c| constraints("for", c)));
    if let Some([group, version, kind]) = &p.params {
        below.push(Node::new(format!("params: {group}/{version}/{kind}")));
    }
    match &p.failure_policy {
        FailurePolicy::Fail => {}
        FailurePolicy::Ignore => below.push(Node::new("failures are ignored")),
        FailurePolicy::Unrecognised(word) => {
            below.push(Node::new(format!("failures: unknown {}", quoted(word))));
        }
    }
    below.extend(shared(&p.conditions, &p.variables));
    match &p.body {
        AdmissionBody::Validate { validations, annotations } => {
            below.extend(validations.iter().map(validation));
            below.extend(annotations.iter().map(annotation));
        }
        AdmissionBody::Mutate { patches, reinvoked } => {
            below.extend(patches.iter().map(patch));
            below.extend(reinvoked.then(|| Node::new("again after later changes")));
        }
    }
    below
}

fn binding(b: &PolicyBinding) -> Node {
    let actions: Vec<&str> = b.actions.iter().map(|a| &**a).collect();
    let mut node = Node::new(format!("binding {}: {}", quoted(&b.name), actions.join(", ")));
    node.below.extend(b.when.as_ref().map(|c| constraints("for", c)));
    if let Some(params) = &b.params {
        let which = if params.selector.is_some() { "by labels".into() } else { quoted(&params.name) };
        node.below.push(Node::new(format!("params: {which}")));
    }
    node
}
