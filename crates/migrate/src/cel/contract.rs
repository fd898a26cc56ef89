//! Loops → the macros that they come from.
//!
//! In: a tree as the parser gives it. Out: the same with calls of `all`, `exists`, `map`, `filter`,
//! `cel.bind`, `optMap`, `sortBy` and their like where these stood, which is how they are written.

use ephor_value::Value;

use super::build::{method, name, operands};
use super::walk::map_children;
use ephor_cel::ast::{ACCUMULATOR, Fold, Kind, Node, Shape};

/// What `sortBy` binds its list to.
const SORTED: &str = "@__sortBy_input__";

/// The tree with macros instead of loops.
pub fn contract(node: &Node) -> Node {
    match &node.kind {
        Kind::Call { .. } if let Some(found) = optional(node) => found,
        Kind::Fold(fold) => loop_of(fold).unwrap_or_else(|| node.clone()),
        _ => map_children(node, &contract),
    }
}

fn is_accumulator(node: &Node) -> bool {
    node.as_ident().is_some_and(|name| **name == *ACCUMULATOR)
}

/// The condition and the value of a step: `keep ? step : accumulator`, or the step alone.
fn step_of(step: &Node) -> (Option<&Node>, &Node) {
    match operands(step, "_?_:_") {
        Some([keep, step, other]) if is_accumulator(other) => (Some(keep), step),
        _ => (None, step),
    }
}

/// The item that a step appends.
fn appended(step: &Node) -> Option<&Node> {
    let [left, right] = operands(step, "_+_")? else { return None };
    match &right.kind {
        Kind::List { items, optional } if optional.is_empty() && is_accumulator(left) => match &items[..] {
            [item] => Some(item),
            _ => None,
        },
        _ => None,
    }
}

fn loop_of(fold: &Fold) -> Option<Node> {
    if fold.shape == Shape::Bind {
        return bound(fold);
    }
    let variables = || std::iter::once(&fold.var).chain(&fold.var2).map(|v| name(v)).collect::<Vec<_>>();
    let make = |macro_name: &str, parts: Vec<&Node>| {
        let args = variables().into_iter().chain(parts.into_iter().map(contract)).collect();
        Some(method(contract(&fold.range), macro_name, args))
    };
    match fold.shape {
        Shape::All => make("all", vec![operands(&fold.step, "_&&_")?.get(1)?]),
        Shape::Exists => make("exists", vec![operands(&fold.step, "_||_")?.get(1)?]),
        Shape::ExistsOne => make("exists_one", vec![operands(&fold.step, "_?_:_")?.first()?]),
        Shape::List => {
            let (keep, step) = step_of(&fold.step);
            let item = appended(step)?;
            let is_item = fold.var2.is_none() && item.as_ident() == Some(&fold.var);
            match (keep, is_item) {
                (Some(keep), true) => make("filter", vec![keep]),
                (keep, _) => {
                    let macro_name = if fold.var2.is_some() { "transformList" } else { "map" };
                    make(macro_name, keep.into_iter().chain([item]).collect())
                }
            }
        }
        Shape::Map | Shape::Entries => {
            let (keep, step) = step_of(&fold.step);
            let args = operands(step, "cel.@mapInsert")?;
            let macro_name = if fold.shape == Shape::Map { "transformMap" } else { "transformMapEntry" };
            make(macro_name, keep.into_iter().chain([args.last()?]).collect())
        }
        Shape::Bind => None,
    }
}

fn bound(fold: &Fold) -> Option<Node> {
    let var = fold.var2.as_ref()?;
    if **var == *SORTED {
        let Kind::Call { args, .. } = &fold.result.kind else { return None };
        let Kind::Fold(keys) = &args.first()?.kind else { return None };
        let key = contract(appended(&keys.step)?);
        return Some(method(contract(&fold.init), "sortBy", vec![name(&keys.var), key]));
    }
    Some(method(name("cel"), "bind", vec![name(var), contract(&fold.init), contract(&fold.result)]))
}

/// `x.optMap(v, body)` and `x.optFlatMap(v, body)`: `x.hasValue() ? optional.of(cel.bind(v,
/// x.value(), body)) : optional.none()`.
fn optional(node: &Node) -> Option<Node> {
    let [has, some, none] = operands(node, "_?_:_")? else { return None };
    operands(none, "optional.none")?;
    let Kind::Call { function, target: Some(target), .. } = &has.kind else { return None };
    let (macro_name, bind) = match operands(some, "optional.of") {
        Some([bind]) => ("optMap", bind),
        _ => ("optFlatMap", some),
    };
    let Kind::Fold(fold) = &bind.kind else { return None };
    let var = fold.var2.as_ref().filter(|_| fold.shape == Shape::Bind && **function == *"hasValue")?;
    Some(method(contract(target), macro_name, vec![name(var), contract(&fold.result)]))
}

/// The names of operators that functions are called by, as they are written.
pub fn written(function: &str) -> Option<&'static str> {
    Some(match function {
        "math.@max" => "math.greatest",
        "math.@min" => "math.least",
        _ => return None,
    })
}

/// Whether a literal begins with a sign.
pub fn is_negative(value: &Value) -> bool {
    match value {
        Value::Int(n) => *n < 0,
        Value::Float(f) => f.is_sign_negative(),
        _ => false,
    }
}
