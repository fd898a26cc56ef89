//! What both parsers build nodes with: the one of the grammar, and the one that finds the issues of
//! texts with errors.
//!
//! In: parts of nodes. Out: the nodes, and the issues that they have under the [`Options`].

use crate::ast::{Kind, Node, Place};
use crate::issue::Issue;
use ephor_value::{Str, Value};

use super::options::Options;

/// The options of a text and its issues so far.
pub(super) struct Builder {
    pub(super) issues: Vec<Issue>,
    pub(super) options: Options,
}

impl Builder {
    pub(super) fn issue(&mut self, at: Place, text: impl Into<String>) {
        self.issues.push(Issue::new(at, text));
    }

    pub(super) fn select(&mut self, at: Place, optional: bool, operand: Node, field: Str) -> Node {
        if !optional {
            return Node::new(at, Kind::Select { operand: Box::new(operand), field, test: false });
        }
        if !self.options.optional {
            self.issue(at, "unsupported syntax '.?'");
        }
        let field = Node::constant(at, Value::Str(field));
        Node::call(at, "_?._", vec![operand, field])
    }
}

/// The function of a binary operator's text.
#[cfg(feature = "syntax-errors")]
pub(super) fn operator(text: &str) -> Option<&'static str> {
    let named = |name: &&str| name.trim_matches('_') == text || text == "in" && **name == *"@in";
    let all = ["_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_", "@in", "_+_", "_-_", "_*_", "_/_", "_%_"];
    all.into_iter().find(|name| named(name))
}
