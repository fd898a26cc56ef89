//! Laws of expressions: generated and recorded ones of both languages, and what they give.
//!
//! In: bytes that decide what is generated ([`ephor_samples::Tape`]). Out: expressions whose locals
//! are all bound ([`generate`], [`strict`]), data for them ([`object`], [`value`]), and results in
//! a form that can be compared ([`outcome`], [`metered`]). Generated expressions need not be such
//! that a checker admits them: what holds of all nodes holds of those that it does. The laws are
//! the tests of this crate: they need the front ends, the optimiser and the evaluator together.
//!
//! - `nullable`: generated expressions of the nodes that read on past what is missing, as
//!   JMESPath uses them.
//! - [`recorded`]: recorded cases of CEL: what they are compiled and evaluated with.
//! - `strict`: strict expressions for laws: generated ones, and CEL's recorded random expressions.
#![forbid(unsafe_code)]

mod nullable;
pub mod recorded;
mod strict;

use std::borrow::Cow;

use ephor_analysis::print;
use ephor_engine::eval::{Env, eval};
use ephor_engine::meter::Meter;
use ephor_functions::Context;
use ephor_ir::Expr;
pub use ephor_samples::value::{KEYS, value};
use ephor_value::{Fault, Value};

pub use nullable::generate;
pub use strict::{KINDS, object, strict};

/// What an expression gives: equal ones cannot be distinguished.
#[derive(Debug)]
pub struct Outcome {
    /// The value or the fault.
    pub result: Result<Value, Fault>,
    /// The cost.
    pub spent: u64,
}

impl Outcome {
    /// Whether the same value or fault is given, whatever it cost.
    pub fn gives_as(&self, other: &Outcome) -> bool {
        match (&self.result, &other.result) {
            (Ok(a), Ok(b)) => a == b,
            (Err(a), Err(b)) => a == b,
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
        }
    }
}

impl PartialEq for Outcome {
    fn eq(&self, other: &Self) -> bool {
        self.gives_as(other) && self.spent == other.spent
    }
}

/// Evaluates an expression on a meter.
pub fn metered(expr: &Expr, root: &Value, cx: &Context, limit: u64) -> Outcome {
    let meter = Meter::new(limit);
    let result = eval(expr, Env::new(root, cx).with_meter(&meter)).map(Cow::into_owned);
    Outcome { result, spent: meter.spent() }
}

/// What an expression gives, in a form that shows the kinds of numbers and the order of keys.
pub fn outcome(expr: &Expr, root: &Value) -> Result<String, Fault> {
    let context = Context::default();
    eval(expr, Env::new(root, &context)).map(|v| print::literal(&v))
}

/// The printed form.
pub fn text(expr: &Expr) -> String {
    print::expression(expr).to_string()
}
