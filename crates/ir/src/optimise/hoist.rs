//! Loop invariants and sub-expressions that occur more than once: each is evaluated once for each
//! evaluation of the expression.
//!
//! Such a part becomes [`Expr::Once`]. It gives the same each time: it reads no binder that is
//! around it, and calls only functions that depend on nothing but their arguments. It stays where
//! it stands, so what is read first, what fails first and what is never evaluated are as before;
//! the evaluator charges every reading of it what evaluating it costs (`docs/internals/ir.md`,
//! "Evaluated once"). Reading keys is as fast as reading a cell, so only parts with calls, loops or
//! literals count.
//!
//! This is the last pass: what is around the others may read the form of a part, and would not
//! know it again.

#![allow(
    clippy::mutable_key_type,
    reason = "what objects keep inside, to be read faster, counts for no comparison"
)]

use std::collections::HashMap;

use crate::Expr;
use crate::expr::{Over, Walk};
use crate::walk::{Child, Runs, children, map_children};
use ephor_functions::Function;
use ephor_functions::registry::{Cost, Overloads};

/// How much work a part must be to get a cell.
#[derive(Clone, Copy)]
pub struct Least {
    /// That is in a loop.
    pub in_loop: u32,
    /// That occurs more than once.
    pub twice: u32,
}

/// What a cell saves must be more than what it takes to keep a result and to read it.
const LEAST: Least = Least { in_loop: 6, twice: 12 };

/// More cells than this are not worth their memory. Each evaluation reserves all of them; parts
/// beyond it are evaluated each time.
pub const MAX_CELLS: u32 = 64;

/// Whether a list that is built once instead of twice is distinguishable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// It can: `sort_by` sorts lists where they stand, perhaps in a later expression. Only parts
    /// whose results are scalars, or are consumed, become one.
    Apart,
    /// It cannot.
    Alike,
}

/// Runs the pass.
pub fn run(expr: Expr, lists: Lists) -> Expr {
    worth(expr, lists, LEAST)
}

/// Runs the pass for parts with at least this much work.
pub fn worth(expr: Expr, lists: Lists, least: Least) -> Expr {
    let mut parts = Vec::new();
    let first = Within { escapes: lists == Lists::Apart, ..Within::default() };
    survey(&expr, first, least, &mut parts);
    mark_alike(&mut parts);
    if !parts.iter().any(|p| p.is_candidate && (p.repeats || p.has_alike)) {
        return expr;
    }
    let cells = cells(&expr, &parts);
    if cells.count == 0 {
        return expr;
    }
    let body = Box::new(placed(expr, &mut 0, &cells.of));
    Expr::Cells { count: cells.count, body }
}

/// What is around a part.
#[derive(Clone, Copy, Default)]
struct Within {
    /// It is evaluated for each item of something.
    repeats: bool,
    /// Its value may be part of what the expression gives.
    escapes: bool,
    /// What is around it reads its form.
    by_form: Form,
}

/// What the node around a part reads.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Nothing,
    /// The form of a position, whose faults print it, as that of the branches of a choice.
    Position,
    /// Whether it makes a list that need not be put together.
    List,
}

/// What the pass knows of a part; parts are listed in the order of the walk.
struct HoistPart {
    /// How many of the binders around it, from the innermost on, it may read.
    free: u32,
    /// Equal data give equal results.
    is_pure: bool,
    /// It calls, loops or builds something.
    works: bool,
    weight: u32,
    repeats: bool,
    is_candidate: bool,
    /// How many parts it has with those below.
    size: usize,
    /// Whether another candidate may be equal, as far as weights and sizes show.
    has_alike: bool,
}

