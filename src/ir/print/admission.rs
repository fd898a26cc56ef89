//! Admission policies: what they ask or do, and with which bindings.

use super::constraints::constraints;
use super::review::{program, shared};
use super::{Node, quoted};
use crate::ir::admission::{
    Admission, AdmissionBody, Annotation, Bound, ChangeKind, OnFailure, PolicyBinding,
};

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
    match &p.failure {
        OnFailure::Deny => {}
        OnFailure::Ignore => below.push(Node::new("failures are ignored")),
        OnFailure::Unknown(word) => below.push(Node::new(format!("failures: unknown {}", quoted(word)))),
    }
    below.extend(shared(&p.admit, &p.lazies));
    match &p.body {
        AdmissionBody::Ask { demands, annotations } => {
            for d in demands {
                let mut node = program(&d.check.program).labelled("demand");
                if !d.message.is_empty() {
                    node.below.push(Node::new(format!("message: {}", quoted(&d.message))));
                }
                node.below.extend(d.message_program.as_ref().map(|p| program(p).labelled("message")));
                if !d.reason.is_empty() {
                    node.below.push(Node::new(format!("reason: {}", d.reason)));
                }
                below.push(node);
            }
            let annotation = |a: &Annotation| {
                program(&a.value.program).labelled(&format!("annotation {}", quoted(&a.key)))
            };
            below.extend(annotations.iter().map(annotation));
        }
        AdmissionBody::Change { changes, again } => {
            below.extend(changes.iter().map(|c| {
                let how = match c.kind {
                    ChangeKind::Apply => "apply",
                    ChangeKind::JsonPatch => "patch",
                    ChangeKind::Unknown => "unknown change",
                };
                program(&c.source.program).labelled(how)
            }));
            below.extend(again.then(|| Node::new("again after later changes")));
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
