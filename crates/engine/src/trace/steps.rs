//! The steps of an expression that decide its value.
//!
//! In: the values of its nodes, in the order in which they were found, and the expression. Out: the
//! comparisons, calls and reads on which the value rests, with the values of their operands. A side
//! of `&&` that is false decides, of `all` the item for which it is false, of a conditional the
//! branch that is taken.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use ephor_ir::expr::{ComprehensionKind, Step as WalkStep, Walk};
use ephor_ir::template::{Query, Template};
use ephor_ir::{Expr, walk};
use ephor_value::{Fault, Value};

use super::traced_value::{TracedValue, address, storage};

/// How many values of nodes are stored. Nodes after it have no value in the explanation.
const MAX_NODES: usize = 100_000;

/// How many reads of a decision are stored. Later ones mark no place.
const MAX_READS: usize = 1_000;

/// How many steps are shown of an expression. More do not fit a screen.
const MAX_STEPS: usize = 12;

/// How many steps are stored of a condition, whose projections have one for each item. Items after
/// it are not explained.
const MAX_ROUNDS: usize = 1_000;

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
    /// The addresses of the values that it read, operands of operands included; of a walk that ends
    /// early that of the last part that is there.
    pub reads: Vec<usize>,
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

/// How many values of nodes are noted so far.
pub fn nodes() -> usize {
    NODES.with_borrow(Vec::len)
}

/// The addresses of the values in documents that were noted after the first `nodes` ones, in their
/// order.
pub fn reads_since(nodes: usize) -> Vec<usize> {
    let address = |(_, value): &(usize, Result<TracedValue, Fault>)| {
        let seen = value.as_ref().ok()?;
        // What is no part of a document may be a copy of one.
        storage(&seen.value).or(seen.address)
    };
    let mut found: Vec<usize> = Vec::new();
    NODES.with_borrow(|noted| {
        for read in noted.get(nodes..).unwrap_or_default().iter().filter_map(address) {
            if !found.contains(&read) && found.len() < MAX_READS {
                found.push(read);
            }
        }
    });
    found
}

/// Removes the values that were noted.
pub fn clear() {
    NODES.take();
}

/// A node that was evaluated, with what was evaluated for it.
struct EvaluatedNode<'e> {
    expr: &'e Expr,
    value: Result<TracedValue, Fault>,
    parts: Vec<EvaluatedNode<'e>>,
}

/// The steps that decided an expression, of the values noted since the last call.
pub fn steps(expr: &Expr) -> Vec<Step> {
    let found = steps_since(expr, 0);
    clear();
    found
}

/// The steps that decided an expression, of the values noted after the first `nodes` ones.
pub fn steps_since(expr: &Expr, nodes: usize) -> Vec<Step> {
    at_most(MAX_STEPS, expr, nodes)
}

/// The steps that decided the expressions of a condition.
pub fn steps_of_template(template: &Template, nodes: usize) -> Vec<Step> {
    let of = |query: &Query| match &query.expr {
        Ok(expr) => at_most(MAX_ROUNDS, expr, nodes),
        Err(_) => Vec::new(),
    };
    match template {
        Template::Whole(hole) => of(&hole.query),
        Template::List(items) => items.iter().flat_map(|item| steps_of_template(item, nodes)).collect(),
        _ => Vec::new(),
    }
}

fn at_most(most: usize, expr: &Expr, nodes: usize) -> Vec<Step> {
    let noted = NODES.with_borrow(|noted| noted.get(nodes..).unwrap_or_default().to_vec());
    let mut places = HashMap::new();
    number(expr, &mut places);
    let mut roots: Vec<EvaluatedNode<'_>> = Vec::new();
    for (at, value) in noted {
        let Some((first, last, expr)) = places.get(&at).copied() else { continue };
        let within = |e: &EvaluatedNode<'_>| {
            places.get(&address(e.expr)).is_some_and(|(at, ..)| (first + 1..=last).contains(at))
        };
        let from = roots.iter().rposition(|e| !within(e)).map_or(0, |at| at + 1);
        let parts = roots.split_off(from);
        roots.push(EvaluatedNode { expr, value, parts });
    }
    let mut out = Vec::new();
    if let Some(whole) = roots.last() {
        decisive(whole, most, &mut out);
    }
    out
}