fn survey(expr: &Expr, within: Within, least: Least, parts: &mut Vec<HoistPart>) {
    let at = parts.len();
    let (works, weight) = work(expr);
    let Within { repeats, .. } = within;
    parts.push(HoistPart {
        free: 0,
        is_pure: true,
        works,
        weight,
        repeats,
        is_candidate: false,
        size: 0,
        has_alike: false,
    });
    let mut free = if let Expr::Local(n) = expr { n.saturating_add(1) } else { 0 };
    let (mut is_pure, mut works, mut weight) =
        (expr.called().is_none_or(Function::is_repeatable), works, weight);
    let mut nth = 0;
    children(expr, &mut |e, child| {
        let below = parts.len();
        survey(e, around(expr, nth, child, within), least, parts);
        nth += 1;
        if let Some(part) = parts.get(below) {
            free = free.max(part.free.saturating_sub(child.binders));
            is_pure &= part.is_pure;
            works |= part.works;
            weight = weight.saturating_add(part.weight);
        }
    });
    let size = parts.len() - at;
    if let Some(part) = parts.get_mut(at) {
        let keeps = !within.escapes || is_scalar(expr);
        let heavy = works && weight >= if repeats { least.in_loop } else { least.twice };
        let placed = within.by_form == Form::Nothing || (within.by_form == Form::List && !makes_list(expr));
        let is_value = !matches!(expr, Expr::Lambda { .. } | Expr::Once { .. } | Expr::Cells { .. });
        let is_candidate = free == 0 && is_pure && heavy && keeps && placed && is_value;
        *part = HoistPart { free, is_pure, works, weight, repeats, is_candidate, size, has_alike: false };
    }
}

/// What is around the n-th child of a node.
fn around(expr: &Expr, nth: usize, child: Child, within: Within) -> Within {
    let repeats = within.repeats || child.runs == Runs::PerItem;
    let by_form = match expr {
        Expr::Walk(_) | Expr::Test(_) if child.runs == Runs::AtMostOnce => Form::Position,
        Expr::Cond(_) if nth > 0 && within.by_form == Form::Position => Form::Position,
        Expr::Project { .. } | Expr::Flatten(_) if nth == 0 => Form::List,
        _ => Form::Nothing,
    };
    let escapes = match expr {
        Expr::Not(_) | Expr::Compare { .. } => false,
        Expr::Call { function, .. } => within.escapes && !gives_scalar(function),
        Expr::Project { keep: Some(_), .. } if nth == 1 => false,
        _ => within.escapes,
    };
    Within { repeats, escapes, by_form }
}

/// Whether a node makes a list that the node around it may walk in one go.
fn makes_list(expr: &Expr) -> bool {
    matches!(expr, Expr::Project { over: Over::Items, .. } | Expr::Flatten(_) | Expr::List(_))
}

/// Whether a node gives nothing that holds other values.
fn is_scalar(expr: &Expr) -> bool {
    match expr {
        Expr::Not(_) | Expr::Compare { .. } => true,
        Expr::Call { function, .. } => gives_scalar(function),
        _ => false,
    }
}

fn gives_scalar(function: &Function) -> bool {
    match function.overloads {
        Overloads::Checked { returns, .. } => {
            matches!(returns, "string" | "number" | "boolean" | "bool")
        }
        Overloads::Declared | Overloads::InPlaceOf(_) => false,
    }
}

/// Whether a node calls, loops or builds something, and about how much work it is, its children
/// aside.
fn work(expr: &Expr) -> (bool, u32) {
    match expr {
        Expr::Const(_) | Expr::Local(_) | Expr::Root | Expr::Folded(_) => (false, 0),
        Expr::Path { keys, .. } => (false, keys.len() as u32),
        Expr::Walk(walk) => (false, steps(walk)),
        Expr::Test(test) => (false, 1 + steps(&test.walk)),
        Expr::Call { function, .. } => (true, call(function)),
        Expr::Invoke(invoke) => (true, call(invoke.function)),
        Expr::Project { .. } | Expr::Comprehension(_) | Expr::Higher { .. } => (true, 16),
        Expr::Flatten(_) | Expr::Slice { .. } | Expr::List(_) | Expr::Object(_) | Expr::Make(_) => (true, 8),
        _ => (false, 1),
    }
}

