//! A rule in CEL: conditions, variables and validations.

use ephor_ir::Origin;
use ephor_value::{Str, Value};

use crate::text::Node;

/// An expression under a name: a condition or a variable of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedExpression {
    /// The name, unique in its list.
    pub name: String,
    /// The expression.
    pub expression: String,
    /// Whether it was written by a person, and stays as it is.
    pub is_verbatim: bool,
}

impl NamedExpression {
    /// One that a conversion made.
    pub fn converted(name: &str, expression: String) -> NamedExpression {
        NamedExpression { name: name.into(), expression, is_verbatim: false }
    }

    /// Those of a list as it is written.
    pub fn written(list: Option<&Value>) -> Vec<NamedExpression> {
        let one = |one: &Value| NamedExpression {
            name: one.text_at(&["name"]).into(),
            expression: one.text_at(&["expression"]).into(),
            is_verbatim: true,
        };
        list.and_then(Value::as_list).unwrap_or_default().iter().map(one).collect()
    }

    /// As a part of a document.
    pub(crate) fn node(&self) -> Node {
        Node::map([
            ("name", Node::text(&self.name)),
            ("expression", Node::expression(&self.expression, self.is_verbatim)),
        ])
    }
}

/// What must be true of the object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// The expression, laid out.
    pub expression: String,
    /// The message of a violation, where it is the same for all objects.
    pub message: Option<Str>,
    /// What computes the message; it never fails. With it, `message` is none.
    pub message_expression: Option<String>,
    /// What it was written for in the old policy.
    pub origin: Origin,
}

/// A rule in CEL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// What must be true of a request for the rule to apply: its preconditions.
    pub conditions: Vec<NamedExpression>,
    /// What validations read as `variables.NAME`, in the order in which they must be declared;
    /// conditions read none.
    pub variables: Vec<NamedExpression>,
    /// The validations, in the order of the rule.
    pub validations: Vec<Validation>,
    /// Variables of messages that no expression reads without failing: the messages are without
    /// them.
    pub left_out: Vec<Str>,
    /// Context entries whose default covers data that cannot be read, which fail in CEL.
    pub unanswered: Vec<Origin>,
}
