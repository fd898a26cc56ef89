//! Constant folding for strict expressions: calls of constants are computed once, at their cost.
//!
//! In: a lowered expression. Out: one that gives the same value or fault at the same cost. A call
//! whose arguments are constant becomes [`Expr::Folded`], which counts what the call would have
//! counted, in the same amounts, so that a budget ends at the same point. Only functions that the
//! registry marks so (`folds`) are computed, and only results that count towards no bound of memory
//! are folded; what fails stays. Choices that a free constant decides become the branch that is
//! taken; those that constants decide at a cost become a constant at that cost.

use ephor_functions::cel::{self as library, Call, Charge};
use ephor_functions::{CelLevel, Context};
use ephor_ir::Expr;
use ephor_ir::expr::{Folded, Invoke};
use ephor_ir::walk::{Child, Runs, map_children};
use ephor_value::{Object, Value};

/// Texts and lists of constants that are longer are left to the evaluator. Folding them would take
/// time when policies load, for rules that may never match.
const MAX_ARGUMENT: usize = 4 << 10;

/// Folds an expression.
pub fn fold(expr: Expr) -> Expr {
    let walks = matches!(expr, Expr::Walk(_) | Expr::Test(_));
    let expr = map_children(expr, &mut |e, child| match (walks, child) {
        // The fault of a position that is none depends on the form of what computes it.
        (true, Child { runs: Runs::AtMostOnce, .. }) if matches!(e, Expr::Cond(_)) => e,
        (true, Child { runs: Runs::AtMostOnce, .. }) => map_children(e, &mut |e, _| fold(e)),
        _ => fold(e),
    });
    match expr {
        Expr::Invoke(invoke) => match computed(&invoke) {
            Some(folded) => Expr::Folded(Box::new(folded)),
            None => Expr::Invoke(invoke),
        },
        Expr::Cond(parts) => match *parts {
            [Expr::Const(Value::Bool(true)), then, _] => then,
            [Expr::Const(Value::Bool(false)), _, other] => other,
            parts => chosen(&parts).unwrap_or_else(|| Expr::Cond(Box::new(parts))),
        },
        Expr::Decide { all, sides } => match *sides {
            [left, _] if truth(&left) == Some(!all) => left,
            [left, right] => match (truth(&left), truth(&right)) {
                (Some(_), Some(b)) => folded([&left, &right], Value::Bool(b)),
                _ => Expr::Decide { all, sides: Box::new([left, right]) },
            },
        },
        Expr::OneOf { value, set } => match constant(&value) {
            Some((_, v)) => {
                let is_one = set.iter().any(|one| one.cel_eq(v));
                folded([&*value], Value::Bool(is_one))
            }
            None => Expr::OneOf { value, set },
        },
        other => other,
    }
}

/// The constant branch that a constant condition chooses, at the cost of both.
fn chosen(parts: &[Expr; 3]) -> Option<Expr> {
    let [condition, then, other] = parts;
    let branch = if truth(condition)? { then } else { other };
    let (_, value) = constant(branch)?;
    Some(folded([condition, branch], value.clone()))
}

/// The truth of a constant.
fn truth(expr: &Expr) -> Option<bool> {
    constant(expr)?.1.as_bool()
}

/// A constant that costs what these constants cost.
fn folded<const N: usize>(parts: [&Expr; N], value: Value) -> Expr {
    let costs: Box<[u64]> =
        parts.into_iter().filter_map(constant).flat_map(|(costs, _)| costs).copied().collect();
    if costs.is_empty() { Expr::Const(value) } else { Expr::Folded(Box::new(Folded { costs, value })) }
}

/// The costs of a constant, and its value.
fn constant(expr: &Expr) -> Option<(&[u64], &Value)> {
    match expr {
        Expr::Const(v) => Some((&[], v)),
        Expr::Folded(folded) => Some((&folded.costs, &folded.value)),
        _ => None,
    }
}

/// The result of a call of constants, if it is the same at all levels of the runtime.
fn computed(invoke: &Invoke) -> Option<Folded> {
    let Invoke { function, args, known, guards } = invoke;
    if !function.folds {
        return None;
    }
    let constants: Vec<(&[u64], &Value)> = args.iter().map(constant).collect::<Option<_>>()?;
    let values: Vec<&Value> = constants.iter().map(|(_, v)| *v).collect();
    if !values.iter().all(|v| is_small(v)) || !guards.iter().zip(&values).all(|(guard, v)| guard.admits(v)) {
        return None;
    }
    let given: Vec<Option<&Value>> = values.iter().copied().map(Some).collect();
    let at = |level: CelLevel| {
        let cx = Context { cel_level: level, ..Context::default() };
        let value = library::call(function, &Call { args: &values, known: *known, cx: &cx }).ok()?;
        let charge = Charge { args: &given, result: Some(&value), known: *known, level };
        let cost = function.charge(&charge).ok()?;
        is_free(&value).then_some((cost, value))
    };
    let (cost, value) = at(CelLevel::V26)?;
    if CelLevel::ALL.into_iter().any(|level| at(level).is_none_or(|(other, v)| other != cost || v != value)) {
        return None;
    }
    let costs = constants.iter().flat_map(|(costs, _)| costs.iter().copied()).chain([cost]);
    Some(Folded { costs: costs.collect(), value })
}

fn is_small(v: &Value) -> bool {
    match v {
        Value::Str(s) => s.len() <= MAX_ARGUMENT,
        Value::Bytes(b) => b.len() <= MAX_ARGUMENT,
        Value::List(l) => l.len() <= MAX_ARGUMENT && l.iter().all(|v| is_small(v) && v.as_list().is_none()),
        Value::Map(_) => false,
        Value::Object(o) => is_plain(o),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Duration(_)
        | Value::Timestamp(_) => true,
    }
}

/// Whether a result counts towards no bound of memory.
fn is_free(v: &Value) -> bool {
    match v {
        Value::Str(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) | Value::Null => false,
        Value::Object(o) => is_plain(o),
        Value::Bool(_)
        | Value::Int(_)
        | Value::UInt(_)
        | Value::Float(_)
        | Value::Duration(_)
        | Value::Timestamp(_) => true,
    }
}

fn is_plain(o: &Object) -> bool {
    match o {
        // The text of a computed quantity does not say that it is computed.
        Object::Quantity(quantity) => !quantity.is_computed(),
        Object::Url(_) | Object::Ip(_) | Object::Cidr(..) | Object::Semver(_) => true,
        Object::Optional(_)
        | Object::Type(_)
        | Object::Keyed(_)
        | Object::Format(_)
        | Object::Invalid(_)
        | Object::Struct(..)
        | Object::Check(_)
        | Object::Decision(_) => false,
    }
}
