//! The optimiser: rules that mean the same and cost less.
//!
//! In: a lowered rule. Out: a rule that gives the same results, faults and texts included. Work
//! that does not depend on the request is done here, once. Each pass is small and has a file of its
//! own; [`PASSES`] lists those over expressions in the order in which they run, [`rule`] carries
//! them through templates, conditions and bodies. [`hoist`] is the last, and runs on CEL as well.
//!
//! The law, tested for every pass on generated expressions: evaluating an expression after a pass
//! gives what evaluating it before gives, be it a value or a fault. A fault stays where it is: what
//! would fail is never computed here.

mod bind;
mod condition;
mod dead;
pub mod faults;
mod fold;
mod fuse;
pub mod hoist;
mod rescue;
mod rule;
mod template;

pub use rule::rule;

use super::{Expr, walk};
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

/// A pass can open work for one that ran before it; more rounds find next to nothing.
const ROUNDS: usize = 2;

/// Runs all passes. An expression that sorts stays as it is: other parts of it may see the new
/// order of a list, constants included, which the passes would read too early.
pub fn expression(expr: Expr) -> Expr {
    if sorts(&expr) {
        return expr;
    }
    let once = |e: Expr| PASSES.iter().fold(e, |e, pass| (pass.run)(e));
    hoist::run((0..ROUNDS).fold(expr, |e, _| once(e)), hoist::Lists::Apart)
}

/// Whether an expression sorts lists by a key.
pub fn sorts(expr: &Expr) -> bool {
    walk::holds(expr, &|e| matches!(e, Expr::Higher { kind: Higher::SortBy, .. }))
}
