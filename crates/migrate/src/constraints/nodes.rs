//! Constraints as parts of a document.

use ephor_ir::matcher::{Requirement, SetOperator};

use crate::cel::laid_out;
use crate::constraints::model::{Matching, NAME_OF_NAMESPACE};
use crate::expressions::converted::NamedExpression;
use crate::text::{Map, Node};

/// `matchConstraints`.
pub fn constraints(of: &Matching) -> Node {
    let mut out = Map::default();
    let rules = of.rules.iter().map(|rule| {
        let mut map = Map::default();
        map.push("apiGroups", Node::texts(&rule.resources.groups));
        map.push("apiVersions", Node::texts(&rule.resources.versions));
        map.push("resources", Node::texts(&rule.resources.names));
        map.push("operations", Node::texts(&rule.operations));
        if rule.is_namespaced {
            map.push("scope", Node::text("Namespaced"));
        }
        map.into()
    });
    out.push("resourceRules", Node::list(rules));
    out.push_some("namespaceSelector", selector(&of.namespaces));
    out.into()
}

/// A selector; requirements of one value are labels, except for names of namespaces.
fn selector(requirements: &[Requirement]) -> Option<Node> {
    if requirements.is_empty() {
        return None;
    }
    let as_label = |r: &Requirement| match (r.operator, &*r.values) {
        (SetOperator::In, [one]) if &*r.key != NAME_OF_NAMESPACE => Some((r.key.clone(), one.clone())),
        _ => None,
    };
    let mut labels = Map::default();
    let mut used: Vec<&str> = Vec::new();
    let mut expressions = Vec::new();
    for requirement in requirements {
        match as_label(requirement).filter(|(key, _)| !used.contains(&&**key)) {
            Some((key, value)) => {
                labels.push(&key, Node::text(&*value));
                used.push(&requirement.key);
            }
            None => expressions.push(expression(requirement)),
        }
    }
    let mut out = Map::default();
    out.push_map("matchLabels", labels);
    out.push_list("matchExpressions", expressions);
    Some(out.into())
}

fn expression(requirement: &Requirement) -> Node {
    let mut out = Map::default();
    out.push("key", Node::text(&*requirement.key));
    let operator = match requirement.operator {
        SetOperator::In => "In",
        SetOperator::NotIn => "NotIn",
        SetOperator::Exists => "Exists",
        SetOperator::DoesNotExist => "DoesNotExist",
    };
    out.push("operator", Node::text(operator));
    if !requirement.values.is_empty() {
        out.push("values", Node::texts(requirement.values.iter().map(|v| &**v)));
    }
    out.into()
}

/// `matchConditions`.
pub fn conditions(all: &[NamedExpression]) -> Option<Node> {
    let laid_out = |one: &NamedExpression| match one.is_verbatim {
        true => one.node(),
        false => NamedExpression { expression: laid_out(&one.expression), ..one.clone() }.node(),
    };
    (!all.is_empty()).then(|| Node::list(all.iter().map(laid_out)))
}
