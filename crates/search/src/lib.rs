//! JMESPath for programs: compile an expression, search documents with it.
//!
//! In: the text of an expression and a [`Value`], read from YAML or JSON by [`read`]. Out: a value,
//! or a [`Problem`] with the reference's text, the byte of the expression where it happened and
//! advice. Built from `jmespath` (text to tree to IR), `ir` (optimiser) and `engine` (evaluation);
//! this is what `ephor jp` and the recorded suites use. Semantics: `docs/expressions/jmespath.md`.
//!
//! ```
//! use ephor_search::{Expression, read};
//!
//! let pod = read("spec: {containers: [{name: a, image: nginx}]}")?;
//! let images = Expression::compile("spec.containers[].image")?.search(&pod)?;
//! assert_eq!(ephor_search::json(&images)?, r#"["nginx"]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - `blame`: which part of an expression failed.
//! - [`cel`]: CEL for programs: compile an expression for an environment, evaluate it on a
//!   document, see what its parts gave.
//! - [`meant`]: where an evaluation failed, and what was probably meant.
//! - [`notation`]: values in CEL's notation.
#![forbid(unsafe_code)]

mod blame;
pub mod cel;
pub mod meant;
pub mod notation;

use std::borrow::Cow;
use std::sync::LazyLock;

use ephor_engine::eval::{Env, Evaluated, eval};
use ephor_engine::sorted::Sorted;
use ephor_functions::Context;
use ephor_ir::{Expr, optimise};
use ephor_jmespath::{Ast, SyntaxError};
use ephor_value::number::float_v;
use ephor_value::suggest::did_you_mean;
use ephor_value::{Fault, Value, print};

static CONTEXT: LazyLock<Context> = LazyLock::new(Context::default);

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    ast: Ast,
    expr: Expr,
    sorts: bool,
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The reference's text.
    pub text: String,
    /// The byte of the expression where it happened, where that is known.
    pub offset: Option<usize>,
    /// What was probably meant.
    pub hint: Option<String>,
    /// The text as `jp parse` shows it, where the reference has more than [`Problem::text`]: the
    /// expression and a caret.
    pub caret: Option<String>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Problem {}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// It is none; the text begins with `SyntaxError: ` where the grammar is at fault.
    pub fn compile(text: &str) -> Result<Expression, Problem> {
        let ast = ephor_jmespath::parse(text).map_err(|e| syntax_problem(text, e))?;
        let expr = optimise::expression(ephor_jmespath::lower::lower(&ast));
        Ok(Expression { text: text.into(), sorts: optimise::sorts(&expr), ast, expr })
    }

    /// The text that it was compiled from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its syntax tree.
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// What it is for the evaluator, before the optimiser.
    pub fn lowered(&self) -> Expr {
        ephor_jmespath::lower::lower(&self.ast)
    }

    /// What the evaluator runs.
    pub fn optimised(&self) -> &Expr {
        &self.expr
    }

    /// Searches a document.
    ///
    /// # Errors
    /// The evaluation fails, for example at a key that is not there.
    pub fn search(&self, document: &Value) -> Result<Value, Problem> {
        let sorted = Sorted::default();
        self.run(document, self.sorts.then_some(&sorted))
    }

    /// Searches a document as the reference does when it uses the same document afterwards: a list
    /// that `sort_by` has put in order stays in order.
    ///
    /// # Errors
    /// As [`Expression::search`].
    pub fn search_in(&self, document: &mut Value) -> Result<Value, Problem> {
        if !self.sorts {
            return self.search(document);
        }
        let sorted = Sorted::default();
        let result = self.run(document, Some(&sorted));
        if let Cow::Owned(now) = sorted.settle(Cow::Borrowed(document)) {
            *document = now;
        }
        result
    }

    /// Searches a document without copying what is found in it. A list that `sort_by` has put in
    /// order is so only in what `sort_by` gives.
    ///
    /// # Errors
    /// The evaluation fails.
    pub fn find<'a>(&'a self, document: &'a Value, context: &'a Context) -> Evaluated<'a> {
        eval(&self.expr, Env::new(document, context))
    }

    fn run(&self, document: &Value, sorted: Option<&Sorted>) -> Result<Value, Problem> {
        let mut env = Env::new(document, &CONTEXT);
        if let Some(sorted) = sorted {
            env = env.sorting(sorted);
        }
        eval(&self.expr, env).map(Cow::into_owned).map_err(|fault| self.problem(document, &fault))
    }

    fn problem(&self, document: &Value, fault: &Fault) -> Problem {
        let text = fault.to_string();
        // Of a result that grows too large every part has its share; it is not computed once more
        // to find out.
        let part = (!fault.ends()).then(|| blame::blame(&self.ast, document, &CONTEXT));
        let offset = Some(part.flatten().unwrap_or(0));
        let hint = text.strip_prefix("unknown function: ").and_then(|name| {
            let names: Vec<&str> = ephor_functions::all().iter().map(|f| f.name).collect();
            did_you_mean(name, &names).map(|close| format!("did you mean `{close}`?"))
        });
        Problem { text, offset, hint, caret: None }
    }
}

fn syntax_problem(expression: &str, e: SyntaxError) -> Problem {
    let caret = e.marked.then(|| e.with_caret(expression));
    Problem { offset: Some(e.offset), text: e.text, hint: None, caret }
}

/// A text that is neither YAML nor JSON.
#[derive(Debug, thiserror::Error)]
#[error("error converting YAML to JSON: {0}")]
pub struct ReadError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// A number that JSON does not have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("json: unsupported value: {}", float_v(*.0))]
pub struct NoJson(pub f64);

/// Reads the first document of a YAML or JSON text; numbers are doubles.
///
/// # Errors
/// See [`ReadError`].
pub fn read(text: &str) -> Result<Value, ReadError> {
    ephor_document::yaml_value(text).map(|v| v.with_float_numbers()).map_err(|e| ReadError(e.into()))
}

/// Reads a YAML or JSON document; whole numbers stay whole.
///
/// # Errors
/// It is neither.
pub fn document(text: &str) -> Result<Value, ReadError> {
    ephor_document::yaml_value(text).map_err(|e| ReadError(e.into()))
}

/// A result as JSON on one line with sorted keys.
///
/// # Errors
/// It holds a number that JSON does not have.
pub fn json(value: &Value) -> Result<String, NoJson> {
    check_numbers(value).map(|()| print::json(value))
}

/// A result as JSON with two blanks a level and sorted keys.
///
/// # Errors
/// As [`json`].
pub fn json_pretty(value: &Value) -> Result<String, NoJson> {
    check_numbers(value).map(|()| print::json_pretty(value, 2))
}

fn check_numbers(value: &Value) -> Result<(), NoJson> {
    match print::first_non_finite(value) {
        Some(f) => Err(NoJson(f)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
