//! Validate rules → ValidatingAdmissionPolicies of Kubernetes with their bindings.
//!
//! In: a draft. Out: two documents, separated as files separate them. What only Kyverno has, such
//! as background scans, is a note.

use ephor_ir::matcher::{Requirement, SetOperator};

use crate::constraints::model::NAME_OF_NAMESPACE;
use crate::kinds::shared::document_of;
use crate::model::draft::{Check, Draft};
use crate::model::migrated::{Document, SEPARATOR};
use crate::model::original::NewMetadata;
use crate::model::source::Source;
use crate::text::{Map, Node, write};

/// The version of both documents.
const VERSION: &str = "admissionregistration.k8s.io/v1";

/// The documents of a draft.
pub fn document(source: &Source<'_>, draft: &Draft, named: &NewMetadata<'_>) -> Document {
    let mut matching = draft.matching.clone();
    matching.namespaces.extend(named.namespace.map(|namespace| Requirement {
        key: NAME_OF_NAMESPACE.into(),
        operator: SetOperator::In,
        values: Box::new([namespace.into()]),
    }));
    let mut spec = Map::default();
    if !source.policy.failure_policy.is_fail() {
        spec.push("failurePolicy", Node::text("Ignore"));
    }
    spec.push_some("paramKind", draft.params.as_ref().map(|(kind, _)| Node::of(kind)));
    Draft { matching, ..draft.clone() }.write_selection(&mut spec);
    let in_a_line =
        |check: &Check| Check { message: check.message.as_deref().map(in_a_line), ..check.clone() };
    Draft { checks: draft.checks.iter().map(in_a_line).collect(), ..draft.clone() }.write_checks(&mut spec);
    let of_cluster = NewMetadata { namespace: None, ..named.clone() };
    let mut out = document_of(VERSION, source.original, "ValidatingAdmissionPolicy", &of_cluster, spec);
    out.text.push_str(SEPARATOR);
    out.text.push_str(&write(&binding(draft, named), 0));
    out
}

/// A message as an API server takes it: without line breaks but for those around it.
fn in_a_line(message: &str) -> String {
    match message.trim().contains('\n') {
        true => message.split_whitespace().collect::<Vec<_>>().join(" "),
        false => message.into(),
    }
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
