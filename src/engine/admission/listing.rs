//! A list of expressions with one budget: conditions, demands, messages, annotations, a change.
//!
//! Each expression has a limit of its own; what they cost together, with the values under names that
//! they are the first to read, is taken from the budget.

use crate::engine::eval::{Env, eval};
use crate::engine::strict::{Lazies, Meter};
use crate::functions::Context;
use crate::ir::expressions::{Lazy, Program, Source};
use crate::value::{Fault, Str, Value};

/// What one expression may cost.
const PER_CALL: u64 = 1_000_000;

/// The text of a list that ran out of its budget.
pub const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// The budget is gone; the list ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBudget;

/// Why an expression has no value.
#[derive(Clone, Debug)]
pub enum Failure {
    /// It does not compile.
    Compile(Str),
    /// It fails.
    Run(Fault),
}

impl Failure {
    /// The text, for an expression.
    pub fn told(&self, source: &str) -> String {
        match self {
            Failure::Compile(text) => format!("compilation error: {text}"),
            Failure::Run(fault) => {
                format!("expression '{source}' resulted in error: {}", fault.cel_text())
            }
        }
    }
}

impl Failure {
    /// The text, with that of an expression that does not compile alone.
    pub fn told_bare(&self, source: &str) -> String {
        match self {
            Failure::Compile(text) => text.to_string(),
            run => run.told(source),
        }
    }
}

/// See the module page.
pub struct Listing<'a> {
    root: &'a Value,
    cx: &'a Context,
    lazies: Lazies<'a>,
    left: u64,
}

impl<'a> Listing<'a> {
    /// A list that may cost `budget`. Nothing under a name is computed yet.
    pub fn new(lazies: &'a [Lazy], root: &'a Value, cx: &'a Context, budget: u64) -> Listing<'a> {
        Listing { root, cx, lazies: Lazies::new(lazies), left: budget }
    }

    /// What is left of the budget.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Runs an expression.
    ///
    /// # Errors
    /// The budget is gone.
    pub fn run(&mut self, program: &Program) -> Result<Result<Value, Failure>, OutOfBudget> {
        let expr = match program {
            Ok(expr) => expr,
            Err(text) => return Ok(Err(Failure::Compile(text.clone()))),
        };
        let meter = Meter::new(PER_CALL);
        let env = Env::new(self.root, self.cx).with_meter(&meter).with_lazies(&self.lazies);
        let result = eval(expr, env).map(std::borrow::Cow::into_owned).map_err(Failure::Run);
        for cost in [meter.spent(), self.lazies.take_spent()] {
            self.left = self.left.checked_sub(cost).ok_or(OutOfBudget)?;
        }
        Ok(result)
    }
}

/// What conditions say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// All are true.
    Yes,
    /// One is false.
    No,
    /// None is false, and some fail: the text.
    Failed(String),
}

/// Asks all conditions; a false one wins over failures.
pub fn admitted(conditions: &[Source], mut list: Listing<'_>) -> Admitted {
    let mut results = Vec::with_capacity(conditions.len());
    for condition in conditions {
        match list.run(&condition.program) {
            Ok(result) => results.push((condition, result)),
            Err(OutOfBudget) => return Admitted::Failed(OUT_OF_BUDGET.into()),
        }
    }
    let mut failures: Vec<String> = Vec::new();
    for (condition, result) in results {
        match result {
            Ok(Value::Bool(true)) => {}
            Ok(_) => return Admitted::No,
            Err(failure) => {
                let text = failure.told(&condition.text);
                if !failures.contains(&text) {
                    failures.push(text);
                }
            }
        }
    }
    match &failures[..] {
        [] => Admitted::Yes,
        [one] => Admitted::Failed(one.clone()),
        many => Admitted::Failed(format!("[{}]", many.join(", "))),
    }
}
