//! What the checks need of a compiler of expressions.

/// What an expression must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A boolean; it sees no variables.
    Condition,
    /// A boolean.
    Validation,
    /// Text.
    Message,
    /// Text or null.
    Annotation,
    /// An object to be merged.
    Apply,
    /// A list of operations.
    JsonPatch,
}

/// What is wrong with an expression, in the words of its compiler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionProblem {
    /// It is not valid, or has another type.
    #[error("{0}")]
    Invalid(String),
    /// It is valid, but cannot be planned.
    #[error("{0}")]
    Impossible(String),
}

/// Checks the expressions of a policy.
pub trait Expressions {
    /// The release of the API server.
    fn release(&self) -> ephor_value::release::Release;
    /// What is wrong with an expression.
    fn problem(&self, source: &str, wanted: Wanted) -> Option<ExpressionProblem>;
    /// Adds a variable for the expressions after it, and says what is wrong with it.
    fn variable(&mut self, name: &str, source: &str) -> Option<ExpressionProblem>;
}
