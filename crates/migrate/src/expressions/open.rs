//! What the type check of Kubernetes' own policies needs where an expression reads more of a value
//! than its schema says: `dyn(value)`.
//!
//! In: expressions, and values with their types. Out: the same, open where that counts. The check
//! only warns (`status.typeChecking`); it says so of null for a list, of the size of an object with
//! fields, and of two objects of different kinds that are compared. Source: what a kube-apiserver
//! 1.36 answers.

use ephor_value::Value;

use super::scope::Scope;
use super::shared::mapped;
use super::types::Ty;
use crate::cel::build::call;
use crate::expressions::context::Target;
use ephor_cel::ast::{Kind, Node};

impl Scope<'_> {
    /// A value of a type, open where the target checks types and this one has fields.
    pub fn opened(&self, node: Node, ty: &Ty) -> Node {
        match (self.cx.target, ty) {
            (Target::Kubernetes, Ty::Object(_)) => call("dyn", vec![node]),
            _ => node,
        }
    }

    /// An expression in which no value that is null where it is missing has a type, where the
    /// target checks types.
    pub fn with_open_nulls(&self, node: &Node) -> Node {
        match self.cx.target {
            Target::Kyverno => node.clone(),
            Target::Kubernetes => mapped(node, &|node| match &node.kind {
                Kind::Call { function, target: Some(target), args } if is_or_null(function, args) => {
                    let target = Some(Box::new(open_base(target)));
                    Some(Node::new(
                        node.at,
                        Kind::Call { function: function.clone(), target, args: args.clone() },
                    ))
                }
                Kind::Call { function, target: None, args } if matches!(&**function, "_!=_" | "_==_") => {
                    let [left, right] = &args[..] else { return None };
                    let is_read = matches!(left.kind, Kind::Select { test: false, .. });
                    (is_read && is_null(right))
                        .then(|| call(function, vec![call("dyn", vec![left.clone()]), right.clone()]))
                }
                _ => None,
            }),
        }
    }
}

fn is_or_null(function: &str, args: &[Node]) -> bool {
    function == "orValue" && args.first().is_some_and(is_null)
}

fn is_null(node: &Node) -> bool {
    matches!(&node.kind, Kind::Const(Value::Null))
}

/// A path with an open value at its beginning.
fn open_base(node: &Node) -> Node {
    let kind = match &node.kind {
        Kind::Select { operand, field, test } => {
            Kind::Select { operand: Box::new(open_base(operand)), field: field.clone(), test: *test }
        }
        Kind::Call { function, target: None, args } if ["_?._", "_[?_]"].contains(&&**function) => {
            let mut args = args.clone();
            if let Some(first) = args.first_mut() {
                *first = open_base(first);
            }
            Kind::Call { function: function.clone(), target: None, args }
        }
        _ => return call("dyn", vec![node.clone()]),
    };
    Node::new(node.at, kind)
}
