//! Checks written as expressions: conditions, named values, and verdicts with their messages.

use crate::value::Str;

use super::Expr;
use super::matcher::Selector;

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
    /// What it says of its parameters.
    pub params: Option<Params>,
    /// Whether the verdicts can depend on the namespace of the object.
    pub reads_namespace: bool,
}

/// Which objects are the parameters of a rule.
#[derive(Clone, Debug)]
pub struct Params {
    /// API version, as written.
    pub api_version: Str,
    /// Kind.
    pub kind: Str,
    /// The object's name; empty when objects are chosen by labels.
    pub name: Str,
    /// Labels of all objects that count.
    pub selector: Option<Selector>,
    /// Where they are; empty = where the request is.
    pub namespace: Str,
    /// Whether it is an error when labels choose none.
    pub must_exist: bool,
}
