//! A list of expressions with what they share: the root, composed variables, and the budget.
//!
//! The only place that evaluates the expressions of a rule: conditions, validations, messages,
//! audit annotations and patches of every API. Each expression has a limit of its own; what they
//! cost together, with the variables that they are the first to read, is taken from the budget.
//! Semantics: `docs/internals/ir.md`, "Expressions of a rule".

use std::borrow::Cow;
use std::cell::Cell;

use crate::Request;
use crate::eval::{Env, value};
use crate::meter::{ComposedVariables, Meter};
use crate::shared::SharedResults;
use crate::sorted::Sorted;
use crate::strict::truth;
use crate::trace::{self, EventKind, TracedValue};
use ephor_functions::Context;
use ephor_ir::Expr;
use ephor_ir::expressions::{Expressions, Program, Source, Validation, Variable, Wording};
use ephor_ir::sharing::Shared;
use ephor_value::{Fault, Str, Value};

use super::{ConditionsError, FailedExpression, Failure};

/// What one expression may cost.
pub const PER_CALL: u64 = 1_000_000;

/// A message that is longer counts as none.
const MAX_MESSAGE: usize = 5 << 10;

/// See the module page.
pub struct Scope<'s> {
    /// What the expressions see.
    pub root: Cow<'s, Value>,
    functions: &'s Context,
    variables: ComposedVariables<'s>,
    wording: &'static Wording,
    /// What is left of the budget; `None` = there is none.
    left: Cell<Option<u64>>,
    /// What other rules computed of the same object.
    shared: Option<&'s SharedResults>,
}

impl<'s> Scope<'s> {
    /// A list that belongs to no rule: without variables, without a budget.
    pub fn new(root: &'s Value, functions: &'s Context, wording: &'static Wording) -> Scope<'s> {
        Scope::of(Cow::Borrowed(root), &[], functions, wording)
    }

    /// The list of a rule, without a budget. No variable is computed yet.
    pub fn of_rule(root: &'s Value, expressions: &'s Expressions, functions: &'s Context) -> Scope<'s> {
        Scope::of(Cow::Borrowed(root), &expressions.variables, functions, expressions.wording)
    }

    /// The same for a root that nothing else holds.
    pub(super) fn of(
        root: Cow<'s, Value>,
        variables: &'s [Variable],
        functions: &'s Context,
        wording: &'static Wording,
    ) -> Scope<'s> {
        let variables = match wording.faults_name_variable {
            true => ComposedVariables::new(variables),
            false => ComposedVariables::bare(variables),
        };
        Scope { root, functions, variables, wording, left: Cell::new(None), shared: None }
    }

    /// The list with what it may cost.
    pub fn with_budget(self, budget: u64) -> Scope<'s> {
        self.left.set(Some(budget));
        self
    }

