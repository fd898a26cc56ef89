//! The cost of strict evaluation, and composed variables, each with a meter of its own.
//!
//! In: costs, and the programs of variables. Out: whether the limit is exceeded; values of
//! variables, computed when they are first read. Semantics: `docs/expressions/cel.md`, "Cost";
//! `docs/internals/ir.md`, "Expressions of a rule".

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};

use ephor_ir::Expr;
use ephor_ir::expressions::Variable;
use ephor_value::{Fault, Value, budget, stack};

use super::eval::{Env, value as eval};
use super::shared::SharedResults;
use super::trace::{self, DataError, EventKind};

/// Adds up the cost of evaluations.
#[derive(Debug)]
pub struct Meter {
    spent: Cell<u64>,
    limit: u64,
}

impl Meter {
    /// A meter with a limit.
    pub fn new(limit: u64) -> Meter {
        Meter { spent: Cell::new(0), limit }
    }

    /// The cost so far.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// The limit.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Whether the cost stays within the limit after such an addition.
    pub fn affords(&self, amount: u64) -> bool {
        self.spent.get().saturating_add(amount) <= self.limit
    }

    /// Adds to the cost.
    ///
    /// # Errors
    /// The limit is exceeded.
    pub fn charge(&self, amount: u64) -> Result<(), Fault> {
        // A negative depth of `flatten` is a cost that wraps.
        let now = self.spent.get().wrapping_add(amount);
        self.spent.set(now);
        if now > self.limit { Err(Fault::Budget) } else { Ok(()) }
    }
}

/// Composed variables: each is computed when it is first read, and then cached, its fault too. Its
/// cost is not added to the reader's meter: a variable has the same limit for itself.
pub struct ComposedVariables<'a> {
    programs: &'a [Variable],
    /// Faults are reported unchanged.
    bare: bool,
    cells: Vec<OnceCell<Result<Value, Fault>>>,
    spent: Cell<u64>,
    /// How many were computed.
    computed: Cell<usize>,
    /// How many are being computed, each for the one before it.
    depth: Cell<usize>,
    /// What other rules computed of the same object.
    shared: Option<&'a SharedResults>,
}

impl<'a> ComposedVariables<'a> {
    /// Nothing is computed yet.
    pub fn new(programs: &'a [Variable]) -> ComposedVariables<'a> {
        let cells = programs.iter().map(|_| OnceCell::new()).collect();
        ComposedVariables {
            programs,
            bare: false,
            cells,
            spent: Cell::new(0),
            computed: Cell::new(0),
            depth: Cell::new(0),
            shared: None,
        }
    }

    /// The same, but their faults are reported as if they were those of the expression that reads
    /// them.
    pub fn bare(programs: &'a [Variable]) -> ComposedVariables<'a> {
        ComposedVariables { bare: true, ..ComposedVariables::new(programs) }
    }

    /// The same with values that other rules may have computed.
    pub(super) fn sharing(self, shared: &'a SharedResults) -> ComposedVariables<'a> {
        ComposedVariables { shared: Some(shared), ..self }
    }

    /// What computes the values.
    pub(super) fn programs(&self) -> &'a [Variable] {
        self.programs
    }

    /// Computes variables that are not computed yet, without the cost of reading them; whether all
    /// have a value.
    pub(super) fn compute_all<'b>(&'b self, all: &[u32], env: &Env<'_, 'b>) -> bool
    where
        'a: 'b,
    {
        all.iter().all(|n| self.computed_at(*n, env).is_ok())
    }

    /// The cost of computing variables since the last call.
    pub fn take_spent(&self) -> u64 {
        self.spent.take()
    }

    /// How many were computed so far.
    pub fn computed(&self) -> usize {
        self.computed.get()
    }

    /// Computes a value that may read others, which may read others.
    fn compute(&self, expr: &Expr, variable: &Variable, env: &Env<'_, '_>) -> Result<Value, Fault> {
        let depth = self.depth.get();
        if depth >= stack::MAX_CHAIN {
            let text = format!("variables read one another in a chain of more than {}", stack::MAX_CHAIN);
            return Err(budget::refuse(&text));
        }
        self.depth.set(depth + 1);
        self.computed.set(self.computed.get() + 1);
        let result = stack::deep(|| self.compute_metered(expr, variable, env));
        self.depth.set(depth);
        result
    }

    /// Computes a value on a meter of its own.
    fn compute_metered(&self, expr: &Expr, variable: &Variable, env: &Env<'_, '_>) -> Result<Value, Fault> {
        let Some(limit) = env.limit() else { return eval(expr, &env.without_locals()).map(Cow::into_owned) };
        let meter = Meter::new(limit);
        let own = env.without_locals().with_meter(&meter);
        let evaluate = || eval(expr, &own).map(Cow::into_owned);
        let known = self.shared.filter(|_| !trace::is_on()).and_then(|shared| {
            let known = variable.sharing.of(expr, self.programs)?;
            self.compute_all(&known.variables, env).then_some((shared, known.key))
        });
        let result = match known {
            Some((shared, key)) => shared.read(key, &own, evaluate),
            None => evaluate(),
        };
        self.spent.set(self.spent.get().saturating_add(meter.spent()));
        result
    }

    /// The value at a position.
    ///
    /// # Errors
    /// `composited variable "x" fails to evaluate: …`.
    pub fn get<'b>(&'b self, at: u32, env: &Env<'_, 'b>) -> Result<&'b Value, Fault>
    where
        'a: 'b,
    {
        env.charge(1)?;
        self.computed_at(at, env)
    }

    fn computed_at<'b>(&'b self, at: u32, env: &Env<'_, 'b>) -> Result<&'b Value, Fault>
    where
        'a: 'b,
    {
        let at = at as usize;
        let (Some(variable), Some(cell)) = (self.programs.get(at), self.cells.get(at)) else {
            return Err(Fault::new("no such variable"));
        };
        let before = if trace::is_on() { trace::nodes() } else { 0 };
        let traced = |result: Result<Value, Fault>| {
            let expr = variable.program.as_ref().ok();
            trace::emit_variable(&variable.origin, expr, before, || {
                EventKind::Data(variable.name.clone(), result.clone().map_err(DataError::Variable))
            });
            result
        };
        if self.bare {
            let compute = || {
                let expr = variable.program.as_ref().map_err(|text| Fault::new(text.to_string()));
                traced(expr.and_then(|expr| self.compute(expr, variable, env)))
            };
            return cell.get_or_init(compute).as_ref().map_err(Clone::clone);
        }
        let compute = || {
            traced(match &variable.program {
                Err(text) => {
                    let name = &variable.name;
                    Err(Fault::new(format!("composited variable \"{name}\" fails to compile: {text}")))
                }
                Ok(expr) => self.compute(expr, variable, env).map_err(|fault| {
                    let (name, text) = (&variable.name, fault.cel_text());
                    // Each of a chain keeps a longer text than the one before it.
                    if let Err(excess) = budget::take(text.len()) {
                        return excess;
                    }
                    Fault::new(format!("composited variable \"{name}\" fails to evaluate: {text}"))
                }),
            })
        };
        cell.get_or_init(compute).as_ref().map_err(Clone::clone)
    }
}
