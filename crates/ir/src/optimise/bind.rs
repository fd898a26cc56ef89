//! Needless binders: a `Let` goes where its value can stand in the place of its uses.
//!
//! That is so when the value costs nothing (a constant, the root, another local), when nothing uses
//! it and it cannot fail, or when there is one use that is not repeated and either is evaluated
//! before everything else or the value cannot fail. In every other case the value would be computed
//! more often, or its fault would come at another time.

use super::faults::may;
use crate::Expr;
use crate::walk::{Runs, bottom_up, children, map_children, shift};

/// Runs the pass.
pub fn run(expr: Expr) -> Expr {
    bottom_up(expr, &mut |e| match e {
        Expr::Let { value, body } if goes(&value, &body) => put(*body, 0, &value),
        other => other,
    })
}

fn goes(value: &Expr, body: &Expr) -> bool {
    if matches!(value, Expr::Const(_) | Expr::Root | Expr::Local(_)) {
        return true;
    }
    let mut uses = Uses::default();
    count(body, 0, false, &mut uses);
    let safe = may(value).nothing();
    match uses {
        Uses { all: 0, .. } => safe,
        Uses { all: 1, repeated: 0 } => safe || is_first(body, 0),
        _ => false,
    }
}

#[derive(Default)]
struct Uses {
    all: usize,
    /// Those inside of something that runs for each item.
    repeated: usize,
}

fn count(expr: &Expr, bound: u32, repeated: bool, uses: &mut Uses) {
    if let Expr::Local(n) = expr {
        if *n == bound {
            uses.all += 1;
            uses.repeated += usize::from(repeated);
        }
        return;
    }
    children(expr, &mut |e, child| {
        count(e, bound + child.binders, repeated || child.runs == Runs::PerItem, uses);
    });
}

/// Whether the local is what evaluating `expr` reads first, whatever happens, with nothing around
/// it that absorbs faults.
fn is_first(expr: &Expr, bound: u32) -> bool {
    match expr {
        Expr::Local(n) => *n == bound,
        Expr::Rescue { .. } | Expr::Decide { .. } | Expr::Lambda { .. } => false,
        expr => {
            let mut first = None;
            children(expr, &mut |e, child| {
                if first.is_none() && child.runs == Runs::Once && !matches!(e, Expr::Lambda { .. }) {
                    first = Some((e, bound + child.binders));
                }
            });
            first.is_some_and(|(e, bound)| is_first(e, bound))
        }
    }
}

/// Puts `value` in the place of the local that `bound` binders hide, and lowers the ones behind it.
fn put(expr: Expr, bound: u32, value: &Expr) -> Expr {
    match expr {
        Expr::Local(n) if n == bound => shift(value.clone(), bound, 0),
        Expr::Local(n) if n > bound => Expr::Local(n - 1),
        expr => map_children(expr, &mut |e, child| put(e, bound + child.binders, value)),
    }
}