    /// The list with what other rules computed, where it sees the object of the request as it is. A
    /// list with a budget pays for each expression when it comes to it, and shares nothing.
    pub(super) fn sharing(mut self, request: &'s Request) -> Scope<'s> {
        let is_same = match (self.root.get("object"), &request.object) {
            (Some(Value::Map(seen)), Value::Map(object)) => seen.is_same(object),
            _ => false,
        };
        if is_same && self.left.get().is_none() && std::ptr::eq(self.functions, &request.functions) {
            self.shared = Some(&request.shared);
            self.variables = self.variables.sharing(&request.shared);
        }
        self
    }

    /// What is left of the budget; 0 where there is none.
    pub fn left(&self) -> u64 {
        self.left.get().unwrap_or_default()
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// It has none.
    pub fn value(&self, program: &Program) -> Result<Value, Failure> {
        self.value_on(program, &self.root)
    }

    /// The value of an expression that sees another root.
    ///
    /// # Errors
    /// It has none.
    pub fn value_on(&self, program: &Program, root: &Value) -> Result<Value, Failure> {
        self.run(program, root, |expr, env| value(expr, env).map(Cow::into_owned))
    }

    /// Evaluates an expression and pays for it.
    fn run<T>(
        &self,
        program: &Program,
        root: &Value,
        evaluate: impl for<'e> FnOnce(&'e Expr, &Env<'_, 'e>) -> Result<T, Fault>,
    ) -> Result<T, Failure> {
        let expr = program.as_ref().map_err(|text| Failure::Compile(text.clone()))?;
        let meter = Meter::new(PER_CALL);
        let env = Env::new(root, self.functions).with_meter(&meter).with_variables(&self.variables);
        let watched = trace::is_on().then(Sorted::default);
        let env = watched.iter().fold(env, |env, table| env.sorting(table));
        let result = evaluate(expr, &env).map_err(Failure::Run);
        if let Some(left) = self.left.get() {
            let left = left.checked_sub(meter.spent());
            let left = left.and_then(|left| left.checked_sub(self.variables.take_spent()));
            self.left.set(Some(left.ok_or(Failure::OutOfBudget)?));
        }
        result
    }

    /// Whether an expression is true.
    ///
    /// # Errors
    /// It has no value, or one that is not a boolean.
    pub fn is_true(&self, program: &Program) -> Result<bool, Failure> {
        let found = self.run(program, &self.root, truth)?;
        found.ok_or_else(|| Failure::Run(Fault::new("no such overload")))
    }

    /// Whether an expression is true; emits a trace event that says why.
    pub(super) fn decides(&self, source: &Source) -> Result<bool, Failure> {
        let found = match self.shared_truth(source) {
            Some(found) => found,
            None => self.is_true(&source.program),
        };
        if trace::is_on() {
            self.emit(source, found.clone().map(Value::Bool));
        }
        found
    }

    /// Emits a trace event that says what an expression came to, and why.
    pub(crate) fn emit(&self, source: &Source, found: Result<Value, Failure>) {
        let reads = trace::reads_since(0);
        let steps = source.program.as_ref().map(trace::steps).unwrap_or_default();
        let seen = match found {
            Ok(value) => Ok(TracedValue::computed(value)),
            Err(Failure::Run(fault)) => Err(fault),
            Err(other) => Err(Fault::new(other.to_string())),
        };
        trace::emit_reading(&source.origin, || {
            (EventKind::Expression(source.text.clone(), seen, steps), reads)
        });
    }

    /// Whether an expression is true that other rules may have evaluated; `None` = it shares
    /// nothing.
    fn shared_truth(&self, source: &Source) -> Option<Result<bool, Failure>> {
        let (shared, Ok(expr)) = (self.shared.filter(|_| !trace::is_on())?, &source.program) else {
            return None;
        };
        let Shared { key, variables } = source.sharing.of(expr, self.variables.programs())?;
        let meter = Meter::new(PER_CALL);
        let env = Env::new(&self.root, self.functions).with_meter(&meter).with_variables(&self.variables);
        if !self.variables.compute_all(variables, &env) {
            return None;
        }
        let truth = || truth(expr, &env)?.map(Value::Bool).ok_or_else(|| Fault::new("no such overload"));
        let found = shared.read(*key, &env, truth);
        Some(found.map(|v| v.as_bool() == Some(true)).map_err(Failure::Run))
    }

    /// An expression that has no value, in the words of the list.
    pub fn failed(&self, source: &Source, failure: Failure) -> FailedExpression {
        let expression = self.wording.faults_name_expression.then(|| source.text.clone());
        FailedExpression { expression, failure }
    }

    /// Whether all conditions are true; a false one takes precedence over failures. Where there is
    /// a budget, all are evaluated: it may run out after a false one.
    ///
    /// # Errors
    /// No condition is false and some fail.
    pub fn admits(&self, conditions: &[Source]) -> Result<bool, ConditionsError> {
        let several = self.wording.several;
        let (mut holds, mut all) = (true, Vec::<FailedExpression>::new());
        for condition in conditions {
            match self.decides(condition) {
                Ok(true) => {}
                Ok(false) if self.left.get().is_none() => return Ok(false),
                Ok(false) => holds = false,
                Err(Failure::OutOfBudget) => return Err(ConditionsError::OutOfBudget),
                Err(failure) => {
                    let failed = self.failed(condition, failure);
                    let is_known = |text: &str| all.iter().any(|known| known.to_string() == text);
                    if several[0].is_empty() || all.is_empty() || !is_known(&failed.to_string()) {
                        all.push(failed);
                    }
                }
            }
        }
        match (all.len(), all.pop()) {
            _ if !holds => Ok(false),
            (_, None) => Ok(true),
            (1, Some(one)) => Err(ConditionsError::One(Box::new(one))),
            (_, Some(last)) => {
                all.push(last);
                Err(ConditionsError::Several { failed: all, several })
            }
        }
    }

    /// The message of a validation that is false.
    pub fn message(&self, validation: &Validation, at: usize) -> Str {
        let made = validation.message_program.as_ref().map(|program| self.value(program));
        if self.wording.messages_fall_back {
            return fallen_back(validation, made.and_then(Result::ok).as_ref());
        }
        let text = match made {
            None => validation.message.clone(),
            Some(Ok(Value::Str(text))) => text,
            Some(Ok(_)) => return "failed to evaluate message expression: no such overload".into(),
            Some(Err(failure)) => {
                return format!("failed to evaluate message expression: {failure}").into();
            }
        };
        match text.is_empty() {
            true => format!("CEL expression validation failed at index {at}").into(),
            false => text,
        }
    }
}

/// What a `messageExpression` gave, else the message, else the expression.
pub fn fallen_back(validation: &Validation, made: Option<&Value>) -> Str {
    if let Some(Value::Str(text)) = made {
        let text = text.trim();
        if !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n') {
            return text.into();
        }
    }
    match validation.message.trim() {
        "" => format!("failed expression: {}", validation.check.text.trim()).into(),
        text => text.into(),
    }
}
