//! Checks written as expressions: conditions, named values, and verdicts with their messages.

use crate::value::Str;

use super::Expr;

/// An expression ready to run, or why it cannot.
pub type Program = Result<Expr, Str>;

/// A value under a name, computed when it is first read; it sees the earlier ones.
#[derive(Clone, Debug)]
pub struct Lazy {
    /// The name.
    pub name: Str,
    /// What computes it.
    pub program: Program,
}

/// An expression with its text, as faults show it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The text as written.
    pub text: Str,
    /// What runs.
    pub program: Program,
}

/// A verdict.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// True admits.
    pub check: Source,
    /// The message as written; empty when there is none.
    pub message: Str,
    /// What makes the message instead, when it gives a usable one.
    pub message_program: Option<Program>,
}

/// Verdicts of a rule with what they share.
#[derive(Clone, Debug)]
pub struct Expressions {
    /// All must be true, else the rule does not apply.
    pub admit: Box<[Source]>,
    /// Values under names.
    pub lazies: Box<[Lazy]>,
    /// The verdicts, in order.
    pub verdicts: Box<[Verdict]>,
    /// Told when all are true.
    pub passed: Str,
    /// Whether the rule asks for parameters, which are not there outside of a cluster.
    pub params: bool,
}
