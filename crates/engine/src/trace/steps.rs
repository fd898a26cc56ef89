//! The steps of an expression that decide its value.
//!
//! In: the values of its nodes, in the order in which they were found, and the expression. Out: the comparisons, calls and
//! reads on which the value rests, with the values of their operands. A side of `&&` that is false decides, of `all`
//! the item for which it is false, of a conditional the branch that is taken.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use crate::ir::expr::ComprehensionKind;
use crate::ir::{Expr, walk};
use crate::value::{Fault, Value};

use super::{TracedValue, address};

/// How many values of nodes are stored.
const MAX_NODES: usize = 100_000;

/// How many steps are shown of an expression.
const MAX_STEPS: usize = 12;

thread_local! {
    static NODES: RefCell<Vec<(usize, Result<TracedValue, Fault>)>> = const { RefCell::new(Vec::new()) };
}

/// A node that decides, and what it was decided on.
#[derive(Clone, Debug)]
pub struct Step {
    /// The node.
    pub expr: Expr,
    /// Its value or fault.
    pub value: Result<TracedValue, Fault>,
    /// What was evaluated for it.
    pub operands: Vec<(Expr, Result<TracedValue, Fault>)>,
}

/// Notes the value of a node.
pub fn node(expr: &Expr, found: &Result<Cow<'_, Value>, Fault>) {
    let found = found.as_ref().map(|v| TracedValue::of(v.clone())).map_err(Clone::clone);
    NODES.with_borrow_mut(|nodes| {
        if nodes.len() < MAX_NODES {
            nodes.push((address(expr), found));
        }
    });
}

/// A node that was evaluated, with what was evaluated for it.
struct Evaluated<'e> {
    expr: &'e Expr,
    value: Result<TracedValue, Fault>,
    parts: Vec<Evaluated<'e>>,
}

/// The steps that decided an expression, of the values noted since the last call.
pub fn steps(expr: &Expr) -> Vec<Step> {
    let noted = NODES.take();
    let mut places = HashMap::new();
    number(expr, &mut places);
    let mut roots: Vec<Evaluated<'_>> = Vec::new();
    for (at, value) in noted {
        let Some((first, last, expr)) = places.get(&at).copied() else { continue };
        let within = |e: &Evaluated<'_>| {
            places.get(&address(e.expr)).is_some_and(|(at, ..)| (first + 1..=last).contains(at))
        };
        let from = roots.iter().rposition(|e| !within(e)).map_or(0, |at| at + 1);
        let parts = roots.split_off(from);
        roots.push(Evaluated { expr, value, parts });
    }
    let mut out = Vec::new();
    if let Some(whole) = roots.last() {
        decisive(whole, &mut out);
    }
    out
}

/// Numbers the nodes in the order of the walk: the number of each, and that of the last node below it.
fn number<'e>(expr: &'e Expr, places: &mut HashMap<usize, (usize, usize, &'e Expr)>) {
    let at = places.len();
    places.insert(address(expr), (at, at, expr));
    walk::children(expr, &mut |child, _| number(child, places));
    let last = places.len() - 1;
    places.insert(address(expr), (at, last, expr));
}

fn boolean(e: &Evaluated<'_>) -> Option<bool> {
    match e.value.as_ref().ok()?.value {
        Value::Bool(b) => Some(b),
        _ => None,
    }
}

fn decisive(e: &Evaluated<'_>, out: &mut Vec<Step>) {
    if out.len() >= MAX_STEPS {
        return;
    }
    if let Some(failed) = e.parts.iter().rfind(|p| p.value.is_err())
        && e.value.is_err()
    {
        return decisive(failed, out);
    }
    let deciding: Vec<&Evaluated<'_>> = match e.expr {
        Expr::Decide { all, .. } => {
            let decides = |p: &&Evaluated<'_>| boolean(p) == Some(!all);
            match e.parts.iter().find(decides) {
                Some(side) => vec![side],
                None => e.parts.iter().collect(),
            }
        }
        Expr::Cond(_) | Expr::Once { .. } | Expr::Cells { .. } => e.parts.iter().collect(),
        Expr::Invoke(call) if call.function.name == "!_" => e.parts.iter().collect(),
        Expr::Comprehension(l) if matches!(l.kind, ComprehensionKind::All | ComprehensionKind::Exists) => {
            let of_body = |p: &&Evaluated<'_>| address(p.expr) == address(&l.body);
            let mut rounds: Vec<_> = e.parts.iter().filter(of_body).collect();
            // One item decides, or all of them do.
            if boolean(e) == Some(l.kind == ComprehensionKind::Exists) {
                rounds = rounds.split_off(rounds.len().saturating_sub(1));
            }
            rounds
        }
        _ => Vec::new(),
    };
    if deciding.is_empty() {
        return out.push(step(e));
    }
    deciding.into_iter().for_each(|part| decisive(part, out));
}

fn step(e: &Evaluated<'_>) -> Step {
    let operands = e.parts.iter().map(|p| (p.expr.clone(), p.value.clone())).collect();
    Step { expr: e.expr.clone(), value: e.value.clone(), operands }
}
