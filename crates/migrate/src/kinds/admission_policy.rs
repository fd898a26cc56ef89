//! Validate rules → ValidatingAdmissionPolicies of Kubernetes with their bindings.
//!
//! In: a draft. Out: two documents, separated as files separate them. What only Kyverno has, such
//! as background scans, is a note.

use ephor_ir::matcher::{Requirement, SetOperator};

use crate::constraints::{conditions, constraints};
use crate::model::draft::{Check, Draft, DraftVariable};
use crate::model::migrated::Document;
use crate::model::original::NewMetadata;
use crate::model::source::Source;
use crate::text::{Map, Node, write};

/// The version of both documents.
const VERSION: &str = "admissionregistration.k8s.io/v1";

/// The kind of the policy.
const KIND: &str = "ValidatingAdmissionPolicy";

/// The documents of a draft.
pub fn document(source: &Source<'_>, draft: &Draft, named: &NewMetadata<'_>) -> Document {
    let mut matching = draft.matching.clone();
    matching.namespaces.extend(named.namespace.map(|namespace| Requirement {
        key: "kubernetes.io/metadata.name".into(),
        operator: SetOperator::In,
        values: Box::new([namespace.into()]),
    }));
    let mut spec = Map::default();
    if !source.policy.failure_policy.is_fail() {
        spec.push("failurePolicy", Node::text("Ignore"));
    }
    spec.push_some("paramKind", draft.params.as_ref().map(|(kind, _)| Node::of(kind)));
    spec.push("matchConstraints", constraints(&matching));
    spec.push_some("matchConditions", conditions(&draft.conditions));
    let list = |nodes: Vec<Node>| (!nodes.is_empty()).then(|| Node::list(nodes));
    spec.push_some("variables", list(draft.variables.iter().map(DraftVariable::node).collect()));
    spec.push("validations", Node::List(draft.checks.iter().map(Check::item).collect()));
    let annotation = |(key, text): &(String, String)| {
        Node::map([("key", Node::text(key)), ("valueExpression", Node::text(text))])
    };
    spec.push_some("auditAnnotations", list(draft.annotations.iter().map(annotation).collect()));
    let mut text: String = source.original.head().iter().map(|line| format!("{line}\n")).collect();
    text.push_str(&format!("apiVersion: {VERSION}\nkind: {KIND}\n"));
    text.push_str(&source.original.metadata(&NewMetadata { namespace: None, ..named.clone() }));
    text.push_str(&write(&Node::map([("spec", spec.into())]), 0));
    text.push_str("---\n");
    text.push_str(&write(&binding(draft, named), 0));
    Document { kind: KIND, name: named.name.into(), text }
}

fn binding(draft: &Draft, named: &NewMetadata<'_>) -> Node {
    let mut spec = Map::default();
    spec.push("policyName", Node::text(named.name));
    spec.push_some("paramRef", draft.params.as_ref().map(|(_, reference)| Node::of(reference)));
    spec.push("validationActions", draft.action.node());
    Node::map([
        ("apiVersion", Node::text(VERSION)),
        ("kind", Node::text("ValidatingAdmissionPolicyBinding")),
        ("metadata", Node::map([("name", Node::text(format!("{}-binding", named.name)))])),
        ("spec", spec.into()),
    ])
}
