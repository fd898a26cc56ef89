//! Why the expressions of a rule give no result.
//!
//! Out: errors whose texts are Kyverno's or the API server's. An expression has no [`Failure`] of
//! its own words: the list that it belongs to decides whether the expression is named. Semantics:
//! `docs/internals/ir.md`, "Expressions of a rule".

use thiserror::Error;

use crate::admission::LiteralError;
use ephor_value::quote::quote;
use ephor_value::{Fault, Str};

/// The text of a list that ran out of its budget.
pub const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Why an expression has no value; its text is that of the fault alone.
#[derive(Clone, Debug, Error)]
pub enum Failure {
    /// It does not compile; the words are those of the compiler.
    #[error("{0}")]
    Compile(Str),
    /// It fails.
    #[error("{}", .0.cel_text())]
    Run(#[source] Fault),
    /// The budget of the list is exhausted, and the list ends.
    #[error("{OUT_OF_BUDGET}")]
    OutOfBudget,
}

/// An expression that has no value, in the words of its list.
#[derive(Clone, Debug)]
pub struct FailedExpression {
    /// The expression, where the list names it.
    pub expression: Option<Str>,
    /// Why it has none.
    pub failure: Failure,
}

impl std::fmt::Display for FailedExpression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.expression, &self.failure) {
            (Some(_), Failure::Compile(text)) => write!(f, "compilation error: {text}"),
            (Some(expression), Failure::Run(fault)) => {
                write!(f, "expression '{expression}' resulted in error: {}", fault.cel_text())
            }
            (_, failure) => failure.fmt(f),
        }
    }
}

impl std::error::Error for FailedExpression {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.failure)
    }
}

/// Why it is unknown whether conditions are true.
#[derive(Clone, Debug, Error)]
pub enum ConditionsError {
    /// One of them has no value, and none is false.
    #[error(transparent)]
    One(Box<FailedExpression>),
    /// Several have none, and none is false.
    #[error("{}{}{}", several[0], joined(.failed, several[1]), several[2])]
    Several {
        /// They.
        failed: Vec<FailedExpression>,
        /// What stands before, between and after them; see
        /// [`Wording`](ephor_ir::expressions::Wording).
        several: [&'static str; 3],
    },
    /// The budget of the list is exhausted.
    #[error("{OUT_OF_BUDGET}")]
    OutOfBudget,
}

fn joined(failed: &[FailedExpression], between: &str) -> String {
    failed.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Why an audit annotation has no text.
#[derive(Debug, Error)]
pub enum AnnotationError {
    /// Its expression has no value.
    #[error("failed to evaluate auditAnnotation '{key}': {failure}")]
    Failed {
        /// Its key.
        key: Str,
        /// Why.
        #[source]
        failure: Failure,
    },
    /// Its value is no text.
    #[error(
        "failed to convert auditAnnotation '{key}' expression: type conversion error from '{found}' to 'string'"
    )]
    NoText {
        /// Its key.
        key: Str,
        /// The type of the value.
        found: Box<str>,
    },
}

/// Why a patch that an expression gives does not change an object.
#[derive(Debug, Error)]
pub enum ExpressionPatchError {
    /// Its literals cannot be applied.
    #[error(transparent)]
    Literal(LiteralError),
    /// The schema of the object's kind is unknown.
    #[error("error applying patch: type converter must not be nil")]
    NoType,
}

/// Why the images of an object cannot be found.
#[derive(Debug, Error)]
pub enum ExtractionError {
    /// The object lacks a key on the way to them.
    #[error("no such key: {0}")]
    NoKey(&'static str),
    /// An expression of the policy has no value.
    #[error(transparent)]
    Expression(Failure),
    /// An expression gives a value of this type, no list.
    #[error("unsupported native conversion from {0} to '[]string'")]
    NoList(Box<str>),
    /// What stands for an image is a value of this type, no text.
    #[error("unsupported type conversion from '{0}' to string")]
    NoText(Box<str>),
}

/// Why an attestor cannot be used.
#[derive(Clone, Debug, Error)]
#[error("failed to convert {field} in compiled attestor: {attestor}, error: {cause}")]
pub struct AttestorError {
    /// The field whose expression is at fault.
    pub field: Box<str>,
    /// The attestor.
    pub attestor: Str,
    /// Why.
    #[source]
    pub cause: AttestorFieldError,
}

/// Why a field of an attestor has no value.
#[derive(Clone, Debug, Error)]
pub enum AttestorFieldError {
    /// Its expression has none.
    #[error("failed to evaluate compiled attestor: {attestor}, error: {failure}")]
    Failed {
        /// The attestor.
        attestor: Str,
        /// Why.
        #[source]
        failure: Failure,
    },
    /// Its expression gives a value of this type, no text.
    #[error(
        "failed to convert expression in compiled attestor: {attestor}, error: unsupported type conversion from '{found}' to string"
    )]
    NoText {
        /// The attestor.
        attestor: Str,
        /// The type of the value.
        found: Box<str>,
    },
}

/// Why a rule with expressions generates nothing.
#[derive(Debug, Error)]
pub enum ExpressionGenerationError {
    /// An expression has no value.
    #[error(transparent)]
    Expression(Failure),
    /// A document cannot be filled in.
    #[error("failed to render generation template: document {document}: {cause}")]
    Document {
        /// The number of the document, from 1.
        document: usize,
        /// Why.
        #[source]
        cause: DraftError,
    },
    /// A document is no object.
    #[error("document {document}: expected a mapping describing a resource, got {found}")]
    NoObject {
        /// The number of the document, from 1.
        document: usize,
        /// The type of the value.
        found: Box<str>,
    },
    /// A namespaced policy generates for another namespace.
    #[error(
        "cross-namespace generation denied: a policy in namespace \"{own}\" cannot generate resources into namespace \"{namespace}\""
    )]
    ForeignNamespace {
        /// The namespace of the policy.
        own: Box<str>,
        /// The other one.
        namespace: Box<str>,
    },
    /// The objects are not taken; the words are those of the external data.
    #[error("{0}")]
    Refused(Box<str>),
}

/// Why a document cannot be filled in.
#[derive(Debug, Error)]
pub enum DraftError {
    /// A placeholder has no value.
    #[error("failed to evaluate placeholder {}: {failure}", quote(.placeholder))]
    Placeholder {
        /// Its expression.
        placeholder: Str,
        /// Why.
        #[source]
        failure: Failure,
    },
    /// A placeholder inside of a text has parts.
    #[error(
        "placeholder {} embedded in a string must evaluate to a scalar, got {found}; use a whole-value placeholder for structured results",
        quote(.placeholder)
    )]
    Structured {
        /// Its expression.
        placeholder: Str,
        /// The type of the value.
        found: Box<str>,
    },
    /// A placeholder has a value that no document can hold; the words are those of the conversion.
    #[error("{0}")]
    Plain(Box<str>),
    /// An item of a list.
    #[error("item {at}: {cause}")]
    Item {
        /// Its position.
        at: usize,
        /// Why.
        #[source]
        cause: Box<DraftError>,
    },
    /// A field of an object.
    #[error("field {}: {cause}", quote(.field))]
    Field {
        /// The field.
        field: Str,
        /// Why.
        #[source]
        cause: Box<DraftError>,
    },
}
