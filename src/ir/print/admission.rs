//! What binds rules of Kubernetes' own policies.

use super::constraints::constraints;
use super::{Node, quoted};
use crate::ir::admission::{Bound, PolicyBinding};

/// What binds a rule.
pub fn bound(b: &Bound) -> Node {
    let mut node = Node::new("bound");
    node.below.extend(b.constraints.as_ref().map(|c| constraints("for", c)));
    if let Some([group, version, kind]) = &b.param_kind {
        node.below.push(Node::new(format!("params: {group}/{version}/{kind}")));
    }
    node.below.extend(b.bindings.iter().map(binding));
    node
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
