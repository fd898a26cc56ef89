//! Constant folding: a node whose operands are constant becomes its value.
//!
//! Nodes that would fail stay, and so do calls of functions that depend on more than their
//! arguments. Expressions with binders are left to the evaluator.

use std::borrow::Cow;

use crate::walk::bottom_up;
use crate::{Expr, ops};
use ephor_functions::{self, Arg, Context};
use ephor_value::{Map, Value};

/// Calls with larger arguments wait for the first request that needs them. Folding them would take
/// time when policies load, for rules that may never match.
const MAX_ARGUMENTS: usize = 4 << 10;

/// Larger results are not folded. They would take memory for as long as the policy is loaded.
const MAX_RESULT: usize = 64 << 10;

/// Runs the pass.
pub fn run(expr: Expr) -> Expr {
    bottom_up(expr, &mut |e| match value(&e) {
        Some(v) => Expr::Const(v),
        None => e,
    })
}

fn constant(e: &Expr) -> Option<&Value> {
    match e {
        Expr::Const(v) => Some(v),
        _ => None,
    }
}

fn both(sides: &[Expr; 2]) -> Option<[&Value; 2]> {
    Some([constant(&sides[0])?, constant(&sides[1])?])
}

/// The value of a node whose operands are constant.
fn value(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Path { base, keys, scalar } => {
            Some(ops::walk(constant(base)?, keys, *scalar).ok()?.cloned().unwrap_or_default())
        }
        Expr::Index { base, index } => Some(ops::item(constant(base)?, *index).cloned().unwrap_or_default()),
        Expr::Slice { base, bounds } => match constant(base)?.as_list() {
            Some(items) => ops::slice(items, bounds).ok(),
            None => Some(Value::Null),
        },
        Expr::Not(operand) => Some(Value::Bool(!ops::truthy(constant(operand)?))),
        Expr::Compare { op, sides } => {
            let [a, b] = both(sides)?;
            Some(ops::compare(*op, a, b).map_or(Value::Null, Value::Bool))
        }
        Expr::Flatten(e) => Some(constant(e)?.as_list().map_or(Value::Null, ops::flatten)),
        Expr::List(items) => {
            Some(Value::list(items.iter().map(|e| constant(e).cloned()).collect::<Option<_>>()?))
        }
        Expr::Object(pairs) => {
            let entries: Option<Map> =
                pairs.iter().map(|(k, e)| Some((k.clone(), constant(e)?.clone()))).collect();
            Some(Value::Map(entries?))
        }
        Expr::Call { function, args } if function.folds => {
            let values: Vec<&Value> = args.iter().map(constant).collect::<Option<_>>()?;
            if values.iter().map(|v| weight(v)).sum::<usize>() > MAX_ARGUMENTS {
                return None;
            }
            let args: Vec<Arg<'_>> = values.into_iter().map(|v| Arg::Value(Cow::Borrowed(v))).collect();
            let result = ephor_functions::call(function, &Context::default(), &args).ok()?;
            (weight(&result) <= MAX_RESULT).then_some(result)
        }
        _ => None,
    }
}

/// Roughly the bytes of a value.
fn weight(v: &Value) -> usize {
    match v {
        Value::Str(s) => 8 + s.len(),
        Value::List(l) => 8 + l.iter().map(weight).sum::<usize>(),
        Value::Map(m) => 8 + m.iter().map(|(k, v)| k.len() + weight(v)).sum::<usize>(),
        _ => 8,
    }
}
