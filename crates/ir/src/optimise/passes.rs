//! The optimiser's passes on expressions, and the order in which they run.

use super::{bind, dead, fold, fuse, hoist, rescue};
use crate::{Expr, walk};
use ephor_functions::Higher;

/// A pass over expressions.
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The pass.
    pub run: fn(Expr) -> Expr,
}

/// The passes in the order in which they run.
pub const PASSES: &[Pass] = &[
    Pass { name: "bind", about: "puts values bound for one use into their place", run: bind::run },
    Pass { name: "fold", about: "computes nodes whose operands are constant", run: fold::run },
    Pass { name: "dead", about: "removes branches that are never taken", run: dead::run },
    Pass { name: "fuse", about: "makes one node of keys read one after the other", run: fuse::run },
    Pass { name: "rescue", about: "removes absorption of faults that cannot happen", run: rescue::run },
];

/// A pass can open work for one that ran before it; more rounds find next to nothing. A round too
/// few leaves work for each request, never another result.
const MAX_ROUNDS: usize = 2;

/// Runs all passes. An expression that sorts stays as it is: other parts of it may see the new
/// order of a list, constants included, which the passes would read too early.
pub fn expression(expr: Expr) -> Expr {
    if sorts(&expr) {
        return expr;
    }
    let once = |e: Expr| PASSES.iter().fold(e, |e, pass| (pass.run)(e));
    hoist::run((0..MAX_ROUNDS).fold(expr, |e, _| once(e)), hoist::Lists::Apart)
}

/// Whether an expression sorts lists by a key.
pub fn sorts(expr: &Expr) -> bool {
    walk::holds(expr, &|e| matches!(e, Expr::Higher { kind: Higher::SortBy, .. }))
}
