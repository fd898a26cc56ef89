//! Certificates: which fields CEL lacks.
//!
//! In: the expressions of a rule. Out: a field that they read of a certificate and that only
//! requests for certificates have in CEL, whereas `x509_decode` shows it of both. Source: the keys
//! that Kyverno's `x509.decode` gives.

use crate::cel::build::{is_name, on};
use ephor_value::Value;

use super::scope::Shared;
use ephor_cel::ast::{Kind, Node};

/// What a decoded certificate does not have.
const LACKING: [&str; 5] = ["Subject", "SignatureAlgorithm", "Version", "SubjectKeyId", "URIs"];

/// The first field that expressions read of a certificate and that it lacks.
pub fn lacking_field<'n>(
    nodes: impl IntoIterator<Item = &'n Node>,
    shared: &'n [Shared],
) -> Option<&'static str> {
    let own = shared.iter().map(|one| &one.node);
    nodes.into_iter().chain(own).find_map(|node| in_node(node, shared))
}

fn in_node(node: &Node, shared: &[Shared]) -> Option<&'static str> {
    let of = |node: &Node| in_node(node, shared);
    let lacking = |operand: &Node, field: &str| {
        let field = LACKING.into_iter().find(|lacking| *lacking == field)?;
        is_certificate(operand, shared).then_some(field)
    };
    match &node.kind {
        Kind::Select { operand, field, .. } => lacking(operand, field).or_else(|| of(operand)),
        Kind::Call { function, target, args } => {
            let read = match (&**function, args.as_slice()) {
                ("_?._" | "_[_]" | "_[?_]", [operand, field]) => match &field.kind {
                    Kind::Const(Value::Str(field)) => lacking(operand, field),
                    _ => None,
                },
                _ => None,
            };
            read.or_else(|| target.iter().map(|target| &**target).chain(args).find_map(of))
        }
        Kind::List { items, .. } => items.iter().find_map(of),
        _ => None,
    }
}

/// Whether an expression is `x509.decode(…)`, or a variable that is.
fn is_certificate(node: &Node, shared: &[Shared]) -> bool {
    match &node.kind {
        Kind::Call { .. } => on(node, "decode").is_some_and(|(target, _)| is_name(target, "x509")),
        Kind::Select { operand, field, .. } => {
            let is_it = |one: &&Shared| *one.name == **field;
            is_name(operand, "variables")
                && shared.iter().find(is_it).is_some_and(|one| is_certificate(&one.node, &[]))
        }
        _ => false,
    }
}
