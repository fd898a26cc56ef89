//! CEL, the Common Expression Language: text → syntax tree → checked tree → IR.
//!
//! In: an expression and the environment that it may use. Out: an IR expression that the one
//! evaluator runs, its type, and the issues in the exact words of cel-go. Semantics: `docs/expressions/cel.md`.
//!
//! - [`ast`]: the syntax tree of CEL after macro expansion
//! - [`check`]: type checking
//! - [`env`]: environments: what names, functions and messages an expression may use
//! - [`estimate`]: how much an expression will cost, as far as that is known before it runs
//! - [`fold`]: constant folding for strict expressions: calls of constants are computed once, at
//!   their cost
//! - `infer`: assigning types to unknowns: what may stand for what, and what the unknowns turn out
//!   to be
//! - [`issue`]: issues of expressions, in cel-go's words
//! - [`library`]: the environments: which libraries of functions, variables and messages each
//!   declares
//! - [`lower`]: checked trees → IR
//! - [`schema`]: types from OpenAPI schemas: what the checker knows of objects of a kind
//! - [`spans`]: the texts of an expression's parts
//! - [`syntax`]: the syntax of CEL: tokens, grammar, macros
//! - `validate`: checks of literals: items of one type, well-formed durations, times, patterns and
//!   formats
#![forbid(unsafe_code)]

pub mod ast;
pub mod check;
pub mod env;
#[cfg(feature = "estimates")]
pub mod estimate;
pub mod fold;
mod infer;
pub mod issue;
pub mod library;
pub mod lower;
pub mod schema;
pub mod spans;
pub mod syntax;
mod validate;

use env::Env;
use ephor_functions::Context;
pub use ephor_functions::cel::types;
use ephor_ir::Expr;
use ephor_ir::optimise::hoist::{self, Lists};
use issue::Issues;
use lower::Impossible;
use types::Type;

/// An expression that can be run.
#[derive(Clone, Debug)]
pub struct Program {
    /// What to run.
    pub expr: Expr,
    /// Its type.
    pub ty: Type,
}

/// Why an expression cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// It is not valid.
    #[error("compilation failed: {0}")]
    Invalid(#[source] Issues),
    /// It has another type than it must; the words are those of the caller.
    #[error("{0}")]
    Type(String),
    /// It is valid, but cannot be planned.
    #[error("program instantiation failed: {0}")]
    Impossible(#[source] Impossible),
}

impl CompileError {
    /// The text without what says at which step compiling failed.
    pub fn detail(&self) -> String {
        match self {
            CompileError::Invalid(issues) => issues.to_string(),
            CompileError::Type(text) => text.clone(),
            CompileError::Impossible(why) => why.to_string(),
        }
    }
}

/// The type of an expression.
///
/// # Errors
/// The issues, one after the other.
pub fn checked(source: &str, env: &Env) -> Result<Type, Issues> {
    typed(source, env).map(|tree| tree.ty)
}

/// Parses and checks an expression.
///
/// # Errors
/// The issues, one after the other.
pub fn typed(source: &str, env: &Env) -> Result<check::Typed, Issues> {
    let failed = |all: Vec<issue::Issue>| Issues { source: source.into(), all };
    let tree = syntax::parse(source, env.syntax).map_err(failed)?;
    let typed = check::check(&tree, env).map_err(failed)?;
    let issues = validate::issues(&typed, env);
    if issues.is_empty() { Ok(typed) } else { Err(failed(issues)) }
}

/// Whether a name stands for a value somewhere in an expression; in none that cannot be parsed.
pub fn mentions(source: &str, env: &Env, name: &str) -> bool {
    syntax::parse(source, env.syntax).is_ok_and(|tree| tree.mentions(name))
}

/// Compiles an expression.
///
/// # Errors
/// It is not valid, or cannot be planned.
pub fn compile(source: &str, env: &Env, cx: &Context) -> Result<Program, CompileError> {
    compile_as(source, env, cx, &|_| None)
}

/// Compiles an expression that must have a certain type: `refused` is the error text for its own.
///
/// # Errors
/// As for [`compile`], and [`CompileError::Type`].
pub fn compile_as(
    source: &str,
    env: &Env,
    cx: &Context,
    refused: &dyn Fn(&Type) -> Option<String>,
) -> Result<Program, CompileError> {
    let typed = typed(source, env).map_err(CompileError::Invalid)?;
    if let Some(text) = refused(&typed.ty) {
        return Err(CompileError::Type(text));
    }
    let expr = lower::lower(&typed, env, cx).map_err(CompileError::Impossible)?;
    Ok(Program { expr: hoist::run(fold::fold(expr), Lists::Alike), ty: typed.ty })
}

/// What a checked expression will cost, as far as that is known before it runs.
#[cfg(feature = "estimates")]
pub fn estimated(typed: &check::Typed, env: &Env) -> estimate::Range {
    estimate::estimate(typed, env, &|path| env.size_at(path))
}