/// Numbers the nodes in the order of the walk: the number of each, and that of the last node below
/// it.
fn number<'e>(expr: &'e Expr, places: &mut HashMap<usize, (usize, usize, &'e Expr)>) {
    let at = places.len();
    places.insert(address(expr), (at, at, expr));
    walk::children(expr, &mut |child, _| number(child, places));
    let last = places.len() - 1;
    places.insert(address(expr), (at, last, expr));
}

fn boolean(e: &EvaluatedNode<'_>) -> Option<bool> {
    match e.value.as_ref().ok()?.value {
        Value::Bool(b) => Some(b),
        _ => None,
    }
}

fn decisive(e: &EvaluatedNode<'_>, most: usize, out: &mut Vec<Step>) {
    if out.len() >= most {
        return;
    }
    if let Some(failed) = e.parts.iter().rfind(|p| p.value.is_err())
        && e.value.is_err()
    {
        return decisive(failed, most, out);
    }
    let deciding: Vec<&EvaluatedNode<'_>> = match e.expr {
        Expr::Decide { all, .. } => {
            let decides = |p: &&EvaluatedNode<'_>| boolean(p) == Some(!all);
            match e.parts.iter().find(decides) {
                Some(side) => vec![side],
                None => e.parts.iter().collect(),
            }
        }
        Expr::Cond(_) | Expr::Once { .. } | Expr::Cells { .. } => e.parts.iter().collect(),
        // What was evaluated last is the value.
        Expr::Let { .. } | Expr::Or(_) | Expr::And(_) | Expr::Rescue { .. } | Expr::Not(_) => {
            e.parts.last().into_iter().collect()
        }
        Expr::Project { body: Some(body), .. } => {
            e.parts.iter().filter(|part| address(part.expr) == address(&**body)).collect()
        }
        Expr::Invoke(call) if call.function.name == "!_" => e.parts.iter().collect(),
        Expr::Comprehension(l) if matches!(l.kind, ComprehensionKind::All | ComprehensionKind::Exists) => {
            let of_body = |p: &&EvaluatedNode<'_>| address(p.expr) == address(&l.body);
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
    deciding.into_iter().for_each(|part| decisive(part, most, out));
}

fn step(e: &EvaluatedNode<'_>) -> Step {
    let operands = e.parts.iter().map(|p| (p.expr.clone(), p.value.clone())).collect();
    let mut reads = Vec::new();
    read(e, &mut reads);
    Step { expr: e.expr.clone(), value: e.value.clone(), operands, reads }
}

/// The addresses of what a node and those below it read, in their order.
fn read(e: &EvaluatedNode<'_>, out: &mut Vec<usize>) {
    e.parts.iter().for_each(|part| read(part, out));
    out.extend(located(e).filter(|address| !out.contains(address)));
}

/// The address of the value of a node in a document; of a walk that of the last part that is there.
fn located(e: &EvaluatedNode<'_>) -> Option<usize> {
    let own = || {
        let seen = e.value.as_ref().ok()?;
        storage(&seen.value).or(seen.address)
    };
    match e.expr {
        Expr::Walk(walk) => walked(walk, None, &e.parts).or_else(own),
        Expr::Test(test) => walked(&test.walk, Some(&test.key), &e.parts),
        Expr::OrElse { sides, .. } => match &sides[0] {
            Expr::Walk(walk) => walked(walk, None, &e.parts),
            _ => e.parts.first().and_then(located),
        },
        _ => own(),
    }
}

fn walked(walk: &Walk, key: Option<&str>, parts: &[EvaluatedNode<'_>]) -> Option<usize> {
    let base = parts.iter().rfind(|part| address(part.expr) == address(&walk.base))?;
    let start = &base.value.as_ref().ok()?.value;
    let known = walk.steps.iter().map_while(|step| match step {
        WalkStep::Key { key, .. } => Some(key.clone()),
        _ => None,
    });
    let mut at = start;
    for key in known.chain(key.map(Value::from)) {
        let below = match (&key, at) {
            (Value::Str(key), Value::Map(fields)) => fields.get(key),
            (Value::Int(index), Value::List(items)) => {
                usize::try_from(*index).ok().and_then(|i| items.get(i))
            }
            _ => None,
        };
        let Some(below) = below else { break };
        at = below;
    }
    // The storage of a part is shared with the document, the value of the node may be a copy.
    if std::ptr::eq(at, start) { storage(start).or_else(|| located(base)) } else { Some(address(at)) }
}