fn steps(walk: &Walk) -> u32 {
    walk.steps.len() as u32
}

fn call(function: &Function) -> u32 {
    match function.cost {
        Cost::Constant => 4,
        Cost::Linear => 6,
        Cost::Heavy => 16,
        Cost::Counted { .. } => 4,
    }
}

/// Marks candidates that may be equal to others: only these are hashed and compared.
fn mark_alike(parts: &mut [HoistPart]) {
    let mut times: HashMap<(u32, usize), usize> = HashMap::new();
    for part in parts.iter().filter(|p| p.is_candidate) {
        *times.entry((part.weight, part.size)).or_default() += 1;
    }
    for part in parts.iter_mut().filter(|p| p.is_candidate) {
        part.has_alike = times.get(&(part.weight, part.size)).is_some_and(|n| *n > 1);
    }
}

/// Which parts get a cell, by their number.
struct Cells {
    count: u32,
    of: Vec<Option<u32>>,
}

/// A part that may get a cell, and those equal to it.
#[derive(Default)]
struct Group {
    /// How often it is evaluated as far as the form shows, parts of equal parts aside.
    times: usize,
    cell: Option<u32>,
}

fn cells(expr: &Expr, parts: &[HoistPart]) -> Cells {
    let mut groups: HashMap<&Expr, Group> = HashMap::new();
    count(expr, &mut 0, parts, true, &mut groups);
    let mut cells = Cells { count: 0, of: vec![None; parts.len()] };
    choose(expr, &mut 0, parts, false, &mut groups, &mut cells);
    cells
}

/// Counts how often each candidate occurs; what is in a part that occurred before is evaluated with
/// the first one.
fn count<'e>(
    expr: &'e Expr,
    at: &mut usize,
    parts: &[HoistPart],
    is_new: bool,
    groups: &mut HashMap<&'e Expr, Group>,
) {
    let Some(part) = parts.get(*at) else { return };
    *at += 1;
    let mut is_new = is_new;
    if part.is_candidate && part.has_alike {
        let group = groups.entry(expr).or_default();
        group.times += usize::from(is_new);
        is_new &= group.times == 1;
    }
    children(expr, &mut |e, _| count(e, at, parts, is_new, groups));
}

/// Gives cells to candidates that are in a loop, which is not in a candidate with a cell, or occur
/// more than once.
fn choose<'e>(
    expr: &'e Expr,
    at: &mut usize,
    parts: &[HoistPart],
    repeats: bool,
    groups: &mut HashMap<&'e Expr, Group>,
    cells: &mut Cells,
) {
    let here = *at;
    *at += 1;
    let mut repeats = repeats;
    if let Some(part) = parts.get(here).filter(|part| part.is_candidate) {
        let mut alone = Group { times: 1, cell: None };
        let known = if part.has_alike { groups.get_mut(expr) } else { None };
        let group = known.unwrap_or(&mut alone);
        if repeats || group.times > 1 {
            if group.cell.is_none() && cells.count < MAX_CELLS {
                group.cell = Some(cells.count);
                cells.count += 1;
            }
            if let (Some(slot), Some(cell)) = (cells.of.get_mut(here), group.cell) {
                *slot = Some(cell);
                repeats = false;
            }
        }
    }
    children(expr, &mut |e, child| {
        choose(e, at, parts, repeats || child.runs == Runs::PerItem, groups, cells);
    });
}

/// The expression with its cells in place.
fn placed(expr: Expr, at: &mut usize, cells: &[Option<u32>]) -> Expr {
    let cell = cells.get(*at).copied().flatten();
    *at += 1;
    let expr = map_children(expr, &mut |e, _| placed(e, at, cells));
    match cell {
        Some(cell) => Expr::Once { cell, expr: Box::new(expr) },
        None => expr,
    }
}
